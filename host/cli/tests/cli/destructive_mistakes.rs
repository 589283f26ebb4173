//! Tests of mistakes, each of which would destroy something that is still wanted.

use purlin_systems::{Project, Ran};

const WORKSPACE: &str = "
apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults: {app: shop, env: dev}
  drivers:
    purlin/file: {grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}}
";

const SETTINGS: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: settings}
spec:
  type: settings
  driver: purlin/file
  inputs: {values: {path: '/out/${params.file}', content: '${params.content}'}}
  criteria: [{}]
";

const DEPLOYMENT: &str = "
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared:
    a: {type: settings, params: {file: a, content: aaa}}
    b: {type: settings, params: {file: b, content: bbb}}
";

/// A project with two deployed files.
fn deployed() -> Project {
    let project = Project::empty();
    project.write("purlin.yaml", WORKSPACE);
    project.write("settings.yaml", SETTINGS);
    project.write("deployment.yaml", DEPLOYMENT);
    std::fs::create_dir(project.path().join("out")).expect("a folder");
    project.run(&["up", "--yes"]).status(0);
    assert_eq!(files(&project), ["a", "b"]);
    project
}

fn files(project: &Project) -> Vec<String> {
    let entries = std::fs::read_dir(project.path().join("out")).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Asserts that the command ends with status 2 and this message, and changes nothing.
#[track_caller]
fn refused(project: &Project, arguments: &[&str], texts: &[&str]) -> Ran {
    let before = files(project);
    let ran = project.run(arguments).status(2);
    for text in texts {
        assert!(ran.err.contains(text), "`{text}` is not in the output: {}", ran.err);
    }
    assert_eq!(files(project), before);
    ran
}

#[test]
fn destroy_never_guesses_its_environment() {
    let project = deployed();
    project.edit("purlin.yaml", "env: dev", "env: preview");
    project.write("broken.yaml", "apiVersion: purlin.dev/v1\nkind: [");
    let destroy = ["destroy", "--yes"];
    // The broken file may name another environment than the workspace.
    refused(&project, &destroy, &["error[environment-unknown]", "`--app shop --env preview`", "broken.yaml"]);
    project.edit("purlin.yaml", "app: shop, env: preview", "app: shop");
    refused(&project, &destroy, &["error[environment-unknown]", "--env development`", "broken.yaml"]);
    for changes in [
        &["rollback", "--yes"][..],
        &["refresh"],
        &["state", "lock"],
        &["state", "forget", "x", "--yes"],
        &["state", "move", "x", "--yes", "--to-env", "test"],
        &["reconcile", "--request"],
    ] {
        refused(&project, changes, &["error[environment-unknown]"]);
    }
    // Two Deployments that contradict each other name none.
    let deployment = |env: &str| {
        format!(
            "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {{name: {env}}}\nspec: {{app: shop, env: {env}}}\n"
        )
    };
    project.write("broken.yaml", deployment("dev"));
    project.write("other.yaml", deployment("test"));
    refused(&project, &destroy, &["error[environment-unknown]", "error[context-conflict]"]);
    // A Deployment that is read decides, whatever else is wrong.
    project.write("other.yaml", "apiVersion: purlin.dev/v1\nkind: [");
    let ran = project.run(&["refresh"]).status(0);
    assert!(ran.err.contains("were not used; the environment is dev of default/shop"), "{}", ran.err);
    std::fs::remove_file(project.path().join("broken.yaml")).expect("removed");
    refused(&project, &["destroy", "--yes", "--env", "dev"], &["error[environment-unknown]"]);
    project.run(&["destroy", "--yes", "--env", "dev", "--app", "shop"]).status(0);
    assert_eq!(files(&project), Vec::<String>::new());
}

#[test]
fn a_slip_in_the_workspace_lifts_no_protection() {
    let project = deployed();
    let declared = "  environments:\n    dev: {type: development, protect: true}\n  drivers:";
    project.edit("purlin.yaml", "  drivers:", declared);
    project.run(&["up", "--yes"]).status(0);
    refused(&project, &["destroy", "--yes"], &["error[protected]"]);
    for (from, to, expected) in [
        ("protect: true", "protect: \"true\"", "`purlin.yaml` is invalid"),
        ("protect: true", "protcet: true", "`purlin.yaml` is invalid"),
        ("environments:", "enviroments:", "`purlin.yaml` is invalid"),
        ("    dev: {", "    dve: {", "declares no environment `dev`"),
    ] {
        let right = project.read("purlin.yaml");
        project.edit("purlin.yaml", from, to);
        refused(&project, &["destroy", "--yes"], &[expected]);
        refused(&project, &["destroy", "--yes", "--env", "dev"], &[expected]);
        project.write("purlin.yaml", right);
    }
}

#[test]
fn one_edit_does_not_both_end_a_protection_and_use_that() {
    let project = deployed();
    project.edit("settings.yaml", "  criteria: [{}]", "  lifecycle: {protect: true}\n  criteria: [{}]");
    project.run(&["up", "--yes"]).status(0);
    let right = project.read("settings.yaml");
    project.edit("settings.yaml", "  lifecycle: {protect: true}\n", "");
    project.edit("deployment.yaml", "file: a,", "file: c,");
    refused(
        &project,
        &["up", "--yes"],
        &["error[protected]", "deploy it once with `lifecycle.protect: false`"],
    );
    // Another definition does not circumvent the protection.
    project.write("settings.yaml", right);
    project.edit("deployment.yaml", "file: c,", "file: a,");
    let other = SETTINGS.replace("id: settings", "id: other").replace("/out/", "/out/x-");
    project.write("other.yaml", other.replace("[{}]", "[{res_id: shared.a}]"));
    refused(&project, &["up", "--yes"], &["error[protected]"]);
    std::fs::remove_file(project.path().join("other.yaml")).expect("it");
    // The end of a protection is reported.
    project.edit("settings.yaml", "  lifecycle: {protect: true}\n", "");
    let ran = project.run(&["up", "--yes"]).status(0);
    assert!(ran.err.contains("it is no longer protected"), "{}", ran.err);
    assert_eq!(files(&project), ["a", "b"]);
}

#[test]
fn an_object_that_another_type_declares_identically_is_kept() {
    let project = deployed();
    // Removing the accidental copy does not delete the original.
    project.write(
        "copy.yaml",
        SETTINGS.replace("id: settings", "id: copy").replace("type: settings", "type: config"),
    );
    project.edit(
        "deployment.yaml",
        "  shared:",
        "  shared:\n    c: {type: config, params: {file: a, content: aaa}}",
    );
    let copied = project.run(&["up", "--yes"]).status(1).err;
    assert!(copied.contains("error[id-taken]") && copied.contains("`settings.default#shared.a`"), "{copied}");
    project.edit("deployment.yaml", "    c: {type: config, params: {file: a, content: aaa}}\n", "");
    project.run(&["up", "--yes"]).status(0);
    assert_eq!(files(&project), ["a", "b"]);
}

#[test]
fn an_environment_one_letter_away_is_not_made() {
    let project = deployed();
    for env in ["dve", "Dev", "deev"] {
        refused(
            &project,
            &["up", "--yes", "--env", env],
            &["error[unknown-environment]", "did you mean `dev`?"],
        );
    }
    refused(&project, &["up", "--yes", "--env", ""], &["error[context-name]", "the environment has no name"]);
    project.run(&["plan", "--env", "dev2"]).status(0);
    project.run(&["plan", "--env", "dve", "--new-environment"]).status(0);
}

#[test]
fn an_observed_resource_is_not_adopted_when_its_line_is_lost() {
    let project = deployed();
    project.write("out/theirs", "theirs\n");
    project.edit(
        "deployment.yaml",
        "  shared:",
        "  lifecycle:\n    settings#shared.t: {observe: /out/theirs}\n  shared:\n    t: {type: settings, params: {file: theirs, content: none}}",
    );
    project.run(&["up", "--yes"]).status(0);
    project.edit("deployment.yaml", "  lifecycle:\n    settings#shared.t: {observe: /out/theirs}\n", "");
    refused(&project, &["up", "--yes"], &["error[observe-ended]", "write `import` instead of `observe`"]);
    assert_eq!(project.read("out/theirs"), "theirs\n");
}

#[test]
fn a_file_that_moved_is_known_by_its_new_place() {
    let project = deployed();
    project.write(
        "more.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared:\n    z: {type: settings, params: {file: z, content: z}}\n",
    );
    project.run(&["up", "--yes"]).status(0);
    std::fs::create_dir(project.path().join("jobs")).expect("a folder");
    std::fs::rename(project.path().join("more.yaml"), project.path().join("jobs/more.yaml")).expect("moved");
    project.run(&["up", "--yes"]).status(0);
    project.write("jobs/more.yaml", "");
    refused(&project, &["up", "--yes"], &["error[file-without-documents]", "jobs/more.yaml"]);
}

#[test]
fn a_value_that_was_given_is_given_again() {
    let project = deployed();
    project.edit("deployment.yaml", "file: a,", "file: 'a${values.n}',");
    project.edit("deployment.yaml", "  shared:", "  values: {n: ''}\n  shared:");
    project.write("special.txt", "n: special\n");
    project.run(&["up", "--yes", "--values", "special.txt"]).status(0);
    assert_eq!(files(&project), ["aspecial", "b"]);
    let expected = ["error[value-not-given]", "the value `n`", "add `--values special.txt`"];
    refused(&project, &["up", "--yes"], &expected);
    project.write("special.txt", "N: special\n");
    refused(
        &project,
        &["up", "--yes", "--values", "special.txt"],
        &["error[unread-value]", "did you mean `n`?"],
    );
    project.run(&["plan", "--set", "n=special"]).status(0);
}

#[test]
fn resources_that_slip_into_another_are_missed() {
    let project = deployed();
    let swallowed = "
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared:
    a:
      type: settings
      params:
        file: a
        content: aaa
        b:
          type: settings
          params: {file: b, content: bbb}
";
    project.write("deployment.yaml", swallowed);
    refused(&project, &["up", "--yes"], &["error[misplaced-field]", "`b` is inside `params`"]);
    project.write("deployment.yaml", DEPLOYMENT);
    project.write(
        "web.yaml",
        "apiVersion: score.dev/v1b1\nmetadata:\n  name: web\n  resources:\n    one: {type: settings, metadata: {x: y}, params: {file: c, content: c}}\ncontainers: {main: {image: x}}\n",
    );
    refused(&project, &["up", "--yes"], &["error[misplaced-field]"]);
    project.write(
        "web.yaml",
        "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: x}}\nresources:\n  one:\n    type: settings\n    params: {file: c, content: c}\n    metadata:\n      two: {type: settings, params: {file: d, content: d}}\n",
    );
    refused(&project, &["up", "--yes"], &["error[misplaced-field]", "`two` is inside `metadata`"]);
}

#[test]
fn a_part_of_a_definition_with_another_name_is_missed() {
    let project = deployed();
    let entity = "
apiVersion: entity.humanitec.io/v1b1
kind: Definition
metadata: {id: settings}
entity:
  type: settings
  driver_type: purlin/file
  driver_inputs: {values: {path: '/out/${params.file}', content: '${params.content}'}}
  provisioning: {backup: {params: {of: '${params.file}'}}}
  criteria: [{}]
";
    project.write("settings.yaml", entity);
    refused(&project, &["up", "--yes"], &["error[unknown-field]", "did you mean `provision`?"]);
}

#[test]
fn a_plan_makes_no_folders() {
    let project = deployed();
    refused(
        &project,
        &["plan", "--out", "nowhere/x.plan"],
        &["cannot write the plan to", "a folder that exists"],
    );
    assert!(!project.path().join("nowhere").exists());
}

#[test]
fn a_template_fault_is_reported_at_its_line() {
    let project = Project::empty();
    project.write("purlin.yaml", WORKSPACE);
    for (line, place, expected) in [
        ("host: {{ .id | uper }}", "dns.yaml:12:11", "there is no function `uper`"),
        ("host: {{ .id }}: x", "dns.yaml:12:11", "which is not valid YAML"),
    ] {
        let head = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns}\nspec:\n  type: dns\n  driver: purlin/template\n";
        let inputs = "  criteria: [{}]\n  inputs:\n    values:\n      templates:\n        outputs: |\n";
        project.write("dns.yaml", format!("{head}{inputs}          {line}\n"));
        project.write(
            "deployment.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {app: shop, shared: {x: {type: dns}}}\n",
        );
        let ran = project.run(&["plan"]).status(2);
        assert!(ran.err.contains(place) && ran.err.contains(expected), "{}", ran.err);
        project.edit("dns.yaml", "outputs: |\n", "outputs: |\n          a: 1\n          b: 2\n");
        let ran = project.run(&["plan"]).status(2);
        assert!(ran.err.contains("dns.yaml:14:11"), "{}", ran.err);
    }
}

#[test]
fn a_type_that_has_another_name_everywhere_takes_nothing_along() {
    let project = deployed();
    project.edit("settings.yaml", "type: settings", "type: config");
    project.edit("deployment.yaml", "type: settings", "type: config");
    project.run(&["up", "--yes"]).status(0);
    assert_eq!(files(&project), ["a", "b"]);
    // If the content changes at the same time, the run may fail, and the next one completes it.
    project.edit("settings.yaml", "type: config", "type: note");
    project.edit("deployment.yaml", "type: config", "type: note");
    project.edit("deployment.yaml", "content: aaa", "content: other");
    let ran = project.run(&["up", "--yes"]);
    if ran.status != 0 {
        assert!(ran.err.contains("error[conflict]: `/out/a` already exists"), "{}", ran.err);
        project.run(&["up", "--yes"]).status(0);
    }
    assert_eq!(files(&project), ["a", "b"]);
    assert_eq!(project.read("out/a"), "other");
    project.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn names_that_change_places_lose_nothing() {
    let project = deployed();
    let swapped = DEPLOYMENT
        .replace("    a: {", "    x: {")
        .replace("    b: {", "    a: {")
        .replace("    x: {", "    b: {");
    assert_ne!(swapped, DEPLOYMENT);
    for round in 0..6 {
        project.write("deployment.yaml", if round % 2 == 0 { swapped.as_str() } else { DEPLOYMENT });
        project.run(&["up", "--yes"]).status(0);
        assert_eq!(files(&project), ["a", "b"], "in round {round}");
        for (name, content) in [("a", "aaa"), ("b", "bbb")] {
            let written = std::fs::read_to_string(project.path().join("out").join(name)).expect("it");
            assert_eq!(written, content);
        }
    }
}

#[test]
fn names_that_move_on_by_one_lose_nothing() {
    let project = deployed();
    let shared = |first: usize| {
        let line = |number: usize| {
            format!(
                "    n{}: {{type: settings, params: {{file: f{number}, content: c{number}}}}}\n",
                number + first
            )
        };
        let lines: String = (0..10).map(line).collect();
        format!("apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared:\n{lines}")
    };
    for first in 0..4 {
        project.write("deployment.yaml", shared(first));
        project.run(&["up", "--yes"]).status(0);
        let wanted: Vec<String> = (0..10).map(|number| format!("f{number}")).collect();
        assert_eq!(files(&project), wanted, "in round {first}");
    }
}

#[test]
fn a_plan_is_kept_in_the_place_of_no_other_file() {
    let project = deployed();
    for taken in ["deployment.yaml", "purlin.yaml", ".purlin/key", ".purlin/lock", "/dev/null"] {
        let before = std::fs::read(project.path().join(taken)).expect("it");
        refused(&project, &["plan", "--out", taken], &["cannot write the plan to"]);
        assert_eq!(std::fs::read(project.path().join(taken)).expect("it"), before);
    }
    project.run(&["plan", "--out", "kept.plan"]).status(0);
    project.run(&["plan", "--out", "kept.plan"]).status(0);
}

#[test]
fn an_export_needs_a_folder() {
    let project = deployed();
    for file in ["deployment.yaml", "deployment.yaml/out", "/dev/null"] {
        let before = std::fs::read(project.path().join("deployment.yaml")).expect("it");
        refused(&project, &["export", file], &["cannot export into", "name a folder"]);
        assert_eq!(std::fs::read(project.path().join("deployment.yaml")).expect("it"), before);
    }
}

#[test]
fn an_export_overwrites_only_files_of_an_export() {
    let project = deployed();
    let score = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: i}}\n";
    std::fs::create_dir(project.path().join("workloads")).expect("a folder");
    project.write("workloads/web.yaml", score);
    project.run(&["up", "--yes"]).status(0);
    refused(
        &project,
        &["export", "."],
        &["`workloads/web.yaml` already exists and was not written by an export"],
    );
    assert_eq!(project.read("workloads/web.yaml"), score);
    for _ in 0..2 {
        project.run(&["export", ".export"]).status(0);
    }
}

#[test]
fn a_change_of_the_definition_is_reported() {
    let project = deployed();
    let other = SETTINGS.replace("id: settings", "id: other").replace("${params.content}", "other");
    project.write("other.yaml", other.replace("[{}]", "[{res_id: shared.a}]"));
    let ran = project.run(&["plan", "--verbose"]).status(0);
    assert!(ran.out.contains("its definition changes from `settings` to `other`"), "{}", ran.out);
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    for (file, status, expected) in [
        ("purlin.lock", 2, "cannot read `purlin.lock`: it is not a regular file"),
        (".purlin/key", 1, "it is not a regular file"),
        (".purlin/format", 1, "it is not a regular file"),
    ] {
        let project = deployed();
        project.edit("settings.yaml", "inputs: {values:", "inputs: {secrets: {}, values:");
        let path = project.path().join(file);
        let _ = std::fs::remove_file(&path);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, rustix::fs::Mode::RUSR, 0).expect("a pipe");
        let ran = project.run(&["plan"]);
        assert!(ran.err.contains(expected), "{file}: {} {}", ran.status, ran.err);
        assert_eq!(ran.status, status, "{file}: {}", ran.err);
    }
}

/// Parsing this component in the main process would crash it. That the command survives shows where
/// it is parsed.
#[test]
fn a_component_that_breaks_the_compiler_is_rejected() {
    let project = deployed();
    // Nested instance types.
    let mut component = b"\0asm\x0d\0\x01\0\x07\xe3\xd4\x03\x01".to_vec();
    component.extend([0x42, 1, 1].repeat(20_000));
    component.extend([0x42, 0]);
    project.write("nested.wasm", component);
    project.write("purlin.yaml", format!("{WORKSPACE}    acme/nested: {{source: ./nested.wasm}}\n"));
    let ran = project.run(&["driver", "list"]);
    assert!(ran.out.contains("its parts are nested too deep"), "{} {} {}", ran.status, ran.out, ran.err);
    // The other drivers still work.
    project.run(&["up", "--yes"]).status(0);
}

#[test]
fn drivers_cannot_write_to_the_operators_files() {
    let project = deployed();
    for (folder, kept) in [
        (".", "purlin.yaml"),
        ("..", "purlin.yaml"),
        (".purlin", "the state"),
        (".purlin/cache", "the state"),
    ] {
        project.write("purlin.yaml", WORKSPACE.replace("./out", folder));
        refused(
            &project,
            &["plan"],
            &[
                &format!("it may write to the folder `{folder}`, where it could change {kept}"),
                "grant a folder of its own, such as `./out`",
            ],
        );
    }
}

#[test]
fn a_plan_names_two_resources_that_may_be_one_object() {
    let project = deployed();
    let likes = |file: &str, other: &str| {
        format!(
            "`purlin/file` names it `/out/{file}`, like `settings.default#shared.{other}`; if both are one object, the run fails"
        )
    };
    // One that exists, and two that are new.
    project.edit(
        "deployment.yaml",
        "    b: {",
        "    c: {type: settings, params: {file: a, content: ccc}}\n    d: {type: settings, params: {file: d, content: ddd}}\n    e: {type: settings, params: {file: d, content: eee}}\n    b: {",
    );
    let plan = project.run(&["plan"]).status(0).out;
    assert!(plan.contains(&likes("a", "a")) && plan.contains(&likes("d", "d")), "{plan}");
    assert_eq!(plan.matches("names it").count(), 2, "{plan}");
    // A swap of names is no such plan.
    project.edit("deployment.yaml", "file: a, content: ccc", "file: c, content: ccc");
    project.edit("deployment.yaml", "file: d, content: eee", "file: e, content: eee");
    project.edit(
        "deployment.yaml",
        "a: {type: settings, params: {file: a,",
        "a: {type: settings, params: {file: b,",
    );
    project.edit(
        "deployment.yaml",
        "b: {type: settings, params: {file: b,",
        "b: {type: settings, params: {file: a,",
    );
    let plan = project.run(&["plan"]).status(0).out;
    assert!(!plan.contains("names it"), "{plan}");
}
