//! Slips in documents that were deployed: none of them deletes what is still wanted, and each can be
//! accepted where it was meant.

use purlin_systems::Project;

const WORKSPACE: &str = "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev, env_type: development}\n";
const DEFINITIONS: &str = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: managed}
spec:
  type: 'ec2/*'
  driver: purlin/echo
  inputs: {values: {id: '${context.res.id}', spec: '${params}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: databases}
spec:
  type: postgres
  driver: purlin/echo
  inputs: {values: {size: '${params.size ?? 1}', password: '${resources.password.outputs.value}'}}
  criteria: [{env_type: development}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: databases-elsewhere}
spec:
  type: postgres
  driver: purlin/echo
  inputs: {values: {size: 0}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: passwords}
spec:
  type: password
  driver: purlin/echo
  inputs: {values: {value: '${context.res.guresid}'}}
  criteria: [{}]
";
const GROUPS: &str = "\
apiVersion: ec2.aws.crossplane.io/v1beta1
kind: SecurityGroup
metadata:
  name: ssh
spec: {forProvider: {}}
---
apiVersion: ec2.aws.crossplane.io/v1beta1
kind: SecurityGroup
metadata:
  name: https
spec: {forProvider: {}}
";
const DEPLOYMENT: &str = "\
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  values:
    region: x
  shared:
    orders: {type: postgres, params: {size: 50}}
";
const SCORE: &str = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: nginx}}\n";

fn deployed() -> Project {
    let project = Project::with(&[
        ("purlin.yaml", WORKSPACE),
        ("platform/definitions.yaml", DEFINITIONS),
        ("infra/groups.yaml", GROUPS),
        ("apps/shop.yaml", DEPLOYMENT),
        ("apps/web.yaml", SCORE),
    ]);
    project.run(&["up", "--yes"]).status(0);
    project
}

/// Rejected by every command that plans, with this code; with the options, this many are deleted.
#[track_caller]
fn refused(project: &Project, code: &str, accept: &[&str], deleted: usize) {
    let before = project.recorded().len();
    for command in [&["plan"][..], &["up", "--yes"], &["reconcile", "--yes"]] {
        let ran = project.run(command).status(2);
        assert!(ran.err.contains(&format!("error[{code}]")), "{command:?}: {}", ran.err);
    }
    assert_eq!(project.recorded().len(), before);
    let plan: Vec<&str> = [&["plan", "--format", "json"][..], accept].concat();
    let plan = project.run(&plan).status(0).json();
    assert_eq!(plan["summary"]["delete"], deleted, "{plan}");
}

/// `impact` rejects a change of a folder for the same reason.
fn foreseen(project: &Project, folder: &str, code: &str) {
    let impact = project.run(&["impact", folder, "--format", "json"]).status(3);
    assert!(impact.out.contains(code), "{}", impact.out);
}

#[test]
fn a_manifest_that_is_not_read_any_more_is_reported() {
    let project = deployed();
    let second = |from: &str, to: &str| {
        let (first, second) = GROUPS.split_once("---").expect("two");
        project.write("infra/groups.yaml", format!("{first}---{}", second.replacen(from, to, 1)));
    };
    for (from, to) in [
        ("kind: SecurityGroup\n", ""),
        ("  name: https\n", ""),
        ("metadata:\n  name: https\n", ""),
        ("kind: SecurityGroup", "type: SecurityGroup"),
        ("kind: SecurityGroup", "kind: [SecurityGroup]"),
    ] {
        second(from, to);
        let ran = project.run(&["up", "--yes"]).status(2);
        assert!(ran.err.contains("infra/groups.yaml:"), "{to:?}: {}", ran.err);
    }
    second("kind: SecurityGroup\n", "");
    refused(&project, "document-not-read", &["--accept-missing", "infra/groups.yaml"], 1);
    foreseen(&project, "infra", "document-not-read");
    // A document that was taken out is deleted, and the plan names its file.
    project.write("infra/groups.yaml", GROUPS.split_once("---").expect("two").0);
    let plan = project.run(&["plan"]).status(0);
    assert!(plan.out.contains("1 to delete") && plan.out.contains("infra/groups.yaml"), "{}", plan.out);
}

#[test]
fn a_kind_or_a_criterion_one_letter_away_is_rejected() {
    let project = deployed();
    project.write("infra/groups.yaml", GROUPS.replacen("kind: SecurityGroup", "kind: SecurtyGroup", 1));
    refused(&project, "similar-type", &["--accept-missing", "ec2/security-group#ssh"], 1);
    foreseen(&project, "infra", "similar-type");
    project.write("infra/groups.yaml", GROUPS.replacen("ec2.aws", "ec2aws", 1));
    project.edit("platform/definitions.yaml", "'ec2/*'", "'*/security-group'");
    let ran = project.run(&["up", "--yes"]).status(2);
    assert!(
        ran.err.contains("error[similar-type]") && ran.err.contains("`ec2.aws.crossplane.io`"),
        "{}",
        ran.err
    );
    foreseen(&project, "infra", "similar-type");
    project.edit("platform/definitions.yaml", "'*/security-group'", "'ec2/*'");
    project.write("infra/groups.yaml", GROUPS);
    project.edit("platform/definitions.yaml", "env_type: development", "env_type: developmnt");
    refused(&project, "similar-criterion", &["--accept-missing", "platform/definitions.yaml"], 1);
    foreseen(&project, "platform", "similar-criterion");
}

#[test]
fn a_name_one_letter_away_is_rejected() {
    let project = deployed();
    project.write("infra/groups.yaml", GROUPS.replace("name: https", "name: htps"));
    refused(&project, "similar-name", &["--accept-missing", "ec2/security-group#https"], 1);
    foreseen(&project, "infra", "similar-name");
    project.write("infra/groups.yaml", GROUPS);
    // The resources of a workload have its name in their ids.
    let with =
        |name: &str| format!("{}resources: {{main: {{type: postgres}}}}\n", SCORE.replace("web", name));
    project.write("apps/front.yaml", with("frontend"));
    project.run(&["up", "--yes"]).status(0);
    project.write("apps/front.yaml", with("fontend"));
    refused(&project, "similar-name", &["--accept-missing", "workload#modules.frontend"], 3);
    let ran = project.run(&["plan"]).status(2);
    assert_eq!(ran.err.matches("error[").count(), 1, "{}", ran.err);
    assert!(ran.err.contains("2 more recorded resources have the same name"), "{}", ran.err);
    // Another name, a numbered one, and what is gone without a successor are decisions.
    for name in ["storefront", "frontend2"] {
        project.write("apps/front.yaml", with(name));
        project.run(&["plan"]).status(0);
    }
    // So is a recorded rename.
    project.write("apps/front.yaml", with("fontend"));
    for kind in [
        "workload#modules.frontend",
        "postgres#modules.frontend.externals.main",
        "password#modules.frontend.externals.main",
    ] {
        project.run(&["state", "rename", kind, &kind.replace("frontend", "fontend")]).status(0);
    }
    let plan = project.run(&["plan", "--format", "json"]).status(0).json();
    assert_eq!(plan["summary"]["delete"], 0, "{plan}");
}

#[test]
fn a_lost_dollar_is_rejected() {
    let project = deployed();
    project.edit("platform/definitions.yaml", "'${resources.password", "'{resources.password");
    refused(&project, "placeholder-without-dollar", &["--accept-missing", "platform"], 1);
    // It is only a warning where nothing was read before.
    let new = Project::with(&[
        ("purlin.yaml", WORKSPACE),
        ("a.yaml", &DEFINITIONS.replace("'${resources.password", "'{resources.password")),
        ("b.yaml", DEPLOYMENT),
    ]);
    let ran = new.run(&["up", "--yes"]).status(0);
    assert!(ran.err.contains("warning[placeholder-without-dollar]"), "{}", ran.err);
}

#[test]
fn resources_among_the_values_are_rejected() {
    let project = deployed();
    for (from, to) in [("  shared:", "    shared:"), ("  shared:\n", "")] {
        project.write("apps/shop.yaml", DEPLOYMENT.replace(from, to));
        let ran = project.run(&["up", "--yes"]).status(2);
        assert!(ran.err.contains("error[misplaced-field]"), "{to:?}: {}", ran.err);
    }
    project.write("apps/shop.yaml", DEPLOYMENT);
    let ran = project.run(&["validate"]).status(0);
    assert!(ran.err.contains("warning[unread-value]"), "{}", ran.err);
}

#[test]
fn a_folder_that_is_emptied_at_once_is_rejected() {
    let project = deployed();
    let apps = project.path().join("apps");
    std::fs::rename(&apps, project.path().join(".apps")).expect("moved");
    for is_there in [false, true] {
        if is_there {
            std::fs::create_dir(&apps).expect("made");
        }
        refused(&project, "folder-without-documents", &["--accept-missing", "apps"], 3);
        let impact = project.run(&["impact", ".", "--format", "json"]).status(3);
        assert!(impact.out.contains("folder-without-documents"), "{}", impact.out);
    }
    // Only definitions are left in it.
    project.write(
        "apps/more.yaml",
        "apiVersion: purlin.dev/v1\nkind: ResourceType\nmetadata: {name: x}\nspec: {type: x}\n",
    );
    refused(&project, "folder-without-documents", &["--accept-missing", "apps"], 3);
    // The folder has another name now.
    std::fs::remove_dir_all(&apps).expect("removed");
    std::fs::rename(project.path().join(".apps"), project.path().join("services")).expect("moved");
    let plan = project.run(&["plan", "--format", "json"]).status(0).json();
    assert_eq!(plan["summary"]["delete"], 0, "{plan}");
    // One removed file is a decision.
    std::fs::remove_file(project.path().join("services/web.yaml")).expect("removed");
    project.run(&["plan"]).status(0);
}

#[test]
fn documents_without_resources_are_rejected() {
    let project = Project::with(&[
        ("purlin.yaml", WORKSPACE),
        ("definitions.yaml", DEFINITIONS),
        ("shop.yaml", DEPLOYMENT),
    ]);
    project.run(&["up", "--yes"]).status(0);
    std::fs::remove_file(project.path().join("shop.yaml")).expect("removed");
    for command in [&["plan"][..], &["up", "--yes"], &["reconcile", "--yes"]] {
        let ran = project.run(command).status(2);
        assert!(ran.err.contains("error[no-documents]"), "{command:?}: {}", ran.err);
    }
}

#[test]
fn an_optional_input_that_is_not_given_can_be_ignored() {
    let project = Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n  drivers: {purlin/file: {grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}}}\n",
        ),
        (
            "f.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: f}\nspec: {type: f, driver: purlin/file, inputs: {values: {path: /out/a, content: a}}, criteria: [{}]}\n",
        ),
        (
            "d.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared: {a: {type: f}}\n  lifecycle: {f#shared.a: {ignore_changes: [values.mode]}}\n",
        ),
    ]);
    std::fs::create_dir(project.path().join("out")).expect("a folder");
    for _ in 0..2 {
        project.run(&["validate"]).status(0);
        project.run(&["up", "--yes"]).status(0);
    }
    // What the schema excludes is an error from the first run on.
    project.edit("d.yaml", "values.mode", "values.mood");
    let again = Project::empty();
    for file in ["purlin.yaml", "f.yaml", "d.yaml"] {
        again.write(file, std::fs::read(project.path().join(file)).expect("read"));
    }
    for project in [&project, &again] {
        let ran = project.run(&["up", "--yes"]).status(2);
        assert!(ran.err.contains("error[ignore-changes]"), "{}", ran.err);
    }
}

#[test]
fn invalid_names_and_folders_of_new_projects_are_rejected() {
    let project = Project::empty();
    for name in ["'", "\"", "${context.app.id}", "{{x}}", "Shop", "a#b", "a b"] {
        let ran = project.run(&["init", "new", "--app", name]).status(2);
        assert!(ran.err.contains("cannot be the name of the application"), "{}", ran.err);
    }
    project.run(&["init", "new", "--app", "12"]).status(0);
    project.run(&["validate", "new"]).status(0);
    std::fs::create_dir(project.path().join("inner")).expect("made");
    for arguments in [&["init", "inner/../.."][..], &["driver", "new", "..", "--lang", "rust"]] {
        let ran = project.run(arguments).status(2);
        assert!(ran.err.contains("contains the current folder"), "{}", ran.err);
    }
}

#[test]
fn an_empty_folder_is_rejected() {
    let project = deployed();
    std::fs::create_dir(project.path().join("empty")).expect("made");
    for command in [&["impact", "empty"][..], &["rollout", "start", "--yes", "empty"]] {
        project.run(command).status(2);
    }
}
