//! Tests of the drivers in this repository, with the cases next to them.

use purlin_systems::tools::root;

use crate::bench::{bench, checked, rules};

/// Drivers that are checked here, with their grants. Drivers of real systems need servers, and are
/// checked together with those.
const OURS: [(&str, &str); 5] = [
    ("echo", "{}"),
    ("template", "{}"),
    ("random", "{}"),
    ("dns-wildcard", "{}"),
    ("file", "{purlin/file: {grants: {dirs: [{host: ./data, guest: /data, mode: rw}]}}}"),
];

#[test]
fn our_drivers_keep_every_rule() {
    for (name, drivers) in OURS {
        let bench = bench(drivers);
        let cases = root().join(format!("drivers/{name}/check.yaml"));
        let driver = format!("purlin/{name}");
        let cases = cases.to_str().expect("UTF-8");
        let ran = checked(&bench, &[&driver, "--cases", cases, "--format", "json"]);
        let report = ran.json();
        assert_eq!(rules(&report, "failed"), Vec::<String>::new(), "{name}: {report:#}");
        assert_eq!(ran.status, 0, "{name}");
        assert!(rules(&report, "ok").len() >= 18, "{name}: {report:#}");
        let files = std::fs::read_dir(bench.path().join("data")).expect("read");
        for file in files {
            let folder = file.expect("a file").path();
            let left: Vec<_> = std::fs::read_dir(&folder).expect("read").collect();
            assert!(left.is_empty(), "{name} left {left:?}");
        }
    }
}
