//! The drivers against a service that does everything at once that makes an API hard: it answers 202 and
//! works for a while, shows new objects late, writes `null` for what its lists do not have, and limits its
//! rate. Beyond that, it loses answers, and Purlin is killed while it waits for one.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use purlin_systems::project::{Project, ran, ran_with};
use purlin_systems::rest::{Misbehaviour, Service, Strain};
use serde_json::{Value, json};

use super::{Built, DESTROY, RESOURCE, TOKEN, UP, set_size};

/// Everything at once.
const STRAIN: Strain = Strain { refused: 1, hidden: 2, working: 2, nulls: true };

/// More requests than a run attempts.
const ALL: usize = 64;

/// How many scenarios run at the same time. They mostly wait.
const JOBS: usize = 4;

/// The rules about functions that the drivers do not have: `check`, since Purlin applies the schema, and
/// `preview`.
const SKIPPED: [&str; 6] =
    ["check.fixpoint", "check.previous", "check.unknown", "check.faults", "limits", "preview.keeps"];

/// What Purlin does when an answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Create,
    Update,
    /// The new project is created beside the old one, which is deleted afterwards.
    Replace,
    Delete,
}

/// How the answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// No request arrives.
    Before,
    /// Each request is carried out, and no answer arrives.
    After,
    /// Purlin is killed while it waits for the answer. The request is carried out afterwards.
    Killed,
}

const EFFECTS: [Effect; 4] = [Effect::Create, Effect::Update, Effect::Replace, Effect::Delete];
const LOSSES: [Loss; 3] = [Loss::Before, Loss::After, Loss::Killed];

impl Effect {
    /// The method of the request whose answer is lost.
    fn method(self) -> &'static str {
        match self {
            Self::Create | Self::Replace => "POST",
            Self::Update => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    fn command(self) -> &'static [&'static str] {
        if self == Self::Delete { DESTROY } else { UP }
    }

    /// A folder in which the command has this effect, and how many projects were created for it.
    fn prepared(self, built: &Built, service: &Service) -> (Project, usize) {
        let workspace = built.scene(service.port());
        if self == Self::Create {
            return (workspace, 0);
        }
        workspace.purlin(UP);
        match self {
            Self::Update => set_size(&workspace, 2),
            Self::Replace => workspace.edit("app.yaml", "name: hello\n      size", "name: other\n      size"),
            Self::Create | Self::Delete => {}
        }
        (workspace, 1)
    }
}

/// A service under strain, in which others have projects of the same name.
fn service() -> Service {
    let service = Service::start();
    service.key(TOKEN);
    for other in ["a", "b", "c"] {
        let theirs = json!({"id": other, "name": "hello", "region": "eu", "size": 9, "owner": null});
        service.put("projects", other, theirs);
    }
    service.strain(STRAIN);
    service
}

fn ours(service: &Service) -> Vec<Value> {
    let all = service.all("projects").into_values();
    all.filter(|project| !project["owner"].is_null()).collect()
}

/// A driver keeps all rules there. Whatever happens to the answers, nothing is created twice, and nothing is left.
pub(crate) fn holds(built: &Built) {
    let scenarios = EFFECTS.into_iter().flat_map(|effect| LOSSES.map(|loss| (effect, loss)));
    let left = Mutex::new(scenarios.collect::<Vec<_>>());
    let next = || left.lock().expect("no panic").pop();
    std::thread::scope(|scope| {
        scope.spawn(|| keeps_every_rule(built));
        scope.spawn(|| waits_as_told(built));
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some((effect, loss)) = next() {
                    survives(built, effect, loss);
                }
            });
        }
    });
}

/// All rules of conformance.
fn keeps_every_rule(built: &Built) {
    let service = Service::start();
    service.key("a-token-of-the-check");
    service.strain(STRAIN);
    let workspace = built.scene(service.port());
    let check = ["driver", "check", "shop/account", "--cases", "check.yaml", "--format", "json"];
    let mut command = workspace.command(&check);
    // Requests that are repeated offer many places at which to cut off a call.
    command.env("PURLIN_CUT_TIME", "1");
    let report = ran(command).status(0).json();
    let rules = report["rules"].as_array().expect("rules");
    let with_status = |status: &str| -> BTreeSet<&str> {
        rules.iter().filter(|rule| rule["status"] == status).filter_map(|rule| rule["id"].as_str()).collect()
    };
    assert_eq!(with_status("skipped"), SKIPPED.into(), "{report:#}");
    assert_eq!(with_status("ok").len(), rules.len() - SKIPPED.len(), "{report:#}");
    assert_eq!(service.all("projects"), [].into(), "nothing is left of the check");
}

fn survives(built: &Built, effect: Effect, loss: Loss) {
    let what = format!("{effect:?}, {loss:?}");
    eprintln!("{what}");
    let service = service();
    let (workspace, before) = effect.prepared(built, &service);
    let lost = match loss {
        Loss::Before => Misbehaviour::DoLater { hang_up: true },
        Loss::After => Misbehaviour::LoseAnswer,
        Loss::Killed => Misbehaviour::DoLater { hang_up: false },
    };
    for _ in 0..ALL {
        service.fault(effect.method(), lost.clone());
    }
    if loss == Loss::Killed {
        let mut running = workspace.start(effect.command());
        service.wait_for_late();
        running.kill().expect("a kill");
        ran_with(running);
        service.behave();
        service.do_late();
    } else {
        let interrupted = workspace.run(effect.command());
        assert_ne!(interrupted.status, 0, "{what}: {interrupted}");
        service.behave();
    }

    workspace.purlin(effect.command());
    let expected = match effect {
        Effect::Create => 1,
        Effect::Replace => before + 1,
        Effect::Update | Effect::Delete => before,
    };
    assert_eq!(service.created(), expected, "{what}: nothing is created twice");
    if effect != Effect::Delete {
        is_recorded(&service, &workspace, &what);
        workspace.purlin(&["plan", "app.yaml", "--refresh"]).prints("Nothing to change");
        workspace.purlin(DESTROY);
    }
    assert_eq!(ours(&service), [] as [Value; 0], "{what}: nothing is left");
    assert_eq!(service.all("projects").len(), 3, "{what}: those of others are untouched");
}

/// There is one project, as in the documents, and its record has what only the first answer had.
fn is_recorded(service: &Service, workspace: &Project, what: &str) {
    let all = ours(service);
    let [made] = all.as_slice() else { panic!("{what}: {all:?}") };
    let id = made["id"].as_str().expect("an id");
    let documents = workspace.read("app.yaml");
    for name in ["name", "size"] {
        let value = made[name].as_str().map_or_else(|| made[name].to_string(), str::to_owned);
        assert!(documents.contains(&format!("{name}: {value}\n")), "{what}: {made}");
    }
    let outputs = workspace.purlin(&["outputs", "--format", "json", "--show-secrets"]).json();
    let outputs = &outputs["resources"][RESOURCE];
    assert_eq!((&outputs["id"], &outputs["size"]), (&json!(id), &made["size"]), "{what}: {outputs}");
    assert_eq!(outputs["token"], format!("token-of-{id}"), "{what}: {outputs}");
}

/// What the service says about its rate: the driver waits that long, and if it is busy for longer than a
/// driver tries, Purlin calls again.
fn waits_as_told(built: &Built) {
    const TOLD: Duration = Duration::from_secs(1);
    let service = service();
    let busy = |after: u64| {
        let after = vec![("retry-after", after.to_string())];
        service.fault("POST", Misbehaviour::Refuse(429, after, "{}".to_owned()));
    };
    service.strain(Strain { refused: 0, ..STRAIN });
    busy(TOLD.as_secs());
    // A driver tries four times.
    for _ in 0..5 {
        busy(0);
    }
    let workspace = built.scene(service.port());
    workspace.purlin(UP);
    let requests = service.requests();
    let creating: Vec<_> = requests.iter().filter(|request| request.method == "POST").collect();
    let [first, second, .., last] = creating.as_slice() else { panic!("{creating:?}") };
    assert!(second.at.duration_since(first.at) >= TOLD, "it waited as told");
    assert_eq!((creating.len(), &first.headers["idempotency-key"]), (7, &last.headers["idempotency-key"]));
    is_recorded(&service, &workspace, "busy");
    workspace.purlin(DESTROY);
    assert_eq!(ours(&service), [] as [Value; 0]);
}
