//! Tests of two runs at the same time.

use std::io::{BufRead as _, BufReader};

use crate::project::adversarial;

#[test]
fn a_second_deployment_reports_the_holder_of_the_lock() {
    let project = adversarial("{do: sleep, ms: 2500}", "{time: 20s}");
    let mut first = project.start(&["up", "--yes", "--format", "json"]);
    let mut lines = BufReader::new(first.stdout.take().expect("stdout")).lines();
    assert!(lines.by_ref().map(|line| line.expect("a line")).any(|line| line.contains("thing.default")));
    for arguments in [&["up", "--yes"][..], &["destroy", "--yes"], &["state", "key", "rotate"]] {
        let second = project.run(arguments).status(1);
        let holder = format!("(`purlin up`, process {})", first.id());
        assert!(
            second.err.contains("ada on ") && second.err.contains(&holder),
            "{arguments:?}: {}",
            second.err
        );
        assert!(second.err.contains("hint: "), "{}", second.err);
    }
    let rest: Vec<String> = lines.map(|line| line.expect("a line")).collect();
    assert!(first.wait().expect("ended").success(), "{rest:?}");
    assert_eq!(project.recorded().len(), 2 + 1);
}

#[test]
fn others_read_and_deploy_elsewhere_meanwhile() {
    let project = adversarial("{do: sleep, ms: 6000}", "{time: 30s}");
    let begun = |lines: &mut std::io::Lines<BufReader<std::process::ChildStdout>>| {
        lines.map(|line| line.expect("a line")).any(|line| line.contains("thing.default"))
    };
    let mut first = project.start(&["up", "--yes", "--format", "json"]);
    let mut lines = BufReader::new(first.stdout.take().expect("stdout")).lines();
    assert!(begun(&mut lines));
    for arguments in [
        &["state", "list"][..],
        &["status"],
        &["plan"],
        &["history"],
        &["env", "list"],
        &["outputs"],
        &["state", "repair", "--check"],
        &["doctor"],
    ] {
        let read = project.run(arguments);
        // `state list` reports the running deployment, but does not wait for it.
        assert!(!read.err.contains("error:"), "{arguments:?}: {}", read.err);
        assert_eq!(read.err.contains("is in use by"), arguments == ["state", "list"], "{}", read.err);
    }
    let history = project.run(&["history"]).status(0).out;
    assert!(history.contains("unfinished"), "{history}");
    let mut second = project.start(&["up", "--yes", "--env", "other", "--format", "json"]);
    let mut others = BufReader::new(second.stdout.take().expect("stdout")).lines();
    assert!(begun(&mut others), "another environment is another deployment");
    assert!(first.try_wait().expect("asks").is_none(), "both are at work");
    assert!(second.wait().expect("ended").success());
    assert!(first.wait().expect("ended").success());
    let known = project.run(&["env", "list", "--format", "json"]).status(0).json();
    let known: Vec<_> = known["environments"].as_array().expect("a list").iter().collect();
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(known.iter().all(|one| one["last"]["outcome"] == "succeeded"), "{known:?}");
}
