//! Every file that a command opens (`docs/src/reference/files.md`): none is read without a limit, no pipe and
//! no device is waited for, and nothing is written through a link.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use purlin_systems::project::{Project, Ran, ran};

/// Runs a command that must end: one that waits for a pipe, or reads a device, never does.
#[track_caller]
fn run(project: &Project, arguments: &str) -> Ran {
    let ran = project.run(&arguments.split(' ').collect::<Vec<_>>());
    assert!(!ran.err.contains("panicked"), "{arguments}: {}", ran.err);
    ran
}

/// A project with a state, an export, a lock and the project of a driver, and one copy of it for each thing
/// that is put in the place of a file.
struct Template {
    project: Project,
}

impl Template {
    fn new() -> Self {
        let project = Project::new();
        project.write("purlin.lock", "apiVersion: purlin.dev/v1\nkind: Lock\nspec: {drivers: {}}\n");
        for arguments in ["up --yes", "export out", "plan --out saved.plan", "driver new acme --lang c"] {
            run(&project, arguments).status(0);
        }
        run(&project, "state export state.export").status(0);
        // The holder of a process that was killed.
        let environments = fs::read_dir(project.path().join(".purlin/environments")).expect("there");
        for environment in environments {
            fs::write(environment.expect("there").path().join("holder.json"), "{}").expect("written");
        }
        Self { project }
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        walk(self.project.path(), &mut |path| {
            files.push(path.strip_prefix(self.project.path()).expect("below").to_owned());
        });
        files.retain(|file| !file.starts_with("acme") || file.ends_with("purlin/sdk.json"));
        files
    }

    fn copy(&self) -> Project {
        let copy = Project::empty();
        walk(self.project.path(), &mut |path| {
            let to = copy.path().join(path.strip_prefix(self.project.path()).expect("below"));
            fs::create_dir_all(to.parent().expect("a folder")).expect("made");
            fs::copy(path, to).expect("copied");
        });
        copy
    }
}

fn walk(folder: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).expect("there") {
        let path = entry.expect("there").path();
        match path.is_dir() {
            true => walk(&path, each),
            false => each(&path),
        }
    }
}

/// Commands that open this file.
fn commands(file: &Path) -> &'static [&'static str] {
    let begins = |part: &str| file.starts_with(part);
    if begins(".purlin") {
        &["state list", "up --yes"]
    } else if begins("out") {
        &["export out"]
    } else if begins("acme") {
        &["driver new acme --upgrade"]
    } else if begins("saved.plan") {
        &["apply saved.plan --yes"]
    } else if begins("state.export") {
        &["state import state.export"]
    } else {
        &["up --yes"]
    }
}

#[test]
fn no_file_of_a_project_is_waited_for_or_read_or_written_through_a_link() {
    let template = Template::new();
    let files = template.files();
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        // What a command that only the user names may read as it comes.
        let is_named = [Path::new("saved.plan"), Path::new("state.export")].contains(&&*file);
        for kind in ["pipe", "device", "link"] {
            if is_named && kind == "pipe" {
                continue;
            }
            let project = template.copy();
            let (at, victim) = (project.path().join(&file), Project::empty());
            let victim = victim.path().join("victim");
            fs::create_dir_all(victim.parent().expect("a folder")).expect("made");
            let before = fs::read(&at).expect("read");
            fs::write(&victim, &before).expect("written");
            fs::remove_file(&at).expect("removed");
            match kind {
                "pipe" => {
                    let pipe = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
                    rustix::fs::mknodat(rustix::fs::CWD, &at, pipe.0, pipe.1, 0).expect("a pipe");
                }
                "device" => symlink("/dev/zero", &at).expect("a link"),
                _ => symlink(&victim, &at).expect("a link"),
            }
            for command in commands(&file) {
                run(&project, command);
                let after = fs::read(&victim).expect("read");
                assert!(
                    after == before,
                    "`{command}` wrote through a link in the place of {}",
                    file.display()
                );
            }
        }
    }
}

/// Files that the user names may be pipes, and are read within a limit.
#[test]
fn what_the_user_names_is_read_within_a_limit() {
    let project = Project::new();
    run(&project, "up --yes").status(0);
    for command in [
        "validate /dev/zero",
        "validate -f /dev/zero",
        "validate . --values /dev/zero",
        "validate . --params /dev/zero",
        "validate . --credentials /dev/zero",
        "apply /dev/zero --yes",
        "state import /dev/zero",
        "state key rotate --to /dev/zero",
        "driver inspect /dev/zero",
        "driver check /dev/zero",
        "driver add /dev/zero",
        "driver build /dev/zero --output x.wasm",
        "driver run purlin/random read /dev/zero",
    ] {
        let ran = run(&project, command);
        assert_ne!(ran.status, 0, "{command}: {}", ran.out);
    }
}

/// Standard input is read within a limit, too.
#[test]
fn standard_input_without_an_end_is_not_read_to_its_end() {
    let project = Project::new();
    for arguments in [&["validate", "-"][..], &["driver", "run", "purlin/random", "read", "-"]] {
        let mut command = project.command(arguments);
        command.stdin(fs::File::open("/dev/zero").expect("opened"));
        let ran = ran(command).status(2);
        assert!(ran.err.contains("standard input is larger than 64 MiB"), "{arguments:?}: {}", ran.err);
    }
}

/// A repository may contain a link in the place of a folder that a command writes to.
#[test]
fn nothing_is_written_into_a_folder_behind_a_link() {
    for (command, link) in [
        ("export out", "out/workloads"),
        ("init new", "new/platform"),
        ("init new", "new/apps"),
        ("driver new new --lang rust", "new/src"),
    ] {
        let project = Project::new();
        run(&project, "up --yes").status(0);
        let elsewhere = Project::empty();
        let at = project.path().join(link);
        fs::create_dir_all(at.parent().expect("a folder")).expect("made");
        symlink(elsewhere.path(), &at).expect("a link");
        let ran = run(&project, command).status(2);
        assert!(ran.err.contains("is a link"), "{command}: {}", ran.err);
        assert_eq!(fs::read_dir(elsewhere.path()).expect("there").count(), 0, "{command}");
        // The folder itself may be one: the user names it.
        let at = project.path().join("named");
        symlink(elsewhere.path(), &at).expect("a link");
        run(&project, "export named").status(0);
    }
}
