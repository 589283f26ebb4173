//! A driver for a REST API in every language, as `purlin driver new --template rest` writes it: built,
//! tested, checked, and used against an API that misbehaves.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr, missing_docs)]

mod strained;

use purlin_systems::cut::Wire;
use purlin_systems::interrupt::When;
use purlin_systems::kit::{self, Language};
use purlin_systems::rest::{LastAfter, Misbehaviour, Service};
use purlin_systems::{Project, Proxy, at_every_message};
use serde_json::{Value, json};

/// The projects' placeholder for the API.
const PLACE: &str = "https://api.example/v1";
const TOKEN: &str = "the-first-token-of-the-api";
const UP: &[&str] = &["up", "app.yaml", "--yes"];
const DESTROY: &[&str] = &["destroy", "--yes"];
const RESOURCE: &str = "project.default#modules.hello.externals.work";

/// A project that was built.
struct Built {
    project: Project,
}

impl Built {
    /// Writes a project, builds it, and runs its own tests.
    fn new(language: &Language) -> Option<Self> {
        if !language.is_installed() {
            return None;
        }
        let project = Project::empty();
        let new = ["driver", "new", "kit", "--lang", language.name, "--template", "rest"];
        project.purlin(&[&new[..], &["--name", "shop/account"]].concat());
        let folder = project.path().join("kit");
        if language.name == kit::C.name {
            // Whatever authors include, no name of the template is one of POSIX.
            let file = folder.join("project.c");
            let text = std::fs::read_to_string(&file).expect("the driver");
            std::fs::write(&file, format!("#include <unistd.h>\n{text}")).expect("written");
        }
        let built = kit::run(project.command(&["driver", "build"]), &folder);
        assert!(built.contains("account.wasm: shop/account 0.1.0"), "{built}");
        language.test(&folder);
        Some(Self { project })
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.project.path().join("kit").join(name)).expect("a file of the project")
    }

    /// A folder with the project's documents, for the API at a port of loopback.
    fn scene(&self, port: u16) -> Project {
        let place = format!("http://127.0.0.1:{port}");
        let wasm = self.project.path().join("kit/account.wasm");
        let workspace = Project::empty();
        for name in ["app.yaml", "check.yaml", "purlin.yaml"] {
            let text = self.file(name).replace(PLACE, &place);
            workspace.write(name, text.replace("./account.wasm", &wasm.display().to_string()));
        }
        workspace.write("secrets/api-token", TOKEN);
        workspace
    }
}

fn service() -> Service {
    let service = Service::start();
    service.key(TOKEN);
    service
}

/// The only project.
#[track_caller]
fn only(service: &Service) -> Value {
    let all: Vec<Value> = service.all("projects").into_values().collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().expect("one")
}

/// Its record: including the token, which only the answer to the creation had.
#[track_caller]
fn is_recorded(service: &Service, workspace: &Project) {
    let id = only(service)["id"].as_str().expect("an id").to_owned();
    let outputs = workspace.purlin(&["outputs", "--format", "json", "--show-secrets"]).json();
    let outputs = &outputs["resources"][RESOURCE];
    assert_eq!(outputs["id"], id.as_str(), "{outputs}");
    assert_eq!(outputs["token"], format!("token-of-{id}"), "{outputs}");
}

fn set_size(workspace: &Project, size: u32) {
    let text = workspace.read("app.yaml");
    let line = text.lines().find(|line| line.starts_with("      size: ")).expect("a size");
    workspace.write("app.yaml", text.replacen(line, &format!("      size: {size}"), 1));
}

fn checks(built: &Built) {
    let service = Service::start();
    service.key("a-token-of-the-check");
    let workspace = built.scene(service.port());
    let report = workspace.purlin(&["driver", "check", "shop/account", "--cases", "check.yaml"]);
    for rule in ["secrets.hidden", "create.cut", "create.repeat", "read.finds", "impact.agrees", "update.cut"]
    {
        let kept = |line: &str| line.starts_with("ok") && line.contains(rule);
        assert!(report.out.lines().any(kept), "{rule} was not tried: {report}");
    }
    assert_eq!(service.all("projects"), [].into(), "nothing is left of the check");
}

/// A plan says which grant is missing, for all requests, before the first one fails.
fn asks_for_grants(built: &Built) {
    let service = service();
    let workspace = built.scene(service.port());
    let text = workspace.read("purlin.yaml");
    let without: String =
        text.lines().filter(|line| !line.contains("http: [")).map(|line| format!("{line}\n")).collect();
    assert_ne!(text, without);
    workspace.write("purlin.yaml", &without);
    let grant = format!("- \"http://127.0.0.1:{}/*\"", service.port());
    workspace.run(&["plan", "app.yaml"]).status(2).prints("not-granted").prints(&grant);
    assert!(service.requests().is_empty(), "nothing was sent");
}

/// A life without accidents, except that the token is rotated and the API changes.
fn lives(built: &Built) {
    let service = service();
    // Others have projects of the same name, enough to fill a page.
    for other in ["a", "b", "c"] {
        let theirs = json!({"id": other, "name": "hello", "region": "eu", "size": 9, "owner": "somebody"});
        service.put("projects", other, theirs);
    }
    let ours = || {
        let all = service.all("projects").into_values();
        all.filter(|project| project["owner"] != "somebody").collect::<Vec<_>>()
    };
    let workspace = built.scene(service.port());
    workspace.purlin(UP);
    let [made] = &ours()[..] else { panic!("one project: {:?}", ours()) };
    assert_eq!((&made["size"], &made["region"]), (&json!(1), &json!("eu")), "{made}");
    workspace.purlin(UP).prints("Nothing to change");

    // The token is rotated, which needs no further work.
    service.key("another-token-of-the-api");
    workspace.run(&["up", "app.yaml", "--yes", "--refresh"]).status(1).prints("who are you?");
    workspace.write("secrets/api-token", "another-token-of-the-api");
    workspace.purlin(&["plan", "app.yaml", "--refresh"]).prints("Nothing to change");

    // A change in place, one that is rejected, and one by somebody else.
    set_size(&workspace, 3);
    workspace.purlin(UP);
    assert_eq!(ours()[0]["size"], 3);
    let mut changed = ours()[0].clone();
    changed["size"] = json!(7);
    let id = changed["id"].as_str().expect("an id").to_owned();
    service.put("projects", &id, changed);
    workspace.purlin(&["up", "app.yaml", "--yes", "--refresh"]).prints("values.size");
    assert_eq!(ours()[0]["size"], 3);
    let text = workspace.read("app.yaml");
    workspace.write("app.yaml", text.replace("      name: hello\n", "      name: hello\n      region: us\n"));
    workspace.run(UP).status(2).prints("region");
    workspace.write("app.yaml", &text);

    // Another version of the API. An unreadable project is not treated as gone.
    service.renames("id", "uid");
    workspace.run(&["up", "app.yaml", "--yes", "--refresh"]).status(1).prints("id");
    assert_eq!(ours().len(), 1);
    service.renames("id", "id");

    // A project that somebody else deleted is created again; deleting a missing one is a success.
    // The service shows everything at once, so nobody has to wait.
    workspace.edit("purlin.yaml", "      grants:", "      limits: {grace: 0s}\n      grants:");
    service.empty();
    workspace.purlin(&["up", "app.yaml", "--yes", "--refresh"]);
    assert_eq!(only(&service)["size"], 3);
    service.empty();
    workspace.purlin(DESTROY);
}

/// Whatever the answer to a creation is, there is one project, with its token recorded.
fn survives(built: &Built) {
    let soon = || vec![("retry-after", "0".to_owned())];
    let faults = [
        Misbehaviour::LoseAnswer,
        Misbehaviour::CutOff,
        Misbehaviour::Huge(5 << 20),
        Misbehaviour::DoAndAnswer(201, "this is no JSON".to_owned()),
        Misbehaviour::DoAndAnswer(502, String::new()),
        Misbehaviour::Refuse(429, soon(), "{}".to_owned()),
        Misbehaviour::Refuse(503, soon(), "{}".to_owned()),
    ];
    for fault in faults {
        let service = service();
        let workspace = built.scene(service.port());
        service.fault("POST", fault.clone());
        workspace.run(UP);
        eprintln!("{fault:?}");
        workspace.purlin(UP);
        is_recorded(&service, &workspace);
        set_size(&workspace, 2);
        service.fault("PATCH", fault.clone());
        workspace.run(UP);
        workspace.purlin(UP);
        assert_eq!(only(&service)["size"], 2);
        service.fault("DELETE", fault);
        workspace.run(DESTROY);
        workspace.purlin(DESTROY);
        assert_eq!(service.all("projects"), [].into());
    }
}

/// The service shows a new project late, in lists and by its id. Whatever happens to the answer to its
/// creation, and however often Purlin looks in the meantime, there is one project.
fn is_shown_late(built: &Built) {
    const REFRESH: &[&str] = &["up", "--yes", "--refresh", "app.yaml"];
    let faults = [
        None,
        Some(Misbehaviour::LoseAnswer),
        Some(Misbehaviour::CutOff),
        Some(Misbehaviour::Huge(5 << 20)),
        Some(Misbehaviour::DoAndAnswer(201, "this is no JSON".to_owned())),
        Some(Misbehaviour::DoAndAnswer(502, String::new())),
        Some(Misbehaviour::Refuse(503, vec![("retry-after", "0".to_owned())], "{}".to_owned())),
        Some(Misbehaviour::DoLater { hang_up: true }),
    ];
    for fault in faults {
        for attempts in [1, 8] {
            let service = service();
            let workspace = built.scene(service.port());
            service.lags(true);
            for _ in 0..attempts {
                fault.iter().for_each(|fault| service.fault("POST", fault.clone()));
            }
            eprintln!("{fault:?}, {attempts} times");
            workspace.run(UP);
            service.behave();
            workspace.run(REFRESH);
            if matches!(fault, Some(Misbehaviour::DoLater { .. })) {
                service.do_late();
            }
            workspace.run(UP);
            let created = service.all("projects").len();
            assert!(created <= 1, "{created} projects");
            service.lags(false);
            workspace.purlin(REFRESH);
            is_recorded(&service, &workspace);
            workspace.purlin(DESTROY);
            assert_eq!(service.all("projects"), [].into());
            if fault.is_none() {
                break;
            }
        }
    }
}

/// The service answers 200 to a deletion, and still shows the project: it counts as deleted once it is no
/// longer shown. If it never goes, it stays recorded.
fn lingers(built: &Built) {
    // No run waits for long.
    let begun = || {
        let service = service();
        let workspace = built.scene(service.port());
        workspace.edit("purlin.yaml", "      grants:", "      limits: {pending: 2s}\n      grants:");
        workspace.purlin(UP);
        (service, workspace)
    };
    let (service, workspace) = begun();
    service.lingers(1);
    service.requests();
    workspace.purlin(DESTROY);
    let deletions = service.requests().into_iter().filter(|request| request.method == "DELETE").count();
    assert_eq!((service.all("projects"), deletions), ([].into(), 2), "it was still shown once");

    // It never goes, and nothing is created beside it.
    workspace.purlin(UP);
    service.lingers(u32::MAX);
    workspace.run(DESTROY).status(1).prints("its deletion is in progress: it still exists");
    workspace.purlin(&["state", "list"]).prints(RESOURCE);
    workspace.run(UP).status(1).prints("its deletion is in progress: it still exists");
    assert_eq!(service.all("projects"), [].into());

    // It goes at last, after a deletion whose answers are lost. The documents have it again.
    let (service, workspace) = begun();
    service.lingers(u32::MAX);
    // More than a run attempts.
    for _ in 0..64 {
        service.fault("DELETE", Misbehaviour::LoseAnswer);
    }
    workspace.run(DESTROY).status(1).prints(RESOURCE);
    service.behave();
    workspace.run(UP).status(1).prints("its system may still show it");
    assert_eq!(service.all("projects"), [].into(), "nothing is created beside it");
    service.lingers(0);
    workspace.purlin(UP);
    is_recorded(&service, &workspace);
    workspace.purlin(DESTROY);
    assert_eq!(service.all("projects"), [].into());
}

/// A project that was not created is looked for in all pages, however the API ends its lists, and then
/// created.
fn reads_lists(built: &Built) {
    for last in [LastAfter::Missing, LastAfter::Null, LastAfter::Empty, LastAfter::Repeated] {
        let service = service();
        service.ends_lists(last);
        for other in ["a", "b", "c"] {
            let theirs =
                json!({"id": other, "name": "hello", "region": "eu", "size": 9, "owner": "somebody"});
            service.put("projects", other, theirs);
        }
        let workspace = built.scene(service.port());
        // Repeated requests get it too.
        for _ in 0..8 {
            service.fault("POST", Misbehaviour::Refuse(502, Vec::new(), String::new()));
        }
        workspace.run(UP);
        service.behave();
        service.requests();
        eprintln!("{last:?}");
        workspace.purlin(UP);
        let pages: Vec<String> = service.requests().into_iter().map(|request| request.path).collect();
        assert!(pages.iter().any(|path| path.contains("after=2")), "it did not look: {pages:?}");
        let ours = service.all("projects").into_values().filter(|project| project["owner"] != "somebody");
        assert_eq!(ours.count(), 1);
    }
}

/// The connection is cut at every message, and the program continues.
fn is_cut_off(built: &Built) {
    for when in [When::Before, When::After] {
        for at in 1.. {
            let service = service();
            let wire = Wire::to(service.port());
            let workspace = built.scene(wire.port());
            wire.cut_at(at, when);
            workspace.run(UP);
            let was_cut = wire.has_failed();
            workspace.purlin(UP);
            is_recorded(&service, &workspace);
            wire.cut_at(at, when);
            workspace.run(DESTROY);
            let was_cut = wire.has_failed() || was_cut;
            workspace.purlin(DESTROY);
            assert_eq!(service.all("projects"), [].into());
            if !was_cut {
                break;
            }
        }
    }
}

/// The program is killed at every message.
fn is_killed(built: &Built) {
    let service = service();
    let proxy = Proxy::to(service.port());
    let fresh = || {
        service.empty();
        built.scene(proxy.port())
    };
    let kills = at_every_message(
        &proxy,
        UP,
        |_| fresh(),
        |_, workspace| {
            is_recorded(&service, workspace);
            workspace.purlin(UP).prints("Nothing to change");
        },
    );
    assert!(kills >= 2, "there are messages to be killed at: {kills}");
    let made = || {
        let workspace = fresh();
        workspace.purlin(UP);
        workspace
    };
    let changed = |_| {
        let workspace = made();
        set_size(&workspace, 2);
        workspace
    };
    at_every_message(&proxy, UP, changed, |_, workspace| {
        is_recorded(&service, workspace);
        assert_eq!(only(&service)["size"], 2);
    });
    let renamed = |_| {
        let workspace = made();
        workspace.edit("app.yaml", "name: hello\n      size", "name: other\n      size");
        workspace
    };
    at_every_message(&proxy, UP, renamed, |_, workspace| {
        workspace.purlin(UP);
        is_recorded(&service, workspace);
        assert_eq!(only(&service)["name"], "other");
    });
    at_every_message(&proxy, DESTROY, |_| made(), |_, _| assert_eq!(service.all("projects"), [].into()));
}

fn begins(language: &Language) {
    let Some(built) = Built::new(language) else { return };
    checks(&built);
    asks_for_grants(&built);
    lives(&built);
    survives(&built);
    is_shown_late(&built);
    lingers(&built);
    reads_lists(&built);
    is_cut_off(&built);
    is_killed(&built);
    strained::holds(&built);
}

#[test]
fn rust_keeps_an_object_of_an_api() {
    begins(&kit::RUST);
}

#[test]
fn c_keeps_an_object_of_an_api() {
    begins(&kit::C);
}

#[test]
fn go_keeps_an_object_of_an_api() {
    begins(&kit::GO);
}

#[test]
fn js_keeps_an_object_of_an_api() {
    begins(&kit::JS);
}

#[test]
fn python_keeps_an_object_of_an_api() {
    begins(&kit::PYTHON);
}
