//! Faulty inputs, one after the other, each a change of documents without a fault.

/// The outcome of following the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// No error is left.
    Gone,
    /// An error with this code comes next: one mistake after the other.
    Next(&'static str),
}

/// A change: a file, a part of it, and what takes its place. Without a part, the whole file.
type Change = (&'static str, &'static str, &'static str);

pub(super) struct Case {
    pub(super) code: &'static str,
    pub(super) changes: &'static [Change],
    pub(super) then: Then,
}

pub(super) const SCORE: &str = "apiVersion: score.dev/v1b1
metadata:
  name: web
containers:
  main:
    image: nginx
    variables:
      HOST: ${resources.site.host}
resources:
  site:
    type: dns
";

pub(super) const DEFINITION: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: dns}
spec:
  type: dns
  driver: purlin/echo
  inputs:
    values:
      host: example.com
  criteria: [{}]
";

pub(super) const DEPLOYMENT: &str = "apiVersion: purlin.dev/v1
kind: Deployment
metadata: {name: shop}
spec:
  app: shop
  env: dev
  shared:
    zone:
      type: dns
";

const fn gone(code: &'static str, changes: &'static [Change]) -> Case {
    Case { code, changes, then: Then::Gone }
}

const fn next(code: &'static str, changes: &'static [Change], after: &'static str) -> Case {
    Case { code, changes, then: Then::Next(after) }
}

const ENTITY: &str = "apiVersion: entity.humanitec.io/v1b1
kind: Definition
metadata: {id: dns}
spec:
  type: dns
  driver_type: humanitec/echo
  driver_inputs:
    values: {host: example.com}
  criteria: [{}]
";

pub(super) const CASES: &[Case] = &[
    gone("placeholder-without-dollar", &[("dns.yaml", "host: example.com", "host: \"{context.env.id}\"")]),
    // YAML.
    gone("yaml-syntax", &[("web.yaml", "image: nginx", "image nginx")]),
    gone("yaml-syntax", &[("web.yaml", "image: nginx", "image:nginx")]),
    gone("yaml-syntax", &[("web.yaml", "image: nginx", "image: nginx: latest")]),
    gone("yaml-syntax", &[("web.yaml", "image: nginx", "image: \"nginx")]),
    next("yaml-syntax", &[("web.yaml", "    variables", "   variables")], "misplaced-field"),
    gone(
        "yaml-syntax",
        &[(
            "web.yaml",
            "variables:\n      HOST: ${resources.site.host}",
            "variables: {HOST: ${resources.site.host}, A: b}",
        )],
    ),
    gone("yaml-syntax", &[("dns.yaml", "host: example.com", "host: {{ .driver.values.x }}")]),
    gone("yaml-syntax", &[("dns.yaml", "host: example.com", "host: {{ .driver.values.x }}.com")]),
    gone("yaml-syntax", &[("dns.yaml", "criteria: [{}]", "criteria:\n    - app_id: *")]),
    gone("yaml-syntax", &[("dns.yaml", "criteria: [{}]", "criteria: [{app_id: *}]")]),
    gone("yaml-tab", &[("web.yaml", "  name: web", "\tname: web")]),
    gone("duplicate-key", &[("web.yaml", "image: nginx", "image: nginx\n    image: caddy")]),
    gone(
        "duplicate-key",
        &[(
            "web.yaml",
            "    type: dns\n",
            "    type: dns\napiVersion: score.dev/v1b1\nmetadata: {name: api}\ncontainers: {main: {image: x}}\n",
        )],
    ),
    gone("bad-number", &[("dns.yaml", "host: example.com", "host: 123456789012345678901234")]),
    gone("unknown-tag", &[("dns.yaml", "host: example.com", "host: !Ref example.com")]),
    gone("wrong-tag", &[("dns.yaml", "host: example.com", "host: !!int example.com")]),
    // Heads and fields.
    gone("missing-field", &[("web.yaml", "apiVersion: score.dev/v1b1\n", "")]),
    gone("missing-field", &[("dns.yaml", "apiVersion: purlin.dev/v1\n", "")]),
    gone("missing-field", &[("dns.yaml", "apiVersion: purlin.dev/v1\nkind: Definition\n", "")]),
    gone("missing-field", &[("dns.yaml", "  driver: purlin/echo\n", "")]),
    gone("missing-field", &[("web.yaml", "    image: nginx\n", "")]),
    gone("unknown-version", &[("dns.yaml", "purlin.dev/v1", "purlin.dev/v2")]),
    gone("unknown-version", &[("dns.yaml", "purlin.dev/v1", "purlin.io/v1")]),
    gone("unknown-kind", &[("dns.yaml", "kind: Definition", "kind: Defintion")]),
    gone("unknown-field", &[("dns.yaml", "driver: purlin", "drivr: purlin")]),
    gone("unknown-field", &[("dns.yaml", "driver: purlin", "driver_type: purlin")]),
    gone("unknown-field", &[("dns.yaml", "inputs:", "driver_inputs:")]),
    gone("unknown-field", &[("dns.yaml", "spec:", "entity:")]),
    gone("unknown-field", &[("dns.yaml", "", ENTITY)]),
    gone("unknown-field", &[("web.yaml", "variables:", "env:")]),
    gone(
        "misplaced-field",
        &[("shop.yaml", "      type: dns\n", "      type: dns\n    params:\n      size: 1\n")],
    ),
    gone("misplaced-field", &[("web.yaml", "    type: dns\n", "    type: dns\n  params:\n    size: 1\n")]),
    gone(
        "misplaced-field",
        &[(
            "web.yaml",
            "    image: nginx\n    variables:\n      HOST: ",
            "    image: nginx\n  variables:\n    HOST: ",
        )],
    ),
    gone("wrong-type", &[("dns.yaml", "criteria: [{}]", "criteria: [{env_type: [development, staging]}]")]),
    gone("wrong-type", &[("web.yaml", "HOST: ${resources.site.host}", "HOST: 8080")]),
    gone("wrong-type", &[("shop.yaml", "app: shop", "app: 5")]),
    gone(
        "wrong-type",
        &[("dns.yaml", "criteria: [{}]", "provision: {dns#other: {is_dependent: 'no'}}\n  criteria: [{}]")],
    ),
    gone(
        "wrong-value",
        &[
            ("dns.yaml", "{}]", "{class: large}, {}]"),
            ("web.yaml", "    type: dns", "    type: dns\n    class: Large"),
        ],
    ),
    gone("secrets-twice", &[("dns.yaml", "inputs:\n", "inputs:\n    secrets: {}\n    secret_refs: {}\n")]),
    gone(
        "criteria-twice",
        &[(
            "dns.yaml",
            "",
            "apiVersion: entity.humanitec.io/v1b1\nkind: Definition\nmetadata: {id: dns}\nentity:\n  type: dns\n  driver_type: humanitec/echo\n  driver_inputs: {values: {host: h}}\n  criteria: [{}]\ncriteria: [{}]\n",
        )],
    ),
    gone(
        "lifecycle-twice",
        &[
            ("shop.yaml", "  shared:", "  lifecycle: {}\n  shared:"),
            ("shop.yaml", "metadata:", "lifecycle: {}\nmetadata:"),
        ],
    ),
    // Names.
    next("bad-name", &[("web.yaml", "    type: dns", "    type: dns.large")], "no-match"),
    next("bad-name", &[("shop.yaml", "      type: dns", "      type: dns.large")], "no-match"),
    next(
        "bad-name",
        &[("shop.yaml", "zone:\n      type: dns", "zone: {type: dns.large, params: {a: b}}")],
        "no-match",
    ),
    gone("bad-name", &[("shop.yaml", "    zone:", "    'a zone':")]),
    gone("bad-name", &[("set.yaml", "", "modules:\n  a.externals.b:\n    spec: {}\n")]),
    gone("bad-name", &[("set.yaml", "", "modules:\n  'a b':\n    spec: {}\n")]),
    // Placeholders.
    gone("unknown-root", &[("dns.yaml", "host: example.com", "host: ${contex.app.id}")]),
    gone("unknown-context", &[("dns.yaml", "host: example.com", "host: ${context.env.idd}")]),
    gone("unknown-pipe", &[("dns.yaml", "host: example.com", "host: ${context.env.id | uper}")]),
    gone("no-functions", &[("dns.yaml", "host: example.com", "host: ${upper(context.env.id)}")]),
    gone("placeholder", &[("dns.yaml", "host: example.com", "host: ${ context.env.id }")]),
    gone("placeholder", &[("web.yaml", "${resources.site.host}", "${ resources.site.host }")]),
    gone("quoting", &[("dns.yaml", "host: example.com", "host: ${context[app].id}")]),
    gone("unclosed-placeholder", &[("web.yaml", "${resources.site.host}", "${resources.site.host")]),
    gone("unknown-value", &[("dns.yaml", "host: example.com", "host: ${values.domain}")]),
    gone(
        "unknown-value",
        &[
            ("dns.yaml", "host: example.com", "host: ${values.domian}"),
            ("shop.yaml", "  shared:", "  values: {domain: x}\n  shared:"),
        ],
    ),
    gone(
        "unknown-param",
        &[
            ("dns.yaml", "host: example.com", "host: ${params.naem}"),
            ("web.yaml", "    type: dns", "    type: dns\n    params: {name: a}"),
            ("shop.yaml", "      type: dns", "      type: dns\n      params: {name: b}"),
        ],
    ),
    gone("unknown-metadata", &[("web.yaml", "${resources.site.host}", "${metadata.nam}")]),
    // Definitions and the graph.
    gone("no-match", &[("web.yaml", "    type: dns", "    type: dsn")]),
    gone("no-match", &[("web.yaml", "    type: dns", "    type: queue")]),
    gone("no-match", &[("web.yaml", "    type: dns", "    type: queue\n    class: big")]),
    gone("no-match", &[("web.yaml", "    type: dns", "    type: dns\n    class: big")]),
    gone("no-match", &[("dns.yaml", "criteria: [{}]", "criteria: []")]),
    gone("no-match", &[("dns.yaml", "criteria: [{}]", "criteria: [{res_id: shared.zone}]")]),
    next(
        "no-match",
        &[("dns.yaml", "host: example.com", "host: ${resources.base-env.outputs.host}")],
        "unknown-output",
    ),
    gone("no-match", &[("dns.yaml", "host: example.com", "host: ${resources.k8s-cluster.outputs.host}")]),
    gone(
        "second-implicit",
        &[
            ("dns.yaml", "host: example.com", "host: ${resources.base-env.outputs.host}"),
            (
                "base.yaml",
                "",
                "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: base}\nspec: {type: base-env, driver: purlin/echo, inputs: {values: {host: x}}, criteria: [{}]}\n",
            ),
        ],
    ),
    gone("unknown-output", &[("web.yaml", "site.host", "site.hots")]),
    gone("unknown-output", &[("web.yaml", "site.host", "site.outputs.host")]),
    gone(
        "unknown-output",
        &[("dns.yaml", "host: example.com", "host: ${resources['base-env#base-env'].outputs.host}")],
    ),
    gone("unknown-resource", &[("web.yaml", "site.host", "sit.host")]),
    gone("unknown-resource", &[("web.yaml", "resources:\n  site:\n    type: dns\n", "")]),
    gone(
        "unknown-input",
        &[(
            "dns.yaml",
            "",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns}\nspec:\n  type: dns\n  driver: purlin/echo\n  inputs: {values: {host: example.com, of: \"${resources['base-env#base-env'].values.hots}\"}}\n  criteria: [{}]\n---\napiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: env}\nspec: {type: base-env, driver: purlin/echo, inputs: {values: {host: x}}, criteria: [{}]}\n",
        )],
    ),
    gone(
        "selector-start",
        &[(
            "dns.yaml",
            "host: example.com",
            "host: example.com\n      of: ${resources['workload#modules.web->dns'].outputs.host}",
        )],
    ),
    gone(
        "selector-start",
        &[(
            "dns.yaml",
            "host: example.com",
            "host: example.com\n      of: ${resources['workload#modules.wep>dns'].outputs.host}",
        )],
    ),
    gone("duplicate-document", &[("other.yaml", "", SCORE)]),
    gone(
        "duplicate-document",
        &[(
            "other.yaml",
            "",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns}\nspec: {type: redis, driver: purlin/echo, criteria: [{}]}\n",
        )],
    ),
    // Drivers and the workspace.
    gone(
        "unknown-store",
        &[(
            "purlin.yaml",
            "",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  secret_stores:\n    vault: {file: ./secrets}\n  drivers:\n    purlin/echo: {grants: {secrets: [valut]}}\n",
        )],
    ),
    gone("driver", &[("dns.yaml", "purlin/echo", "purlin/ecko")]),
    gone(
        "invalid-inputs",
        &[(
            "dns.yaml",
            "",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns}\nspec:\n  type: dns\n  driver: purlin/template\n  inputs:\n    values:\n      templates:\n        outputz: 'host: x'\n  criteria: [{}]\n",
        )],
    ),
];
