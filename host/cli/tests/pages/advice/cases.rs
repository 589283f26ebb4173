//! Faulty inputs, one after the other, each a change of documents without a fault.

/// The outcome of following the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// No error is left.
    Gone,
    /// An error with this code comes next: one mistake after the other.
    Next(&'static str),
}

/// The command that reports the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Validate,
    Plan,
    /// A plan after a deployment without the changes.
    Deployed,
}

/// A change: a file, a part of it, and what takes its place. Without a part, the whole file; with
/// neither, the file is removed.
pub(super) type Change = (&'static str, &'static str, &'static str);

pub(super) struct Case {
    pub(super) code: &'static str,
    /// The changes that make the fault.
    pub(super) changes: &'static [Change],
    /// Earlier changes, with which the documents are deployed.
    pub(super) before: &'static [Change],
    pub(super) run: Run,
    pub(super) arguments: &'static [&'static str],
    pub(super) then: Then,
}

impl Case {
    const fn with(self, arguments: &'static [&'static str]) -> Self {
        Self { arguments, ..self }
    }

    const fn planned(self) -> Self {
        Self { run: Run::Plan, ..self }
    }

    const fn deployed(self, before: &'static [Change]) -> Self {
        Self { run: Run::Deployed, before, ..self }
    }
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
    Case { code, changes, before: &[], run: Run::Validate, arguments: &[], then: Then::Gone }
}

const fn next(code: &'static str, changes: &'static [Change], after: &'static str) -> Case {
    Case { then: Then::Next(after), ..gone(code, changes) }
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

const ANY_NETWORK: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: networks}
spec: {type: '*/network', driver: purlin/echo, inputs: {values: {id: x}}, criteria: [{}]}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: subnets}
spec: {type: '*/subnet', driver: purlin/echo, inputs: {values: {id: x}}, criteria: [{}]}
---
apiVersion: vpc.aws.crossplane.io/v1
kind: Network
metadata: {name: wide, labels: {tier: core}}
---
";

const BUNDLE: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/db, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: '${bundle.parameters.size}'}}
  parameters: [{name: size, type: string}]
  outputs: [{name: host, type: string}]
";

const NUMBER: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/db, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: h, size: '${bundle.parameters.size}'}}
  parameters: [{name: size, type: integer}]
";

/// Two bundles that require a third, each under the same name.
const NESTED: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/one, version: 1.0.0}
spec: {driver: purlin/echo, requires: [{name: store, bundle: {reference: 'acme/db:1.0.0'}, parameters: {size: a}}]}
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/two, version: 1.0.0}
spec: {driver: purlin/echo, requires: [{name: store, bundle: {reference: 'acme/db:1.0.0'}, parameters: {size: b}}]}
---
";

const TYPE: &str = "apiVersion: purlin.dev/v1
kind: ResourceType
metadata: {name: dns}
spec:
  type: dns
  params: {type: object, properties: {size: {type: integer}}, additionalProperties: false}
";

const ELSEWHERE: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: elsewhere}
spec: {type: dns, driver: purlin/echo, inputs: {values: {host: x}}, criteria: [{}]}
";

const MISSPELT: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: misspelt}
spec: {type: dnss, driver: purlin/echo, inputs: {values: {host: x}}, criteria: [{}]}
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
    // Values, context and environments.
    gone(
        "value-conflict",
        &[
            ("dns.yaml", "example.com", "${values.a}"),
            ("shop.yaml", "  shared:", "  values: {a: x}\n  shared:"),
            ("more.yaml", "", "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  values: {a: y}\n"),
        ],
    ),
    gone("unread-value", &[("shop.yaml", "  shared:", "  values: {domain: x}\n  shared:")]),
    gone(
        "unread-value",
        &[
            ("dns.yaml", "example.com", "${values.domain}"),
            ("shop.yaml", "  shared:", "  values: {domain: x}\n  shared:"),
        ],
    )
    .with(&["--set", "domian=y"]),
    gone("unread-value", &[]).with(&["--set", "domain=y"]),
    gone(
        "value-type",
        &[
            ("dns.yaml", "example.com", "${values.size}"),
            ("shop.yaml", "  shared:", "  values: {size: 1}\n  shared:"),
        ],
    )
    .with(&["--set", "size=big"]),
    gone("context-conflict", &[]).with(&["--app", "other"]),
    gone("app-changed", &[("shop.yaml", "app: shop", "app: shp")]).deployed(&[]),
    gone("org-changed", &[("shop.yaml", "app: shop", "app: shop\n  org: acme")]).deployed(&[]),
    gone("env-type-changed", &[("shop.yaml", "env: dev", "env: {id: dev, type: staging}")]).deployed(&[]),
    gone("namespace-changed", &[("shop.yaml", "env: dev", "env: dev\n  namespace: other")]).deployed(&[]),
    gone("unknown-environment", &[("shop.yaml", "env: dev", "env: dve")]).deployed(&[]),
    // Guards.
    gone("similar-name", &[("shop.yaml", "    zone:", "    zoen:")]).deployed(&[]),
    gone("similar-name", &[("web.yaml", "name: web", "name: wbe")]).deployed(&[]),
    gone("similar-criterion", &[("dns.yaml", "app_id: shop", "app_id: shpo")])
        .deployed(&[("dns.yaml", "criteria: [{}]", "criteria: [{app_id: shop}]"), ("more.yaml", "", ELSEWHERE)]),
    gone("placeholder-without-dollar", &[("dns.yaml", "\"${context.env.id}\"", "\"{context.env.id}\"")])
        .deployed(&[("dns.yaml", "example.com", "\"${context.env.id}\"")]),
    gone("files-not-named", &[]).with(&["-f", "shop.yaml", "-f", "dns.yaml"]).deployed(&[]),
    gone("file-without-documents", &[("web.yaml", SCORE, "# nothing\n")]).deployed(&[]),
    gone("folder-without-documents", &[("apps/a.yaml", "", ""), ("apps/b.yaml", "", "")]).deployed(&[
        ("apps/a.yaml", "", "modules: {a: {spec: {}}}\n"),
        ("apps/b.yaml", "", "modules: {b: {spec: {}}}\n"),
    ]),
    gone("document-not-read", &[("n.yaml", "---\napiVersion: vpc.aws.crossplane.io/v1\nkind: Network\n", "---\napiVersion: vpc.aws.crossplane.io/v1\n")]).deployed(&[
        ("m.yaml", "", ANY_NETWORK),
        ("n.yaml", "", "apiVersion: vpc.aws.crossplane.io/v1\nkind: Network\nmetadata: {name: far}\n---\napiVersion: vpc.aws.crossplane.io/v1\nkind: Network\nmetadata: {name: near}\n"),
    ]),
    gone("similar-type", &[("shop.yaml", "zone:\n      type: dns", "zone:\n      type: dnss")]).deployed(&[("more.yaml", "", MISSPELT)]),
    // Names and placeholders.
    next("missing-id", &[("shop.yaml", "  shared:", "  lifecycle: {dns: {protect: true}}\n  shared:")], "unknown-resource"),
    gone(
        "bad-path",
        &[(
            "shop.yaml",
            "  shared:",
            "  lifecycle:\n    dns#shared.zone: {ignore_changes: [valeus.host]}\n  shared:",
        )],
    ),
    gone(
        "alias-of-itself",
        &[("shop.yaml", "  shared:", "  lifecycle:\n    dns#shared.zone: {aliases: ['dns#shared.zone']}\n  shared:")],
    ),
    gone(
        "alias-in-use",
        &[(
            "shop.yaml",
            "  shared:",
            "  lifecycle:\n    dns#shared.zone: {aliases: ['dns#modules.web.externals.site']}\n  shared:",
        )],
    ),
    gone(
        "alias-twice",
        &[(
            "shop.yaml",
            "  shared:",
            "  lifecycle:\n    dns#shared.zone: {aliases: ['dns#shared.a']}\n    dns#modules.web.externals.site: {aliases: ['dns#shared.a']}\n  shared:",
        )],
    ),
    gone("empty-placeholder", &[("dns.yaml", "host: example.com", "host: ${}")]),
    gone("placeholder-in-key", &[("dns.yaml", "host: example.com", "host: x\n      '${context.env.id}': y")]),
    gone("placeholder-without-dollar", &[("dns.yaml", "example.com", "\"{{ resources.base-env#base-env.guresid }}\"")]),
    gone("no-manifest", &[("dns.yaml", "example.com", "${manifest.kind}")]),
    gone("left-behind", &[("web.yaml", "resources:\n", "---\nresources:\n")]),
    gone("criteria-map", &[("dns.yaml", "criteria: [{}]", "criteria: {env_type: development, class: default}")]),
    gone("bad-version", &[("b.yaml", "", BUNDLE), ("b.yaml", "1.0.0", "one")]),
    gone("secret-ref", &[("dns.yaml", "inputs:\n", "inputs:\n    secret_refs: {password: {ref: x}}\n")]),
    // Matching, the graph and references.
    gone("equal-criteria", &[("more.yaml", "", ELSEWHERE)]),
    gone("loop", &[("dns.yaml", "example.com", "${resources.dns#shared.zone.outputs.host}")]),
    next(
        "unknown-workload",
        &[("dns.yaml", "example.com", "${resources['workload#modules.wep'].outputs.host}")],
        "unknown-output",
    ),
    gone("params", &[("type.yaml", "", TYPE), ("shop.yaml", "      type: dns\n", "      type: dns\n      params: {sise: 1}\n")]),
    gone(
        "unknown-account",
        &[
            ("dns.yaml", "example.com", "${resources['base-env#base-env'].account}"),
            (
                "base.yaml",
                "",
                "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: base}\nspec: {type: base-env, driver: purlin/echo, criteria: [{}]}\n",
            ),
        ],
    ),
    gone(
        "type-collision",
        &[
            ("m.yaml", "", ANY_NETWORK),
            ("n.yaml", "", "apiVersion: vpc.gcp.crossplane.io/v1\nkind: Network\nmetadata: {name: far}\n"),
        ],
    ),
    gone(
        "unknown-kind",
        &[
            ("m.yaml", "", ANY_NETWORK),
            (
                "n.yaml",
                "",
                "apiVersion: purlin.dev/v1\nkind: ResourceType\nmetadata: {name: subnet}\nspec: {type: aws/subnet, manifest: {group: vpc.aws.crossplane.io, kind: Subnet}}\n---\napiVersion: vpc.aws.crossplane.io/v1\nkind: Subnt\nmetadata: {name: inner}\n",
            ),
        ],
    ),
    gone(
        "missing-target",
        &[
            ("m.yaml", "", ANY_NETWORK),
            (
                "n.yaml",
                "",
                "apiVersion: vpc.aws.crossplane.io/v1\nkind: Subnet\nmetadata: {name: inner}\nspec: {forProvider: {networkIdRef: {name: wdie}}}\n",
            ),
        ],
    ),
    // Requirements and bundles.
    gone("unmapped", &[("b.yaml", "", BUNDLE), ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}}\n  shared:")]),
    gone("answer-type", &[("b.yaml", "", NUMBER), ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}}\n  shared:")]).with(&["--param", "size=big"]).planned(),
    gone("left-out", &[("b.yaml", "", BUNDLE), ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}, parameters: {sise: a}}\n  shared:")]),
    next(
        "no-bundle",
        &[("b.yaml", "", BUNDLE), ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}}\n  shared:"), ("shop.yaml", "acme/db:", "acme/dbb:")],
        "unmapped",
    ),
    gone("no-bundle", &[("b.yaml", "", BUNDLE), ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}, parameters: {size: a}}\n  shared:"), ("shop.yaml", "db:1.0.0", "db:2.0.0")]),
    next("bad-reference", &[("b.yaml", "", BUNDLE), ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}, parameters: {size: a}}\n  shared:"), ("shop.yaml", "acme/db:1.0.0", "acme db")], "no-bundle"),
    gone("required-twice", &[("b.yaml", "", BUNDLE), ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}, parameters: {size: a}}\n  shared:"), ("shop.yaml", "  shared:", "    - {name: data, bundle: {reference: 'acme/db:1.0.0'}, parameters: {size: b}}\n  shared:")]),
    gone(
        "interface-twice",
        &[
            ("b.yaml", "", BUNDLE),
            ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}, parameters: {size: a}}\n  shared:"),
            (
                "shop.yaml",
                "reference: 'acme/db:1.0.0'",
                "reference: 'acme/db:1.0.0', interface: {reference: 'acme/db:1.0.0', document: {outputs: [{name: host}]}}",
            ),
        ],
    ),
    gone(
        "declared-twice",
        &[("b.yaml", "", BUNDLE), ("b.yaml", "outputs: [", "outputs: [{name: host, type: string}, ")],
    ),
    gone(
        "requirement-loop",
        &[
            ("b.yaml", "", BUNDLE),
            ("b.yaml", "  outputs:", "  requires: [{name: again, bundle: {reference: 'acme/db:1.0.0'}}]\n  outputs:"),
            ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}, parameters: {size: a}}\n  shared:"),
        ],
    ),
    gone("unknown-requirement", &[("b.yaml", "", BUNDLE), ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}, parameters: {size: a}}\n  shared:")]).with(&["--with", "dta=acme/db:v1.0.0"]).planned(),
    gone("unknown-answer", &[("b.yaml", "", BUNDLE), ("shop.yaml", "  shared:", "  requires:\n    - {name: data, bundle: {reference: 'acme/db:1.0.0'}}\n  shared:")]).with(&["--param", "data.sise=a"]).planned(),
    gone(
        "ambiguous-requirement",
        &[
            ("b.yaml", "", BUNDLE),
            ("n.yaml", "", NESTED),
            (
                "shop.yaml",
                "  shared:",
                "  requires:\n    - {name: first, bundle: {reference: 'acme/one:1.0.0'}}\n    - {name: second, bundle: {reference: 'acme/two:1.0.0'}}\n  shared:",
            ),
        ],
    )
    .with(&["--with", "store=acme/db:v1.0.0"])
    .planned(),
    gone(
        "params-differ",
        &[
            ("shop.yaml", "      type: dns\n", "      type: dns\n      params: {size: 1}\n"),
            (
                "more.yaml",
                "",
                "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared:\n    zone:\n      type: dns\n      params: {size: 2}\n",
            ),
        ],
    ),
    // Drivers, stores and the workspace.
    gone("driver", &[("dns.yaml", "purlin/echo", "purlin/echo@^9")]),
    next(
        "secret-store",
        &[
            (
                "purlin.yaml",
                "",
                "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {secret_stores: {vault: {file: ./secrets}}}\n",
            ),
            ("dns.yaml", "inputs:\n", "inputs:\n    secret_refs: {password: {store: valt, ref: x}}\n"),
        ],
        "secret-store",
    )
    .planned(),
    gone(
        "misplaced-document",
        &[("work.yaml", "", "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {parallelism: 4}\n")],
    ),
    gone("bad-merge", &[("dns.yaml", "host: example.com", "host: example.com\n      <<: [a]")]),
];
