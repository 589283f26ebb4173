//! Two at once.

use std::io::{BufRead as _, BufReader};

use crate::project::adversarial;

#[test]
fn a_second_deployment_is_told_who_is_at_work() {
    let project = adversarial("{do: sleep, ms: 2500}", "{time: 20s}");
    let mut first = project.start(&["up", "--yes", "--format", "json"]);
    let mut lines = BufReader::new(first.stdout.take().expect("stdout")).lines();
    assert!(lines.by_ref().map(|line| line.expect("a line")).any(|line| line.contains("thing.default")));
    for arguments in [&["up", "--yes"][..], &["destroy", "--yes"], &["state", "list"]] {
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
