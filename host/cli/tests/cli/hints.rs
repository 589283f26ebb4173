//! Snapshots of standard error and the exit status for users who make a small mistake.

use std::fmt::Write as _;

use purlin_systems::project::{Project, Ran, ran};

const DOCUMENTS: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: echo}
spec:
  type: '*'
  driver: purlin/echo
  inputs: {values: {host: example.test, port: 80, tags: [a, b]}, secrets: {password: correct-horse}}
  criteria: [{}]
---
apiVersion: score.dev/v1b1
metadata: {name: web}
containers: {main: {image: nginx}}
resources: {db: {type: postgres}, site: {type: dns}}
---
apiVersion: purlin.dev/v1
kind: Deployment
metadata: {name: shop}
spec:
  shared: {db: {type: s3}, zone: {type: route53}}
";

fn shop() -> Project {
    Project::with(&[("app.yaml", DOCUMENTS)])
}

/// A session: each command line with its status unless that is 0, and its standard error.
fn session(project: &Project, lines: &[&[&str]]) -> String {
    let mut transcript = String::new();
    for words in lines {
        let Ran { status, err, .. } = project.run(words);
        let shown: Vec<&str> = words.iter().map(|word| if word.is_empty() { "''" } else { word }).collect();
        let _ = write!(transcript, "$ purlin {}", shown.join(" "));
        let _ =
            writeln!(transcript, "{}", if status == 0 { String::new() } else { format!("    [{status}]") });
        transcript.push_str(&err.replace(&project.path().display().to_string(), "PROJECT"));
        transcript.push('\n');
    }
    transcript
}

#[test]
fn unknown_options_and_commands_get_a_similar_one() {
    let project = shop();
    hints(
        &project,
        &[
            (&["up", "--paralelism", "3"], "no option `--paralelism`\nhint: did you mean `--parallelism`?\n"),
            (&["up", "--auto-aprove"], "hint: did you mean `--auto-approve`?\n"),
            (&["up", "--dry-run"], "no option `--dry-run`\nhint: `purlin up --help` lists the options\n"),
            (&["plan", "-x"], "no option `-x`\nhint: `purlin plan --help` lists the options\n"),
            (&["up", "--out", "x"], "hint: `purlin plan` has it\n"),
            (&["up", "-format", "json"], "no option `-format`\nhint: options have two dashes: `--format`\n"),
            (&["plan", "-namespace", "x"], "hint: options have two dashes: `--namespace`\n"),
            (&["plan", "-refresh=false"], "hint: options have two dashes: `--refresh`\n"),
            (&["up", "-no-input"], "no option `-no-input`\n"),
            (&["--nonsense", "graph"], "`purlin graph` has no option `--nonsense`\n"),
            (
                &["--target", "dns", "up"],
                "`--target` comes after the command\nhint: write `purlin up --target KEY`\n",
            ),
            (
                &["--stack", "prod", "up"],
                "`--stack` comes after the command\nhint: write `purlin up --stack ID`\n",
            ),
            (&["plan", "--", "-json"], "there is no file or folder `-json`\n"),
            (&["outputs", "--raw", "a.b", "--json"], "`--raw` cannot be used together with `--json`\n"),
            (&["env", "list", "--lines", "--json"], "`--lines` cannot be used together with `--json`\n"),
            (&["aply"], "no command `purlin aply`\nhint: did you mean `purlin apply`?\n"),
            (&["plna"], "hint: did you mean `purlin plan`?\n"),
            (&["state", "lsit"], "hint: did you mean `purlin state list`?\n"),
            (&["nonsense"], "hint: `purlin --help` lists the commands\n"),
            (&["state", "nonsense"], "hint: `purlin state --help` lists the commands\n"),
        ],
    );
    assert!(!project.has_state());
}

#[test]
fn apply_needs_a_plan() {
    let project = shop();
    hints(
        &project,
        &[
            (
                &["apply"],
                "needs a plan that `purlin plan --out FILE` wrote\nhint: `purlin up` plans and applies",
            ),
            (&["apply", "app.yaml"], "`app.yaml` contains documents, not a plan\nhint: `purlin up app.yaml`"),
            (&["apply", "."], "`.` contains documents, not a plan\nhint: `purlin up .` plans and applies"),
            (&["apply", "--yes", "nothing.plan"], "cannot read the plan `nothing.plan`: no such file"),
        ],
    );
    assert!(!project.has_state());
}

#[test]
fn slips_on_the_command_line_get_a_correction() {
    let project = shop();
    insta::assert_snapshot!(session(
        &project,
        &[
            &["up", "--paralelism", "3"],
            &["up", "--parallelism", "0"],
            &["up", "--parallelism", "many"],
            &["up", "--parallelism", "99999999999999999999999"],
            &["up", "--parallelism"],
            &["plan", "--format", "jsn"],
            &["plan", "--format"],
            &["graph", "--format", "png"],
            &["completions", "csh"],
            &["plan", "--offline", "--refresh"],
            &["plan", "--quiet", "--verbose"],
            &["up", "--state", "a", "--state", "b"],
            &["up", "--target-dependents"],
            &["explain"],
            &["import", "dns"],
            &["state", "rename", "dns"],
            &["history", "--limit", "few"],
            &["completions", "bash", "zsh"],
            &["history", "1", "2"],
            &["up", "--bogus"],
            &["up", "--detailed-exitcode"],
            &["--bogus"],
        ]
    ));
    assert!(!project.has_state());
}

/// Asserts that each command line is rejected with a message that contains a text.
#[track_caller]
fn hints(project: &Project, lines: &[(&[&str], &str)]) {
    for (words, expected) in lines {
        let Ran { status, err, .. } = project.run(words);
        assert!(status == 2 && err.contains(*expected), "{words:?} [{status}]: {err}");
    }
}

#[test]
fn names_of_resources_in_place_of_paths_get_a_hint() {
    hints(
        &shop(),
        &[
            (&["outputs", "dns"], "= help: `purlin outputs --raw KEY.OUTPUT` prints one output\n"),
            (&["plan", "web.db"], "= help: `--target web.db` selects a resource\n"),
            (&["plan", "./ap.yaml"], "= help: did you mean `app.yaml`?\n"),
            (&["plan", "envs/dns"], "= help: check the path\n"),
            (&["validate", "dns"], "= help: check the path\n"),
        ],
    );
}

#[test]
fn missing_and_negative_values_are_explained() {
    hints(
        &shop(),
        &[
            (&["schema"], "error: `purlin schema` needs KIND: `"),
            (&["completions"], "needs SHELL: `bash`, `elvish`, `fish`, `powershell` or `zsh`\n"),
            (&["plan", "--env-type"], "hint: use it as `--env-type TYPE`\n"),
            (&["plan", "--set"], "hint: use it as `--set K=V`\n"),
            (&["driver", "new", "x"], "error: `purlin driver new` needs `--lang LANG`"),
            (&["graph", "--depth", "-1"], "`--depth` takes a whole number of 0 or more, not `-1`\n"),
            (&["history", "--limit", "-1"], "`--limit` takes a whole number of 0 or more, not `-1`\n"),
            (&["up", "--parallelism", "-1"], "takes a whole number of 1 or more, not `-1`\n"),
            (&["history", "-1"], "error: there is no deployment `-1` in development of default/default\n"),
        ],
    );
}

#[test]
fn misspelt_names_of_resources_get_a_suggestion() {
    let project = shop();
    insta::assert_snapshot!(session(
        &project,
        &[
            &["explain", "dns.default#shared.zzz"],
            &["explain", "wbe"],
            &["explain", "db"],
            &["explain", "nothing-like-it"],
            &["plan", "--target", "dns#shared.zzz"],
            &["plan", "--target", "dsn"],
            &["plan", "--exclude", "db"],
            &["plan", "--replace", "zoen"],
            &["plan", "--target", "nothing*"],
            &["plan", "--target", "wbe", "--exclude", "stie"],
            &["import", "--yes", "dns#shared.x", "foo"],
            &["import", "--yes", "nothing-like-it", "foo"],
            &["import", "--yes", "db", "foo"],
            &["import", "d*", "foo"],
            &["state", "show", "web"],
        ]
    ));
    project.run(&["up", "--yes"]).status(0);
    insta::assert_snapshot!(
        "names_of_recorded_resources",
        session(
            &project,
            &[
                &["state", "show", "db"],
                &["state", "show", "dns#shared.zzz"],
                &["state", "forget", "stie", "--yes"],
                &["state", "taint", "nothing-like-it"],
                &[
                    "state",
                    "protect",
                    "urn:purlin:development/default::default::shared::s3.default::shared.dbb"
                ],
                &["state", "protect", "urn:nonsense"],
                &["refresh", "--target", "wbe"],
                &["destroy", "--yes", "--target", "db"],
                &["outputs", "--raw", "zone.hots"],
                &["outputs", "--raw", "zone.password"],
                &["outputs", "--raw", "zone"],
                &["outputs", "--raw", "zzz.host"],
                &["outputs", "--raw", "db.host"],
                &["outputs", "--raw", "db.zzz"],
                &["outputs", "--raw", "zone.host", "--format", "json"],
            ]
        )
    );
}

#[test]
fn similar_names_are_suggested_by_every_command() {
    let project = shop();
    let site = "hint: did you mean `dns.default#modules.web.externals.site`?\n";
    let nothing = "error: `--target nothing-like-it` names no resource of the state\n\
                   hint: `purlin state list` lists the resources\n";
    hints(
        &project,
        &[
            (&["plan", "--target", "web.stie"], site),
            (&["plan", "--target", "dsn*"], site),
            (&["plan", "--exclude", "dns#stie"], site),
            (&["plan", "--replace", "dsn"], site),
            (&["up", "--yes", "--target", "stie"], site),
            (&["graph", "--target", "dsn"], site),
            (&["explain", "web.stie"], site),
        ],
    );
    project.run(&["up", "--yes"]).status(0);
    hints(
        &project,
        &[
            (&["destroy", "--yes", "--target", "stie"], site),
            (&["destroy", "--yes", "--exclude", "dsn"], site),
            (&["destroy", "--yes", "--target", "*stie"], site),
            (&["destroy", "--yes", "--target", "nothing-like-it"], nothing),
            (&["refresh", "--target", "dns#stie"], site),
            (&["refresh", "--target", "nothing-like-it"], nothing),
            (&["state", "show", "dsn"], site),
            (&["state", "rename", "stie", "dns#shared.x"], site),
            (&["state", "settle", "web.stie", "--not-made"], site),
            (&["outputs", "--raw", "stie.host"], site),
            (
                &["state", "copy", ".purlin", "copied", "--env", "developmnt"],
                "hint: did you mean `development`?\n",
            ),
        ],
    );
}

#[test]
fn short_names_work_in_place_of_keys() {
    let project = shop();
    for (name, key) in [
        ("web", "workload.default#modules.web"),
        ("web.db", "postgres.default#modules.web.externals.db"),
        ("shared.db", "s3.default#shared.db"),
        ("dns", "dns.default#modules.web.externals.site"),
        ("site", "dns.default#modules.web.externals.site"),
        ("route53#zone", "route53.default#shared.zone"),
    ] {
        let explained = project.run(&["explain", name, "--format", "json"]).status(0).json();
        assert_eq!(explained["key"], key, "{name}");
    }
    let plan = project.run(&["plan", "--target", "zone", "--format", "json"]).status(0).json();
    let steps: Vec<&str> =
        plan["steps"].as_array().expect("steps").iter().filter_map(|step| step["key"].as_str()).collect();
    assert_eq!(steps, ["route53.default#shared.zone"]);
    project.run(&["up", "--yes"]).status(0);
    assert_eq!(project.run(&["outputs", "--raw", "zone.host"]).status(0).out, "example.test\n");
    assert_eq!(project.run(&["outputs", "--raw", "route53#shared.zone.port"]).status(0).out, "80\n");
    assert_eq!(project.run(&["outputs", "--raw", "zone.tags.1"]).status(0).out, "b\n");
    let secret = project.run(&["outputs", "--raw", "zone.password", "--show-secrets"]).status(0);
    assert_eq!(secret.out, "correct-horse\n");
    let shown = project.run(&["state", "show", "site", "--format", "json"]).status(0).json();
    assert_eq!(shown["resource"]["key"], "dns.default#modules.web.externals.site");
    project.run(&["state", "taint", "site"]).status(0);
    project.run(&["state", "protect", "zone"]).status(0);
    project.run(&["state", "rename", "zone", "route53#shared.main"]).status(0);
    assert!(project.recorded().contains(&"route53.default#shared.main".to_owned()));
    let replaced = project.run(&["plan", "--replace", "web.db", "--format", "json"]).status(2);
    assert!(replaced.err.contains("route53.default#shared.main"), "it is protected: {}", replaced.err);
}

#[test]
fn json_output_reports_errors_as_json() {
    let project = shop();
    for words in [
        &["plan", "--bogus", "--format", "json"][..],
        &["plan", "--json", "--parallelism", "0"],
        &["plan", "-o", "json", "--parallelism", "0"],
        &["plan", "--format=json", "--parallelism", "0"],
        &["explain", "--format", "json"],
        &["state", "lsit", "--format", "json"],
        &["explain", "zzz", "--format", "json"],
        &["plan", "--target", "zzz", "--format", "json"],
    ] {
        let document = project.run(words).status(2).json();
        assert_eq!(document["format"], 1, "{words:?}");
        let error = &document["error"];
        assert!(
            error["message"].as_str().is_some_and(|message| !message.is_empty()),
            "{words:?}: {document}"
        );
    }
    let event = project.run(&["up", "--paralelism", "3", "--format", "json"]).status(2).events();
    assert_eq!((event.len(), &event[0]["event"]), (1, &"error".into()));
    assert_eq!(event[0]["error"]["hints"][0], "did you mean `--parallelism`?");
}

#[test]
fn help_is_a_command_and_an_option() {
    let project = shop();
    for (words, about) in [
        (&["help"][..], "Usage: purlin [OPTIONS] <COMMAND>"),
        (&["help", "plan"], "Usage: purlin plan"),
        (&["help", "state", "list"], "Usage: purlin state list"),
        (&["plan", "--help"], "Usage: purlin plan"),
    ] {
        let help = project.run(words).status(0);
        assert!(help.out.contains(about) && help.err.is_empty(), "{words:?}: {}", help.out);
    }
}

#[test]
fn files_and_keys_that_cannot_be_used_are_explained() {
    let project = shop();
    project.write("workspace/purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {}\n");
    project.write("blocked", "a file");
    let mut transcript = session(
        &project,
        &[
            &["plan", "--state", "app.yaml"],
            &["plan", "--out", "blocked/change.plan"],
            &["plan", "--out", "/proc/change.plan"],
            &["plan", "--out", "workspace"],
            &["export", "blocked/out"],
            &["init", "blocked/new"],
        ],
    );
    // A sealed plan leaves the key of the state behind.
    let _ = std::fs::remove_dir_all(project.path().join(".purlin"));
    std::fs::remove_dir_all(project.path().join("workspace")).expect("removed");
    project.run(&["up", "--yes"]).status(0);
    let other = Project::empty();
    other.run(&["state", "key", "new", "other.key"]).status(0);
    let key = std::fs::read_to_string(other.path().join("other.key")).expect("a key");
    let workspace = |key: &str| format!("apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  key: {key}\n");
    project.write("other.key", &key);
    private(&project.path().join("other.key"));
    project.write("purlin.yaml", workspace("{file: other.key}"));
    transcript.push_str(&session(&project, &[&["outputs"]]));
    project.write("other.key", "garbage");
    transcript.push_str(&session(&project, &[&["outputs"]]));
    project.write("purlin.yaml", workspace("{env: SHOP_KEY}"));
    transcript.push_str(&session(&project, &[&["outputs"]]));
    let mut command = project.command(&["outputs"]);
    command.env("SHOP_KEY", key.trim());
    let wrong = ran(command).status(2);
    transcript.push_str(&wrong.err);
    let public = regex::Regex::new("age1[a-z0-9]+").expect("a pattern");
    insta::assert_snapshot!(public.replace_all(&transcript, "age1…"));
}

#[test]
fn a_key_that_is_not_there_or_not_private_is_an_input_error() {
    let project = shop();
    project.run(&["up", "--yes"]).status(0);
    let key = project.path().join(".purlin/key");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("set");
        let exposed = project.run(&["plan"]).status(2).err;
        assert!(
            exposed.contains("purlin/key` can be read by others (mode 0644)\nhint: run `chmod 600 "),
            "{exposed}"
        );
    }
    std::fs::remove_file(&key).expect("removed");
    let lost = project.run(&["plan"]).status(2).err;
    assert!(
        lost.contains("purlin/key` is missing, and the state contains secrets encrypted for `age1"),
        "{lost}"
    );
    let hint = "`\nhint: restore the key from its backup, or set `key` in purlin.yaml to the right one; \
                nothing was changed\n";
    assert!(lost.ends_with(hint), "{lost}");
    let workspace = "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  key: {file: none.key}\n";
    let fresh = Project::with(&[("app.yaml", DOCUMENTS), ("purlin.yaml", workspace)]);
    let absent = fresh.run(&["up", "--yes"]).status(2).err;
    assert!(absent.contains("error: there is no key file `"), "{absent}");
    assert!(
        absent.ends_with("hint: `purlin state key new FILE` creates a key; nothing was changed\n"),
        "{absent}"
    );
}

#[cfg(unix)]
#[test]
fn the_doctor_gives_the_same_hints_about_keys_as_other_commands() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = shop();
    project.run(&["up", "--yes"]).status(0);
    let key = project.path().join(".purlin/key");
    let identity = std::fs::read_to_string(&key).expect("a key");
    let other = Project::empty();
    other.run(&["state", "key", "new", "other.key"]).status(0);
    let wrong = std::fs::read_to_string(other.path().join("other.key")).expect("a key");
    let same = |status: i32, expected: &str| {
        let failed = project.run(&["plan"]).status(status).err;
        let hint = failed.lines().find_map(|line| line.strip_prefix("hint: "));
        let hint = hint.and_then(|hint| hint.strip_suffix("; nothing was changed"));
        let hint = hint.unwrap_or_else(|| panic!("{failed}"));
        assert!(hint.starts_with(expected), "{failed}");
        let doctor = project.run(&["doctor"]).status(1).out;
        assert!(doctor.contains(&format!("   {hint}\n")), "{failed}\n{doctor}");
    };
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("set");
    same(2, "run `chmod 600 ");
    private(&key);
    std::fs::write(&key, wrong).expect("written");
    same(2, "put the right key there, or set `key` in purlin.yaml to it");
    std::fs::write(&key, "garbage").expect("written");
    same(2, "restore the key from its backup; a key is one line that begins with `AGE-SECRET-KEY-1`");
    std::fs::remove_file(&key).expect("removed");
    same(2, "restore the key from its backup, or set `key` in purlin.yaml to the right one");
    // A folder cannot be read, even by root.
    std::fs::create_dir(&key).expect("made");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o700)).expect("set");
    same(1, "allow this user to read it, or set `key` in purlin.yaml to another file");
    std::fs::remove_dir(&key).expect("removed");
    std::fs::write(&key, identity).expect("written");
    private(&key);
    project.run(&["doctor"]).status(0);
}

#[test]
fn an_error_without_a_place_mentions_no_documents() {
    let project = shop();
    let unknown = project.run(&["driver", "inspect", "postgres"]).status(2).err;
    assert_eq!(
        unknown,
        "error[driver]: there is no driver `postgres`\n = help: did you mean `purlin/postgres`?\n\n\
         error: 1 error; nothing was done\n"
    );
    let missing = project.run(&["plan", "-f", "no-such-file.yaml"]).status(2);
    assert!(missing.err.ends_with("\n\nerror: 1 error; nothing was done\n"), "{}", missing.err);
    let json = project.run(&["plan", "-f", "no-such-file.yaml", "--format", "json"]).status(2).json();
    assert_eq!(json["error"]["message"], "1 error; nothing was done");
}

#[cfg(unix)]
fn private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("set");
}

#[test]
fn folders_without_a_project_are_not_read() {
    let project = Project::empty();
    for folder in ["/", "/proc", "/usr"] {
        let mut command = project.command(&["plan"]);
        command.current_dir(folder);
        let refused = ran(command).status(2);
        assert!(refused.err.contains("is a system folder, not a project"), "{}", refused.err);
    }
    let home = Project::with(&[("app.yaml", DOCUMENTS)]);
    let at_home = |words: &[&str]| {
        let mut command = home.command(words);
        command.env("HOME", home.path());
        ran(command)
    };
    let refused = at_home(&["up", "--yes"]).status(2);
    insta::assert_snapshot!(refused.err.replace(&home.path().display().to_string(), "HOME"));
    assert!(!home.has_state());
    // Named documents are read, and so is a home folder with a workspace file.
    at_home(&["graph", "app.yaml"]).status(0);
    home.write("purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {}\n");
    at_home(&["graph"]).status(0);
}

#[test]
fn the_deployer_is_the_user_name() {
    let project = shop();
    let mut command = project.command(&["up", "--yes"]);
    command.env_remove("USER");
    ran(command).status(0);
    let history = project.run(&["history", "--format", "json"]).status(0).json();
    let user = history["deployments"][0]["user"].as_str().expect("a user").to_owned();
    let me = std::process::Command::new("id").arg("-un").output().expect("id");
    assert_eq!(user, String::from_utf8_lossy(&me.stdout).trim());
}
