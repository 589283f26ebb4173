//! Floods of host resources, and of the results of host functions.

use purlin_model::DirGrant;

use crate::harness::{Attack, attack};

fn with_folder(name: &str, folder: &std::path::Path) -> Attack {
    std::fs::write(folder.join("file"), "text").expect("written");
    let dir = DirGrant { host: ".".into(), guest: "/data".into(), writable: true, ..DirGrant::default() };
    attack(name).set(|setup| {
        setup.grants.dirs = vec![dir];
        setup.folder = folder.to_owned();
    })
}

#[test]
fn handles_end_at_their_limit() {
    for name in ["hold-pollables", "hold-networks", "hold-fields", "hold-requests", "hold-streams"] {
        attack(name).fails("the driver `acme/bad` crashed: ");
    }
    attack("timers").fails("the driver `acme/bad` crashed: ");
}

#[test]
fn sockets_and_files_end_at_their_limit() {
    attack("hold-tcp").answers(r#"{"held":64}"#);
    attack("hold-udp").answers(r#"{"held":64}"#);
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["hold-files", "hold-folders", "hold-listings", "hold-file-writers", "hold-streams-of-files"]
    {
        with_folder(name, folder.path()).answers(r#"{"held":64}"#);
    }
    with_folder("hold-file-streams", folder.path()).fails("the driver `acme/bad` crashed: ");
}

#[test]
fn requests_to_servers_with_long_names_are_harmless() {
    // Copying four mebibytes so often exceeds the call's time on a busy machine.
    attack("hold-long-requests").harmless();
    attack("hold-long-requests").with("bytes", 10_000).answers(r#"{"held":900}"#);
    attack("hold-long-requests").with("bytes", 60).answers(r#"{"taken":1800}"#);
}

#[test]
fn folders_of_many_files_are_listed_completely() {
    let folder = tempfile::tempdir().expect("a folder");
    for n in 0..5_000 {
        std::fs::write(folder.path().join(format!("{n:0200}")), "").expect("written");
    }
    with_folder("list-folder", folder.path()).answers(r#"{"entries":5001,"more":false}"#);
    with_folder("hold-listings", folder.path()).answers(r#"{"held":64}"#);
}

#[test]
fn long_lists_of_handles_harm_nothing() {
    attack("poll-list").fails("the driver `acme/bad` crashed: ");
    attack("poll-list").with("handles", 500).answers(r#"{"ready":1}"#);
    attack("poll-list").with("handles", 900_000).harmless();
    attack("poll-list-of-ready").briefly().harmless();
    attack("poll-nothing").fails("empty poll list");
}

#[test]
fn headers_without_end_are_harmless() {
    attack("large-fields").harmless();
    attack("many-fields").harmless();
}

#[test]
fn a_program_has_an_empty_environment() {
    attack("exit").fails("exit status");
    attack("exit").with("status", 7).fails("exit status");
    attack("abort").fails("it panicked or aborted");
    attack("stdin").answers(r#"{"read":"","ok":true}"#);
    attack("environment").answers(r#"{"variables":0,"arguments":0}"#);
    attack("environment")
        .set(|setup| {
            setup.grants.env = vec!["A".into()];
            setup.env = [("A".to_owned(), "x".repeat(100_000))].into();
        })
        .harmless();
    attack("randomness").fails("the driver `acme/bad` crashed: ");
    attack("insecure-randomness").fails("the driver `acme/bad` crashed: ");
    attack("zeroes").fails("the driver `acme/bad` crashed: ");
}
