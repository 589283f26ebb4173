//! Ways out of granted folders, and writes to read-only ones.

use std::path::Path;
use std::time::SystemTime;

use purlin_model::DirGrant;
use serde_json::json;

use crate::harness::{Attack, attack, quietly};

const OUTSIDE: &str = "kept outside";

/// `rw` and `ro` are granted, `outside` is not; links created beforehand lead there.
struct GrantedFolders {
    folder: tempfile::TempDir,
    /// When the read-only file was written.
    written: SystemTime,
}

impl GrantedFolders {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut folders = Self { folder, written: SystemTime::UNIX_EPOCH };
        for folder in ["rw", "ro", "outside", "rw/real"] {
            std::fs::create_dir(folders.at(folder)).expect("made");
        }
        for (file, text) in [
            ("outside/file", OUTSIDE),
            ("rw/file", "inside"),
            ("rw/real/file", "inside"),
            ("ro/file", "to be read"),
        ] {
            std::fs::write(folders.at(file), text).expect("written");
        }
        for folder in ["rw", "ro"] {
            for (target, link) in [
                ("../outside/file", "link"),
                ("../outside", "folder-link"),
                ("/etc/passwd", "absolute-link"),
                ("/", "root-link"),
                ("/proc/self", "proc-link"),
                ("link", "link-to-link"),
                (".", "here"),
                ("self", "self"),
            ] {
                std::os::unix::fs::symlink(target, folders.at(folder).join(link)).expect("linked");
            }
        }
        folders.written = folders.modified();
        folders
    }

    fn modified(&self) -> SystemTime {
        std::fs::metadata(self.at("ro/file")).expect("there").modified().expect("a time")
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    fn attack(&self, name: &str) -> Attack {
        let dir = |host: &str, writable| DirGrant {
            host: host.into(),
            guest: format!("/{host}"),
            writable,
            ..DirGrant::default()
        };
        let folder = self.folder.path().to_owned();
        attack(name).set(|setup| {
            setup.grants.dirs = vec![dir("rw", true), dir("ro", false)];
            setup.folder = folder;
        })
    }

    fn op(&self, op: &str, path: &str) -> Attack {
        self.attack("file").with("op", op).with("path", path)
    }

    /// Checks what must not have changed.
    fn untouched(&self) {
        assert_eq!(std::fs::read_to_string(self.at("outside/file")).expect("there"), OUTSIDE);
        let names = |path: &Path| {
            let mut names: Vec<_> = std::fs::read_dir(path)
                .expect("a folder")
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(&self.at("outside")), ["file"]);
        assert_eq!(names(self.folder.path()), ["outside", "ro", "rw"]);
        assert_eq!(std::fs::read_to_string(self.at("ro/file")).expect("there"), "to be read");
        assert_eq!(self.modified(), self.written);
    }
}

#[test]
fn no_path_leads_out_of_a_granted_folder() {
    let folders = GrantedFolders::new();
    for path in [
        "../outside/file",
        "real/../../outside/file",
        "./../outside/file",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        "link",
        "folder-link/file",
        "absolute-link",
        "root-link/etc/passwd",
        "proc-link/environ",
        "proc-link/root/etc/passwd",
        "link-to-link",
        "here/../../outside/file",
        "here/here/folder-link/file",
        "self",
        "",
        "..",
        "file\0",
        "../outside/file\0.txt",
        "real/../..",
        "file/",
        "file/.",
        "folder-link/",
        "..\\outside\\file",
    ] {
        for folder in [0, 1] {
            folders.op("read", path).with("folder", folder).fails("ErrorCode::");
        }
    }
    folders.op("read", "file").answers("inside");
    folders.op("read", "here/real/../file").answers("inside");
    for path in ["..", "/", "folder-link", "root-link", "proc-link", "proc-link/fd"] {
        folders.op("list", path).fails("ErrorCode::");
        folders.op("stat", path).fails("ErrorCode::");
    }
    for op in ["write", "unlink", "make-folder", "remove-folder", "times", "truncate"] {
        for path in ["../outside/file", "../outside/new", "folder-link/file", "/tmp/purlin-zoo", "../new"] {
            folders.op(op, path).fails("ErrorCode::");
        }
    }
    folders.op("write", "link").fails("ErrorCode::");
    folders.untouched();
}

#[test]
fn links_that_guests_make_lead_out_of_no_folder() {
    let folders = GrantedFolders::new();
    for (target, path) in [
        ("../outside", "made-link/file"),
        ("../outside/file", "made-link"),
        ("/etc", "made-link/passwd"),
        ("real/../../outside", "made-link/file"),
        ("folder-link", "made-link/file"),
        ("/proc/self/cwd", "made-link/Cargo.toml"),
    ] {
        folders.op("symlink-and-read", target).with("to", path).fails("ErrorCode::");
        let _ = std::fs::remove_file(folders.at("rw/made-link"));
    }
    for op in ["link", "link-followed", "rename"] {
        for (from, to) in
            [("../outside/file", "stolen"), ("file", "../outside/new"), ("folder-link/file", "stolen")]
        {
            folders.op(op, from).with("to", to).fails("ErrorCode::");
        }
    }
    folders.op("link-followed", "link").with("to", "stolen").fails("ErrorCode::");
    assert!(!folders.at("rw/stolen").exists());
    folders.untouched();
}

#[test]
fn folders_granted_for_reading_stay_unchanged() {
    let folders = GrantedFolders::new();
    for (op, path) in [
        ("write", "file"),
        ("write", "new"),
        ("write-anyway", "file"),
        ("append-anyway", "file"),
        ("truncate", "file"),
        ("resize", "file"),
        ("times", "file"),
        ("times-of-open", "file"),
        ("unlink", "file"),
        ("make-folder", "new"),
        ("remove-folder", "."),
        ("write", "here/file"),
    ] {
        folders.op(op, path).with("folder", 1).fails("ErrorCode::");
    }
    for op in ["rename", "link", "symlink"] {
        folders.op(op, "file").with("folder", 1).with("to", "new").fails("ErrorCode::");
    }
    // From the other folder into the read-only one.
    for op in ["rename-across", "link-across"] {
        folders.op(op, "file").with("to", "file").fails("ErrorCode::");
        folders.op(op, "file").with("to", "new").fails("ErrorCode::");
        folders.op(op, "file").with("folder", 1).with("to", "new").fails("ErrorCode::");
    }
    assert!(!folders.at("ro/new").exists());
    folders.op("read", "file").with("folder", 1).answers("to be read");
    folders.untouched();
}

#[test]
fn links_that_change_meanwhile_lead_out_of_no_folder() {
    let folders = GrantedFolders::new();
    for _ in 0..3 {
        folders.attack("read-swapped").beside(json!({"attack": "swap-links"})).answers("found");
    }
    folders.untouched();
}

#[test]
fn pipes_without_a_writer_are_harmless() {
    let folders = GrantedFolders::new();
    let made = quietly(|| std::process::Command::new("mkfifo").arg(folders.at("rw/pipe")).status());
    let made = made.expect("mkfifo");
    assert!(made.success());
    folders.op("read", "pipe").briefly().harmless();
    folders.op("write", "pipe").briefly().harmless();
}

#[test]
fn only_granted_folders_exist() {
    attack("folders").answers(r#"{"folders":[]}"#);
    GrantedFolders::new().attack("folders").answers(r#"{"folders":["/rw","/ro"]}"#);
}
