//! Tests of schemas: a resource type validates params and outputs, a driver validates inputs, and
//! values declared secret are secret. Each fault has the place of the value.

use purlin_systems::Project;

const TYPES: &str = "\
apiVersion: purlin.dev/v1
kind: ResourceType
metadata: {id: dns}
spec:
  type: dns
  params:
    type: object
    additionalProperties: false
    properties:
      ttl: {type: integer, minimum: 60}
      kind: {enum: [public, private]}
      token: {type: string, writeOnly: true, minLength: 8}
      tags: {type: object, additionalProperties: {type: string, maxLength: 5}}
  outputs:
    type: object
    required: [host]
    properties:
      host: {type: string}
      port: {type: integer}
      key: {type: string, x-secret: true}
";

const DNS: &str = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: dns}
spec:
  type: dns
  driver: purlin/echo
  inputs:
    values:
      host: a.example
      port: 80
      key: from-the-definition
  criteria: [{}]
";

fn app(params: &str) -> String {
    format!(
        "apiVersion: score.dev/v1b1\nmetadata: {{name: web}}\ncontainers: {{main: {{image: nginx}}}}\nresources:\n  site:\n    type: dns\n{params}"
    )
}

fn project(params: &str) -> Project {
    Project::with(&[("platform/types.yaml", TYPES), ("platform/dns.yaml", DNS), ("app.yaml", &app(params))])
}

/// The message of `validate`, `plan` and `up`, which is the same.
#[track_caller]
fn refused(project: &Project) -> String {
    let stderr = project.run(&["validate"]).status(2).err;
    for command in [&["plan"][..], &["up", "--yes"]] {
        let ran = project.run(command).status(2);
        let faults = |text: &str| {
            text.lines().filter(|line| line.starts_with("error[")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(faults(&ran.err), faults(&stderr), "{command:?}");
    }
    assert!(!project.has_state(), "no state is written");
    stderr
}

/// A project for a cluster can be checked before there is a cluster.
#[test]
fn a_new_project_is_valid_without_its_servers() {
    let project = Project::empty();
    project.run(&["init", "--app", "shop", "--platform", "kubernetes"]).status(0);
    project.run(&["validate"]).status(0);
    project.run(&["doctor"]).status(0);
    project.edit("purlin.yaml", "# ca:", "ca:");
    let refused = project.run(&["validate"]).status(2);
    for words in ["cluster-ca.pem cannot be read", "= help: what is granted has to be there"] {
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    project.run(&["validate", "--offline"]).status(0);
}

#[test]
fn a_mistake_in_a_template_is_reported_once() {
    let project = Project::with(&[
        (
            "definition.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: t}\nspec:\n  type: t\n  driver: purlin/template\n  inputs:\n    values:\n      name: ${context.res.id}\n      templates: {outputs: {host: '{{ .driver.values.name | fail }}'}}\n  criteria: [{}]\n",
        ),
        (
            "deployment.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {shared: {a: {type: t}, b: {type: t}, c: {type: t}}}\n",
        ),
    ]);
    for command in ["validate", "plan"] {
        let refused = project.run(&[command]).status(2);
        // The message contains a value of the first one.
        assert_eq!(refused.err.matches("error[invalid-inputs]").count(), 1, "{}", refused.err);
        assert!(refused.err.contains("= note: for `t.default#shared.a`\n"), "{}", refused.err);
        assert!(refused.err.contains("= note: for `t.default#shared.c`: invalid input"), "{}", refused.err);
    }
    project.edit("definition.yaml", ".driver.values.name | fail", ".context.res.id");
    let refused = project.run(&["validate"]).status(2);
    let all = "= note: for `t.default#shared.a`, `t.default#shared.b`, `t.default#shared.c`\n";
    assert!(
        refused.err.contains("a template has no `.context`") && refused.err.contains(all),
        "{}",
        refused.err
    );
}

#[test]
fn params_are_checked_against_the_schema_of_their_type() {
    insta::assert_snapshot!(refused(&project(
        "    params:\n      ttl: 30\n      kind: pubilc\n      tokn: x\n      tags: {short: ok, long: too-long}\n"
    )));
    // The same holds without drivers.
    let project = project("    params: {ttl: \"60\"}\n");
    insta::assert_snapshot!(
        "params_are_held_without_drivers",
        project.run(&["validate", "--offline"]).status(2).err
    );
    project.run(&["plan", "--offline"]).status(2);
    project.edit("app.yaml", "\"60\"", "60");
    project.run(&["validate"]).status(0);
    project.run(&["up", "--yes"]).status(0);
    // Existing resources are validated as well.
    project.edit("app.yaml", "ttl: 60", "ttl: 59");
    let stderr = project.run(&["up", "--yes"]).status(2).err;
    assert!(stderr.contains("`ttl` is 59; `dns` allows 60 or more"), "{stderr}");
    assert!(stderr.contains("platform/types.yaml:10:28"), "{stderr}");
}

#[test]
fn params_of_provisioned_resources_are_checked() {
    let definition = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: site}
spec:
  type: site
  driver: purlin/echo
  provision:
    dns: {params: {ttl: 5}}
  criteria: [{}]
";
    let project = project("    params: {ttl: 60}\n  other: {type: site}\n");
    project.write("platform/site.yaml", definition);
    let message = refused(&project);
    assert!(message.contains("platform/site.yaml:8:25"), "{message}");
}

#[test]
fn unknown_values_are_checked_once_they_are_known() {
    let source = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: source}
spec:
  type: source
  driver: purlin/template
  inputs: {values: {templates: {outputs: \"kind: hidden\"}}}
  criteria: [{}]
";
    let project = project("    params: {kind: \"${resources.source.kind}\"}\n  source: {type: source}\n");
    project.write("platform/source.yaml", source);
    project.run(&["validate"]).status(0);
    project.run(&["plan"]).status(0);
    let stderr = project.run(&["up", "--yes"]).status(1).err;
    assert!(stderr.contains("`kind` is `hidden`; `dns` takes `public` or `private`"), "{stderr}");
    assert!(!project.recorded().iter().any(|key| key.starts_with("dns")), "its driver was not called");
}

#[test]
fn secret_outputs_of_a_type_are_secret() {
    let project = project("    params: {token: hunter2-hunter2}\n");
    project.edit(
        "platform/dns.yaml",
        "      port: 80\n",
        "      port: 80\n      url: \"https://${params.token}@x\"\n",
    );
    for command in [
        &["plan", "--verbose"][..],
        &["plan", "--format", "json"],
        &["up", "--yes"],
        &["outputs"],
        &["state", "show", "dns#modules.web.externals.site"],
    ] {
        let ran = project.run(command).status(0);
        for secret in ["hunter2", "from-the-definition"] {
            let shown = secret == "from-the-definition" && command != ["outputs"];
            assert!(shown || !ran.out.contains(secret), "{command:?}\n{}", ran.out);
            assert!(!ran.err.contains("hunter2"), "{command:?}\n{}", ran.err);
        }
    }
    // A fault does not repeat the secret.
    project.edit("app.yaml", "hunter2-hunter2", "hunter2");
    let stderr = project.run(&["plan"]).status(2).err;
    assert!(stderr.contains("`token` has 7 characters; `dns` allows 8 or more"), "{stderr}");
}

/// The lines of a fault show nothing of a value that the type declares secret: not its keys, and not where
/// something else on its line, or around it, is wrong.
#[test]
fn lines_of_faults_show_no_secrets_of_the_type() {
    for (params, message, shown) in [
        ("{ttl: 30, pin: hidden-1, vault: {hidden-2: hidden-three}}", "`ttl` is 30", "pin: ********, vault:"),
        ("{pin: [hidden-1, 2]}", "`pin` is a list", "pin: ********** **"),
        ("{vault: {hidden-2: hidden}}", "an entry of `vault` has 6 characters", "vault: *"),
        (
            "\n      vault:\n        hidden-2: hidden\n        ? hidden-3\n        : |\n          hidden\n      ttl: 30",
            "an entry of `vault` has 6 characters",
            "vault:",
        ),
        ("{closed: {hidden-2: 1}}", "`closed` has an entry that `dns` does not allow", "closed: *"),
        ("{closed: {known: {hidden-2: 1}}}", "`closed.known` is a map", "closed: *"),
        ("{tokn: 1, pin: \"hidden\"}", "has no parameter `tokn`", "tokn: 1, pin: ********"),
        (
            "{kind: pubilc,\n      pin: hidden-1,\n      vault: {hidden-2: hidden-three}, ttl: 1}",
            "`ttl` is 1",
            "vault: *",
        ),
    ] {
        let project = project(&format!("    params: {params}\n"));
        project.edit(
            "platform/types.yaml",
            "      tags:",
            "      pin: {type: string, writeOnly: true}\n      \
             vault: {type: object, writeOnly: true, additionalProperties: {type: string, minLength: 9}}\n      \
             closed: {type: object, writeOnly: true, additionalProperties: false, properties: {known: {type: string}}}\n      \
             tags:",
        );
        for command in ["validate", "plan"] {
            let err = project.run(&[command]).status(2).err;
            assert!(err.contains(message) && err.contains(shown), "{params}: {err}");
            assert!(!err.contains("hidden"), "{params}: {err}");
        }
    }
}

#[test]
fn outputs_match_the_type() {
    let project = project("");
    project.edit("platform/dns.yaml", "port: 80", "port: \"80\"");
    let ran = project.run(&["up", "--yes"]).status(1);
    let words = "the output `port` is `80`, a string; `dns` promises a whole number";
    assert!(ran.err.contains(words), "{}", ran.err);
    // The resource exists and stays recorded.
    assert!(project.recorded().iter().any(|key| key.starts_with("dns")));
    project.edit("platform/dns.yaml", "port: \"80\"", "port: 80");
    project.run(&["up", "--yes"]).status(0);
    project.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn outputs_that_a_type_does_not_have_are_rejected() {
    let project = project("");
    project.edit(
        "platform/types.yaml",
        "    required: [host]\n",
        "    required: [host]\n    additionalProperties: false\n",
    );
    project.edit("platform/dns.yaml", "type: dns", "type: d*");
    project.edit("app.yaml", "{image: nginx}", "{image: nginx, variables: {A: \"${resources.site.hots}\"}}");
    let message = refused(&project);
    assert!(message.contains("did you mean `host`?"), "{message}");
}

fn definition(driver: &str, inputs: &str) -> Project {
    let text = format!(
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: dns}}\nspec:\n  type: dns\n  driver: {driver}\n  inputs:\n{inputs}  criteria: [{{}}]\n"
    );
    Project::with(&[("dns.yaml", &text), ("app.yaml", &app(""))])
}

#[test]
fn inputs_in_another_part_are_reported_with_the_right_one() {
    for (inputs, message, help) in [
        (
            "values: {role: {}, role_password: x}",
            "has no input `role_password`",
            "`role_password` belongs under `inputs.secrets`",
        ),
        (
            "values: {role: {}, role_password: {store: s, ref: r}}",
            "has no input `role_password`",
            "`role_password` belongs under `inputs.secret_refs`",
        ),
        (
            "connection: {role_password: x}",
            "has no input `connection.role_password`",
            "`role_password` belongs under `inputs.secrets`",
        ),
        ("secrets: {role: {}}", "has no secret `role`", "`role` belongs under `inputs.values`"),
        ("values: {password: x}", "has no input `password`", "`password` belongs under `inputs.connection`"),
        (
            "values: {server: {host: a, port: 1}}",
            "has no input `server`",
            "`host` and `port` belong under `inputs.connection`",
        ),
        (
            "secrets: {role_password: {store: s, ref: r}}",
            "the secret `role_password` is a map; `purlin/postgres` takes a string",
            "`{store, ref}` belongs under `secret_refs`",
        ),
        (
            "secrets: {role_password: {store: s, ref: r, version: '2'}}",
            "the secret `role_password` is a map; `purlin/postgres` takes a string",
            "`{store, ref}` belongs under `secret_refs`",
        ),
    ] {
        let err = definition("purlin/postgres", &format!("    {inputs}\n")).run(&["validate"]).status(2).err;
        let fault = err.split("\n\n").find(|fault| fault.contains(message));
        assert!(fault.is_some_and(|fault| fault.ends_with(&format!("= help: {help}"))), "{inputs}: {err}");
    }
    let other = definition("purlin/postgres", "    secrets: {role_password: {store: s, ref: r, key: k}}\n");
    assert!(!other.run(&["validate"]).status(2).err.contains("secret_refs"));
}

#[test]
fn inputs_are_checked_against_the_schema_of_their_driver() {
    insta::assert_snapshot!(refused(&definition(
        "purlin/file",
        "    values:\n      path: /out/a.txt\n      contents: hi\n      mode: rw\n    secrets: {content: 5}\n"
    )));
    insta::assert_snapshot!(
        "the_kind_of_a_random_value",
        refused(&definition("purlin/random", "    values: {kind: pasword}\n"))
    );
    insta::assert_snapshot!(
        "an_input_that_is_missing",
        refused(&definition("purlin/file", "    values: {content: hi}\n"))
    );
}

#[test]
fn drivers_check_what_schemas_cannot_express() {
    insta::assert_snapshot!(refused(&definition(
        "purlin/template",
        "    values:\n      templates:\n        outputs: |\n          host: {{ nofunction }}\n"
    )));
}

#[test]
fn unused_definitions_are_checked_too() {
    let project = definition("purlin/echo", "    values: {host: a}\n");
    project.write(
        "unused.yaml",
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: unused}\nspec:\n  type: other\n  driver: purlin/file\n  inputs: {values: {path: \"/out/${context.app.id}\", contents: x}}\n  criteria: [{app_id: elsewhere}]\n",
    );
    let stderr = project.run(&["validate"]).status(2).err;
    assert!(stderr.contains("unused.yaml:7:53") && stderr.contains("has no input `contents`"), "{stderr}");
    project.run(&["validate", "--offline"]).status(0);
    // Nothing of this type is deployed here.
    project.run(&["plan"]).status(0);
}

#[test]
fn drivers_that_do_not_exist_are_found() {
    insta::assert_snapshot!(refused(&definition("purlin/ecko", "    values: {}\n")));
    insta::assert_snapshot!(
        "a_version_that_does_not_fit",
        refused(&definition("purlin/echo@^2", "    values: {}\n"))
    );
    insta::assert_snapshot!("terraform", refused(&definition("humanitec/terraform", "    values: {}\n")));
    let project = definition("purlin/echo", "    values: {}\n");
    project.write(
        "purlin.yaml",
        "apiVersion: purlin.dev/v1\nkind: Workspace\ndrivers:\n  purlin/htp:\n    grants: {http: [\"https://a.example\"]}\n  purlin/random: {version: ^7}\n",
    );
    insta::assert_snapshot!("grants_of_a_driver_that_is_not_there", project.run(&["validate"]).status(2).err);
    project.run(&["validate", "--offline"]).status(0);
    assert!(!project.has_state());
}

#[test]
fn a_faulty_reference_to_a_secret_is_reported_at_its_place() {
    insta::assert_snapshot!(refused(&definition(
        "purlin/echo",
        "    secret_refs:\n      password: {store: vault, ref: db}\n"
    )));
}

/// A driver whose outputs are closed rejects a reference to any other one before anything is created.
#[test]
fn mistyped_outputs_of_our_drivers_are_found_before_they_are_called() {
    const OPEN: [&str; 3] = ["http", "kubernetes", "s3"];
    let built_in = ["dns", "dns-wildcard", "echo", "file", "iam", "postgres", "random", "redis", "template"];
    for driver in built_in.iter().chain(&OPEN) {
        let project = Project::with(&[
            (
                "platform.yaml",
                &format!(
                    "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: dns}}\nspec:\n  type: dns\n  driver: purlin/{driver}\n  criteria: [{{}}]\n---\napiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: route}}\nspec:\n  type: route\n  driver: purlin/echo\n  inputs: {{values: {{to: \"${{resources['dns#shared.one'].outputs.hots}}\"}}}}\n  criteria: [{{}}]\n"
                ),
            ),
            (
                "deploy.yaml",
                "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  app: shop\n  env: dev\n  shared:\n    one: {type: dns}\n    two: {type: route}\n",
            ),
        ]);
        let stderr = project.run(&["validate"]).err;
        assert_eq!(stderr.contains("error[unknown-output]"), !OPEN.contains(driver), "{driver}: {stderr}");
    }
}
