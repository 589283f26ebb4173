//! A workspace that another user may have written. It names programs that Purlin runs, so that it counts
//! only if only the user could have written it, or if the user names it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use purlin_systems::project::{Project, Ran, ran};

/// Another user, who has nothing to do with the one who runs the tests.
const OTHER: u32 = 65_534;

/// Every command that reads a workspace, with arguments that need no more than this one.
const COMMANDS: &[&str] = &[
    "validate",
    "graph",
    "explain dns.default#shared.a",
    "bundle explain acme/blog",
    "plan",
    "up --yes",
    "apply plan --yes",
    "reconcile --yes",
    "reconcile --all --yes",
    "refresh",
    "import dns.default#shared.a id --yes",
    "destroy --yes",
    "rollback 1 --yes",
    "history",
    "diff 1 2",
    "impact deploy.yaml",
    "status",
    "outputs",
    "export out",
    "state list",
    "installations list",
    "env list",
    "driver list",
    "doctor",
];

/// Commands that read none.
const WITHOUT: &[&str] = &["explain-error no-match", "schema definition", "completions bash", "init new"];

/// A folder `shared` with a workspace that names a program, and the folder `shared/mine` with documents.
struct Planted {
    project: Project,
}

impl Planted {
    fn new() -> Self {
        let project = Project::empty();
        let owned = project.path().join("owned");
        project.write(
            "shared/purlin.yaml",
            format!(
                "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{app: a, env: dev}}\n  \
                 key: {{command: [sh, -c, 'touch {}; exit 1']}}\n",
                owned.display()
            ),
        );
        project.write(
            "shared/mine/deploy.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {values: {}}\n",
        );
        project.write("shared/mine/plan", "purlin plan 1\n");
        Self { project }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.project.path().join(path)
    }

    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), Permissions::from_mode(mode)).expect("set");
    }

    fn run(&self, command: &str, variables: &[(&str, &str)]) -> Ran {
        let mut run = self.project.command(&command.split(' ').collect::<Vec<_>>());
        run.current_dir(self.at("shared/mine")).env_remove("SUDO_UID").envs(variables.iter().copied());
        ran(run)
    }

    #[track_caller]
    fn is_rejected(&self, why: &str) {
        for command in COMMANDS {
            let ran = self.run(command, &[]).status(2);
            assert!(
                ran.err.contains("may be another user's") && ran.err.contains(why),
                "{command}: {}",
                ran.err
            );
            assert!(ran.err.contains("PURLIN_WORKSPACE="), "{command}: {}", ran.err);
            assert!(!self.at("owned").exists(), "{command} ran the program");
            assert!(!self.at("shared/.purlin").exists(), "{command} wrote a state");
        }
        for command in WITHOUT {
            self.run(command, &[]).status(0);
        }
        fs::remove_dir_all(self.at("shared/mine/new")).expect("removed");
    }

    #[track_caller]
    fn is_accepted(&self, command: &str, variables: &[(&str, &str)]) {
        let ran = self.run(command, variables).status(0);
        assert!(!ran.err.contains("another user"), "{command}: {}", ran.err);
    }
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("SKIPPED: only root can give files to another user");
    }
    root
}

#[test]
fn a_workspace_that_everybody_may_write_is_rejected_unless_it_is_named() {
    for (path, mode) in [("shared", 0o1777), ("shared/purlin.yaml", 0o666)] {
        let planted = Planted::new();
        planted.mode(path, mode);
        planted.is_rejected("every user of this machine may write to");
        planted.is_accepted("validate -f .. -f .", &[]);
        planted.is_accepted("validate ..", &[]);
        planted.is_accepted("validate", &[("PURLIN_WORKSPACE", "..")]);
        planted.is_accepted("validate", &[("PURLIN_WORKSPACE", "../purlin.yaml")]);
        planted.is_accepted("driver list", &[("PURLIN_WORKSPACE", "..")]);
        planted.is_accepted("driver list -f ../purlin.yaml", &[]);
        for command in ["validate", "state list", "status", "env list"] {
            let missing = planted.run(command, &[("PURLIN_WORKSPACE", "nothing.yaml")]).status(2);
            assert!(missing.err.contains("PURLIN_WORKSPACE names it"), "{command}: {}", missing.err);
            let other = planted.run(command, &[("PURLIN_WORKSPACE", "/dev/null")]).status(2);
            assert!(other.err.contains("`/dev/null` contains no Workspace"), "{command}: {}", other.err);
        }
        planted.mode(path, 0o775);
        planted.is_accepted("validate", &[]);
    }
}

#[test]
fn a_workspace_of_another_user_is_rejected_unless_the_user_called_sudo() {
    if !is_root() {
        return;
    }
    let give = |path: &Path| chown(path, Some(OTHER), None).expect("given");
    for path in ["shared", "shared/purlin.yaml", "shared/purlin.lock", "shared/.purlin"] {
        let planted = Planted::new();
        if path.ends_with("lock") {
            planted.project.write(path, "apiVersion: purlin.dev/v1\nkind: Lock\nspec: {drivers: {}}\n");
        } else if path.ends_with(".purlin") {
            fs::create_dir(planted.at(path)).expect("made");
        }
        give(&planted.at(path));
        let ran = planted.run("validate", &[]).status(2);
        assert!(ran.err.contains("belongs to another user"), "{path}: {}", ran.err);
        planted.is_accepted("validate", &[("SUDO_UID", "65534")]);
        planted.run("validate", &[("SUDO_UID", "65533")]).status(2);
        planted.run("validate", &[("SUDO_UID", "root")]).status(2);
    }
    let planted = Planted::new();
    give(&planted.at("shared/purlin.yaml"));
    planted.is_rejected("belongs to another user");
    // As another user, that of the files and that of neither.
    let planted = Planted::new();
    for path in ["", "shared", "shared/mine", "shared/purlin.yaml", "shared/mine/deploy.yaml"] {
        give(&planted.at(path));
    }
    for (user, status) in [(OTHER, 0), (OTHER - 1, 2)] {
        let mut run = std::process::Command::new("setpriv");
        let program = planted.project.command(&[]);
        run.args([format!("--reuid={user}"), "--clear-groups".into()]).arg(program.get_program());
        run.args(["validate", "--offline"]).current_dir(planted.at("shared/mine")).env_remove("SUDO_UID");
        match run.output() {
            Ok(output) if output.stderr.starts_with(b"setpriv") => {
                println!("SKIPPED: no right to change the user")
            }
            Ok(output) => assert_eq!(output.status.code(), Some(status), "{output:?}"),
            Err(error) => println!("SKIPPED: no setpriv: {error}"),
        }
    }
}

#[test]
fn a_state_that_everybody_may_write_is_rejected_unless_it_is_named() {
    let planted = Planted::new();
    fs::remove_file(planted.at("shared/purlin.yaml")).expect("removed");
    fs::create_dir(planted.at("shared/mine/.purlin")).expect("made");
    planted.mode("shared/mine/.purlin", 0o777);
    let ran = planted.run("state list", &[]).status(2);
    assert!(ran.err.contains("may be another user's") && ran.err.contains("--state .purlin"), "{}", ran.err);
    planted.run("state list --state .purlin", &[]).status(0);
}

/// The paths of a document lead no further because somebody else wrote a workspace file above it.
#[test]
fn a_workspace_of_another_user_widens_no_folder() {
    let planted = Planted::new();
    planted.project.write(
        "shared/web.yaml",
        "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: nginx}}\n",
    );
    planted.project.write(
        "shared/mine/deploy.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  workloads: [{score: ../web.yaml}]\n",
    );
    let run = |arguments: &str, variables: &[(&str, &str)]| {
        let mut run = planted.project.command(&arguments.split(' ').collect::<Vec<_>>());
        run.env_remove("SUDO_UID").envs(variables.iter().copied());
        ran(run)
    };
    let alone = "graph shared/mine/deploy.yaml --app a --env dev";
    run(alone, &[]).status(0);
    for (path, mode) in [("shared", 0o1777), ("shared/purlin.yaml", 0o666)] {
        planted.mode(path, mode);
        let done = run(alone, &[]).status(2);
        assert!(done.err.contains("error[outside-path]"), "{}", done.err);
        // What the user names counts.
        run(&format!("{alone} shared/purlin.yaml"), &[]).status(0);
        run(&format!("{alone} shared"), &[]).status(0);
        run(alone, &[("PURLIN_WORKSPACE", "shared")]).status(0);
        planted.mode(path, 0o755);
    }
}

/// Shells complete nothing from a file of another user, and say nothing.
#[test]
fn completion_reads_no_workspace_of_another_user() {
    let planted = Planted::new();
    planted.project.write(
        "shared/purlin.yaml",
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  environments: {planted: {type: development}}\n",
    );
    let completed = || {
        let mut run = planted.project.command(&["--", "purlin", "up", "--env", ""]);
        run.current_dir(planted.at("shared/mine")).env_remove("SUDO_UID");
        run.env("PURLIN_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "3");
        run.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_IFS", "\n");
        ran(run).out
    };
    assert!(completed().contains("planted"));
    planted.mode("shared", 0o777);
    assert!(!completed().contains("planted"));
}
