//! Checks that no command was forgotten: each one is either interrupted in another test, or writes
//! nothing.

use crate::cases::CASES;
use crate::disk::Disk;
use crate::record;
use crate::scene::{BEFORE, Scene};

const A: &str = "thing.default#shared.a";

const BUNDLE: &str = "apiVersion: purlin.dev/v1\nkind: Bundle\nmetadata: {name: acme/app, version: 1.0.0}\nspec: {outputs: []}\n";

/// The commands that only read, with arguments to run them.
const READS: &[&[&str]] = &[
    &["validate"],
    &["graph"],
    &["explain", A],
    &["explain-error", "no-match"],
    &["bundle", "explain", "bundle.yaml"],
    &["plan"],
    &["history"],
    &["audit"],
    &["diff"],
    &["impact", "."],
    &["rollout", "list"],
    &["rollout", "status"],
    &["status"],
    &["outputs"],
    &["state", "list"],
    &["state", "show", A],
    &["state", "repair", "--check"],
    // A state in a folder needs no preparation.
    &["state", "init"],
    &["state", "key", "show"],
    &["installations", "list"],
    &["env", "list"],
    &["env", "show"],
    &["driver", "list"],
    &["driver", "inspect", "acme/ledger"],
    &["driver", "run", "acme/ledger", "describe"],
    &["driver", "check", "purlin/echo"],
    &["schema", "definition"],
    &["doctor"],
    &["completions", "bash"],
];

/// This command runs the build tools of a language, which write what they want and can be run
/// again.
const ELSEWHERE: &[&str] = &["driver build"];

/// All commands without subcommands.
fn commands() -> Vec<String> {
    let help = Scene::new(BEFORE).run(&["markdown-help"]);
    let headings = help.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(" purlin "));
    let all: Vec<&str> = headings.collect();
    let is_leaf = |name: &&&str| !all.iter().any(|other| other.starts_with(&format!("{name} ")));
    all.iter().filter(is_leaf).map(|name| (**name).to_owned()).collect()
}

#[test]
fn each_command_is_cut_off_or_writes_nothing() {
    let cut: Vec<String> = CASES.iter().map(|case| case.command.join(" ") + " ").collect();
    let read: Vec<String> = READS.iter().map(|command| command.join(" ") + " ").collect();
    let all = commands();
    assert!(all.len() > 40, "{all:?}");
    for command in all {
        let is = |known: &String| known.starts_with(&format!("{command} "));
        let known = cut.iter().chain(&read).any(is) || ELSEWHERE.contains(&command.as_str());
        assert!(known, "`purlin {command}` is neither in `CASES` nor in `READS`");
    }
    if purlin_systems::tools::need("strace").is_none() {
        return;
    }
    let scene = Scene::new(BEFORE);
    std::fs::write(scene.path().join("bundle.yaml"), BUNDLE).expect("written");
    scene.run(&["up", "--yes"]);
    scene.run(&["rollout", "start", ".", "--yes"]);
    let disk = Disk::of(scene.path(), &[]);
    for command in READS {
        let mut deeds = record::run(&scene, &disk, command).expect("it succeeds").deeds;
        // sled writes to the index whenever it opens it; everything in it is in the journals, too.
        deeds.retain(|deed| !deed.path().is_none_or(|path| path.starts_with(".purlin/index")));
        assert!(deeds.is_empty(), "`purlin {}` only reads, but did {deeds:?}", command.join(" "));
    }
}
