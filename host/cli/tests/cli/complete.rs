//! Tests of shell completion, with the requests that bash makes.

use purlin_systems::project::{Project, ran};

/// The candidates that bash gets for the last word.
fn offered(project: &Project, words: &[&str]) -> Vec<String> {
    let mut arguments = vec!["--", "purlin"];
    arguments.extend(words);
    let mut command = project.command(&arguments);
    command
        .env("PURLIN_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_IFS", "\n");
    let answered = ran(command);
    assert_eq!(answered.err, "", "{words:?}: nothing but words is printed");
    answered.out.lines().map(str::to_owned).collect()
}

#[test]
fn keys_environments_files_and_more_are_completed() {
    let project = Project::new();
    assert_eq!(offered(&project, &["expl"]), ["explain", "explain-error"]);
    assert_eq!(offered(&project, &["explain-error", "no-mat"]), ["no-match"]);
    let keys = offered(&project, &["explain", ""]);
    assert!(keys.contains(&"workload#modules.web".to_owned()), "{keys:?}");
    assert_eq!(offered(&project, &["plan", "--target", "workl"]), ["workload#modules.web"]);
    assert!(!project.has_state(), "asking makes no state");
    assert!(offered(&project, &["state", "show", "w"]).is_empty());
    assert!(offered(&project, &["plan", "--out"]).contains(&"--out".to_owned()));
    let files = offered(&project, &["validate", "-f", ""]);
    assert!(files.iter().any(|file| file == "purlin.yaml"), "{files:?}");
    assert!(offered(&project, &["driver", "inspect", "purlin/ec"]).contains(&"purlin/echo".to_owned()));

    project.run(&["up", "--yes", "--env", "staging"]).status(0);
    assert_eq!(offered(&project, &["plan", "--env", "stag"]), ["staging"]);
    let recorded = offered(&project, &["state", "show", "--env", "staging", "work"]);
    assert_eq!(recorded, ["workload#modules.web"]);
    assert_eq!(offered(&project, &["rollback", "--env", "staging", ""])[..2], ["1", "latest"]);
}

#[test]
fn words_of_other_tools_are_not_offered() {
    let project = Project::empty();
    let commands = offered(&project, &[""]);
    for hidden in ["output", "preview", "deploy", "down", "version"] {
        assert!(!commands.contains(&hidden.to_owned()), "{commands:?}");
    }
    let options = offered(&project, &["up", "--"]);
    assert!(options.contains(&"--yes".to_owned()), "{options:?}");
    for hidden in ["--auto-approve", "--json", "--output", "--var", "--stack", "--no-color"] {
        assert!(!options.contains(&hidden.to_owned()), "{options:?}");
    }
}

#[test]
fn completion_ignores_errors() {
    let project = Project::with(&[
        ("broken.yaml", "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {\n"),
        (
            "app.yaml",
            "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: nginx}}\nresources: {db: {type: postgres}}\n",
        ),
    ]);
    assert!(
        offered(&project, &["explain", "post"]).contains(&"postgres#modules.web.externals.db".to_owned())
    );
    let elsewhere = Project::with(&[("purlin.yaml", "apiVersion: [\n")]);
    assert!(offered(&elsewhere, &["explain", "w"]).is_empty());
    let command = Project::with(&[(
        "purlin.yaml",
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  key: {command: [touch, ran]}\n",
    )]);
    command.write(".purlin/format", "");
    offered(&command, &["state", "show", ""]);
    assert!(!command.path().join("ran").exists(), "no command is run");
}

#[test]
fn bash_completes_with_the_script() {
    let project = Project::new();
    let script = project.run(&["completions", "bash"]).status(0).out;
    project.write("completion.sh", script);
    let program = "source ./completion.sh
        COMP_WORDS=(purlin explain work) COMP_CWORD=2 COMP_TYPE=9
        _clap_complete_purlin purlin work explain
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut command = std::process::Command::new("bash");
    command.args(["--norc", "-c", program]).current_dir(project.path());
    let output = command.output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "workload#modules.web\n");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = project.run(&["completions", shell]).status(0).out;
        assert!(script.contains("PURLIN_COMPLETE"), "{shell}: {script}");
    }
}
