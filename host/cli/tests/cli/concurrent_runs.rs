//! Tests of two runs at the same time.

use purlin_systems::project::ran_with;

use crate::gate::Gate;

#[test]
fn a_second_deployment_reports_the_holder_of_the_lock() {
    let mut gate = Gate::new();
    let project = gate.project();
    let first = project.start(&["up", "--yes", "--format", "json"]);
    gate.wait();
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
    gate.open();
    ran_with(first).status(0);
    assert_eq!(project.recorded().len(), 2 + 1);
}

#[test]
fn others_read_and_deploy_elsewhere_meanwhile() {
    let mut gate = Gate::new();
    let project = gate.project();
    let mut first = project.start(&["up", "--yes", "--format", "json"]);
    gate.wait();
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
    // Nothing was interrupted: the call is under way.
    let status = project.run(&["status"]).status(0).out;
    let holder = format!("(`purlin up`, process {})", first.id());
    assert!(status.contains("locked by ada on ") && status.contains(&holder), "{status}");
    assert!(status.contains("may still be running"), "{status}");
    let status = project.run(&["status", "--format", "json"]).status(0).json();
    assert!(status["locked_by"].as_str().is_some_and(|by| by.contains(&holder)), "{status}");
    let second = project.start(&["up", "--yes", "--env", "other", "--format", "json"]);
    // Another environment is another deployment, so now both are at work.
    gate.wait();
    assert!(first.try_wait().expect("a status").is_none(), "the first one still waits");
    gate.open();
    ran_with(second).status(0);
    ran_with(first).status(0);
    assert_eq!(
        project.run(&["status", "--format", "json"]).status(0).json()["locked_by"],
        serde_json::Value::Null
    );
    let known = project.run(&["env", "list", "--format", "json"]).status(0).json();
    let known: Vec<_> = known["environments"].as_array().expect("a list").iter().collect();
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(known.iter().all(|one| one["last"]["outcome"] == "succeeded"), "{known:?}");
}
