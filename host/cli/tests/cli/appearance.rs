//! Tests of the appearance: colour, width, closed pipes, and attempts of drivers to control the
//! terminal.

use std::process::Stdio;

use purlin_systems::project::{Project, ran};

use crate::adversary::adversarial;

#[test]
fn colour_appears_only_where_it_is_wanted() {
    let project = Project::new();
    let coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = project.command(arguments);
        command.envs(variables.iter().copied());
        let ran = ran(command);
        (ran.out.contains('\u{1b}'), ran.err.contains('\u{1b}'))
    };
    assert_eq!(coloured(&["plan"], &[]), (false, false));
    assert_eq!(coloured(&["plan", "--color", "always"], &[]), (true, false));
    assert_eq!(coloured(&["plan", "--color", "always"], &[("NO_COLOR", "1")]), (true, false));
    assert_eq!(coloured(&["plan", "--color", "never"], &[("CLICOLOR_FORCE", "1")]), (false, false));
    assert_eq!(coloured(&["graph"], &[("CLICOLOR_FORCE", "1")]), (true, false));
    assert_eq!(coloured(&["upp", "--color=always"], &[]), (false, true));
    assert_eq!(coloured(&["graph", "--format", "json", "--color", "always"], &[]), (false, false));
}

#[test]
fn a_plan_fits_into_80_columns() {
    let project = Project::new();
    let mut command = project.command(&["plan"]);
    command.env("COLUMNS", "80");
    let text = ran(command).status(0).out;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_graph_reads_as_a_tree() {
    let project = Project::new();
    insta::assert_snapshot!(project.run(&["graph"]).status(0).out);
}

#[test]
fn a_resource_is_explained() {
    let project = Project::new();
    insta::assert_snapshot!(project.run(&["explain", "postgres#modules.web.externals.db"]).status(0).out);
}

#[test]
fn an_explanation_fits_into_80_columns() {
    let project = Project::new();
    let explained = |columns: &str| {
        let mut command = project.command(&["explain", "postgres#modules.web.externals.db"]);
        command.env("COLUMNS", columns);
        ran(command).status(0).out
    };
    for columns in [40, 60, 80] {
        let text = explained(&columns.to_string());
        // A word, such as a placeholder, is not broken.
        let fits = |line: &str| line.chars().count() <= columns || line.trim().split(' ').count() <= 2;
        assert!(text.lines().all(fits), "{columns}: {text}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&text), words(&explained("200")));
    }
}

#[test]
fn every_format_of_a_graph_is_the_same_each_time() {
    let project = Project::new();
    for format in ["tree", "json", "dot", "mermaid", "svg", "html"] {
        let once = project.run(&["graph", "--format", format]).status(0).out;
        assert_eq!(once, project.run(&["graph", "--format", format]).status(0).out);
        assert!(once.contains("postgres"), "{format}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let project = Project::new();
    for arguments in
        [&["graph"][..], &["up", "--yes", "--format", "json"], &["--help"], &["completions", "bash"]]
    {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = project.command(arguments);
        command.stdout(writer).stderr(Stdio::piped());
        let output = command.spawn().expect("started").wait_with_output().expect("done");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            if arguments[0] == "up" {
                "note: created `.purlin/key`, which encrypts the secrets in the state; back it up: without it they cannot be recovered\n"
            } else {
                ""
            },
            "{arguments:?}"
        );
    }
    assert_eq!(project.recorded().len(), 5, "a run goes on though nobody listens");
}

#[test]
fn a_full_disk_is_reported() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        println!("skipped: no /dev/full here");
        return;
    };
    let project = Project::new();
    let mut command = project.command(&["graph"]);
    command.stdout(full).stderr(Stdio::piped());
    let output = command.spawn().expect("started").wait_with_output().expect("done");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}

#[test]
fn a_driver_cannot_reach_the_terminal() {
    let project =
        adversarial("{do: echo, text: \"a\\e]0;title\\a\\e[2J\\u202Eb\", more: \"\\x9b31m\"}", "{}");
    for arguments in [
        &["plan", "--verbose"][..],
        &["up", "--yes", "-v"],
        &["outputs"],
        &["outputs", "--format", "json"],
        &["state", "show", "thing#shared.one"],
        &["state", "list"],
        &["graph", "--format", "svg"],
    ] {
        let ran = project.run(arguments).status(0);
        for text in [&ran.out, &ran.err] {
            let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(bad, None, "{arguments:?}: {text:?}");
        }
    }
}

#[test]
fn a_driver_without_end_is_stopped() {
    // The time limit also applies to the calls before the endless one, which must not exceed it.
    for (values, limits, message) in [
        ("{do: loop}", "{time: 10s}", "its time limit"),
        ("{do: alloc}", "{memory: 16MiB}", "its memory limit"),
        ("{do: huge}", "{output: 64KiB}", "its output limit"),
        ("{do: junk}", "{}", "broke its contract"),
        ("{do: trap}", "{}", "crashed"),
    ] {
        let project = adversarial(values, limits);
        let ran = project.run(&["up", "--yes"]).status(1);
        assert!(ran.err.contains("= note: for `thing.default#shared.one`\n"), "{}", ran.err);
        assert!(ran.err.contains(message), "{values}: {}", ran.err);
        assert!(ran.err.contains("1 failed"), "{}", ran.err);
        assert!(project.recorded().contains(&"dns.default#shared.two".to_owned()), "the rest is made");
    }
}

#[test]
fn timings_name_drivers() {
    let project = Project::new();
    let ran = project.run(&["up", "--yes", "--timings"]).status(0);
    for part in ["load documents", "plan", "apply", "in all", "purlin/random"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

#[test]
fn the_doctor_looks_at_everything() {
    let project = Project::new();
    let well = project.run(&["doctor"]).status(0);
    assert!(well.out.contains("ok    workspace"), "{}", well.out);
    assert!(!project.has_state(), "looking makes nothing");
    project.write("bad.wasm", "no");
    project.edit("purlin.yaml", "spec:", "spec:\n  drivers: {acme/x: {source: bad.wasm}}");
    let ill = project.run(&["doctor"]).status(1);
    assert!(ill.out.contains("fail  driver     acme/x"), "{}", ill.out);
    let list = project.run(&["driver", "list", "--format", "json"]).status(1).json();
    let names: Vec<&str> = list["drivers"]
        .as_array()
        .expect("drivers")
        .iter()
        .map(|d| d["name"].as_str().expect("a name"))
        .collect();
    assert!(names.contains(&"purlin/template") && names.contains(&"acme/x"), "{names:?}");
}

#[test]
fn completions_and_schemas_exist() {
    let project = Project::empty();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(project.run(&["completions", shell]).status(0).out.contains("purlin"), "{shell}");
    }
    for kind in ["definition", "score", "deployment", "deployment-set", "resource-type", "workspace"] {
        let schema = project.run(&["schema", kind]).status(0).json();
        assert!(schema.is_object(), "{kind}");
    }
}
