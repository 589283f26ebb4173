//! Tests that no command with effects acts without consent (SPEC §9).

use purlin_systems::project::{Project, ran};

use crate::terminal::typed;

/// All commands that can change something real, with the arguments that they need to ask for
/// consent.
const WITH_EFFECTS: [&[&str]; 5] = [
    &["up"],
    &["apply", "kept.plan"],
    &["destroy"],
    &["import", "dns#modules.web.externals.site", "x"],
    &["rollback", "1"],
];

fn deployed() -> Project {
    let project = Project::new();
    project.run(&["up", "--yes"]).status(0);
    project.edit("platform/dns.yaml", "domain: example.test", "domain: changed.test");
    project.run(&["plan", "--out", "kept.plan"]).status(0);
    project
}

#[test]
fn without_a_terminal_every_command_with_effects_requires_yes() {
    let project = deployed();
    let before = project.run(&["state", "list", "--format", "json"]).status(0).out;
    let history = project.run(&["history", "--format", "json"]).status(0).out;
    for arguments in WITH_EFFECTS {
        let refused = project.run(arguments).status(2);
        let command = arguments[0];
        let shows = match command {
            "destroy" => "; `purlin state list` shows what there is to delete",
            "rollback" => "; `purlin diff` only shows what would happen",
            // A plan does not contain the adoption.
            "import" => "",
            _ => "; `purlin plan` only shows what would happen",
        };
        assert_eq!(
            refused.err,
            format!(
                "error: there is no terminal to ask for confirmation\n\
                 hint: with `--yes`, the same command applies without asking{shows}\n"
            )
        );
        let json = project.run(&[arguments, &["--format", "json"]].concat()).status(2).events();
        assert_eq!(json.len(), 1, "{json:?}");
        assert_eq!(json[0]["error"]["message"], "`--format json` cannot ask for confirmation");
    }
    assert_eq!(project.run(&["state", "list", "--format", "json"]).status(0).out, before);
    assert_eq!(project.run(&["history", "--format", "json"]).status(0).out, history);
}

#[test]
fn piped_input_is_not_consent() {
    let project = Project::new();
    let mut command = project.command(&["up"]);
    command.stdin(std::fs::File::open("/dev/zero").expect("there"));
    ran(command).status(2);
    assert!(!project.has_state());
}

#[test]
fn on_a_terminal_anything_but_a_yes_is_a_no() {
    let project = Project::new();
    for answer in ["\n", "n\n", "nope\n", "yess\n"] {
        let Some(refused) = typed(&project, &["up"], answer) else { return };
        let refused = refused.status(1);
        assert!(refused.out.contains("Apply these changes? [y/N]"), "{}", refused.out);
        assert!(refused.out.contains("Nothing was changed."), "{}", refused.out);
        assert!(project.recorded().is_empty());
    }
    let Some(done) = typed(&project, &["up"], "y\n") else { return };
    done.status(0);
    assert!(!project.recorded().is_empty());
    // With JSON output, a program reads the output, and it cannot answer questions.
    let Some(json) = typed(&project, &["destroy", "--format", "json"], "y\n") else { return };
    json.status(2);
    assert!(!project.recorded().is_empty());
}
