//! The operator's day: credentials are rotated, and the next command works without an `up` before
//! it.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod door;
mod system;

use door::Door;
use purlin_systems::tools::component;
use purlin_systems::{Project, Ran};
use serde_json::{Map, Value, json};
use system::{Bucket, RedisUser, Role, System};

/// Where the credential is.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    /// In the definition.
    Documents,
    /// In a store, from which the definition reads it.
    Store,
    /// In a store, from which the account that the definition names reads it.
    Account,
}

/// A workspace whose resources are on a system.
struct Scene<'a> {
    system: &'a dyn System,
    kept: Kept,
    port: u16,
    workspace: Project,
}

impl<'a> Scene<'a> {
    fn new(system: &'a dyn System, kept: Kept, environment: &str) -> Self {
        Self::at(system, kept, environment, system.port())
    }

    /// One that reaches the system at another port.
    fn at(system: &'a dyn System, kept: Kept, environment: &str, port: u16) -> Self {
        let workspace = Project::empty();
        let mut grants = system.grants(port);
        grants["secrets"] = json!(["keys"]);
        let drivers = json!({format!("purlin/{}", system.driver()): {
            "source": component(system.driver()), "grants": grants, "limits": {"time": "60s"},
        }});
        let mut spec = json!({
            "defaults": {"app": "shop", "env": environment}, "drivers": drivers,
            "secret_stores": {"keys": {"file": "./secrets"}},
        });
        if kept == Kept::Account {
            let names = system.credential().into_iter().map(|(name, _)| name);
            let fields: Map<String, Value> =
                names.map(|name| (name.to_owned(), json!({"store": "keys", "ref": name}))).collect();
            spec["accounts"] = json!({"operator": {"type": system.driver(), "fields": fields}});
        }
        let document = json!({"apiVersion": "purlin.dev/v1", "kind": "Workspace", "spec": spec});
        workspace.write("purlin.yaml", document.to_string());
        let scene = Self { system, kept, port, workspace };
        scene.learn();
        scene
    }

    /// Puts the system's current credential in the documents, or in the store.
    fn learn(&self) {
        let mut inputs = self.system.inputs(self.port);
        for (name, value) in self.system.credential() {
            if self.kept != Kept::Documents {
                self.workspace.write(&format!("secrets/{name}"), &value);
            }
            match self.kept {
                Kept::Documents => inputs["connection"][name] = json!(value),
                Kept::Store => inputs["connection"][name] = json!({"store": "keys", "ref": name}),
                Kept::Account => {}
            }
        }
        let mut definition = json!({
            "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "thing"},
            "spec": {
                "type": "thing", "driver": format!("purlin/{}", self.system.driver()), "inputs": inputs,
                "criteria": [{}],
            },
        });
        if self.kept == Kept::Account {
            definition["spec"]["driver_account"] = json!("operator");
        }
        self.workspace.write("definition.json", definition.to_string());
    }

    fn rotate(&self) {
        self.system.rotate();
        self.learn();
    }

    /// The wanted objects: ids, names on the system, and changeable values.
    fn wants(&self, things: &[(&str, &str, &Value)]) {
        let shared: Map<String, Value> = things
            .iter()
            .map(|(id, name, change)| {
                ((*id).to_owned(), json!({"type": "thing", "params": {"name": name, "change": change}}))
            })
            .collect();
        let document =
            json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": shared}});
        self.workspace.write("deployment.json", document.to_string());
    }

    /// Runs the program, which never shows a credential.
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Ran {
        let done = self.workspace.run(arguments);
        for (name, value) in self.system.credential() {
            assert!(!done.to_string().contains(&value), "{name} is shown: {done}");
        }
        done
    }

    #[track_caller]
    fn up(&self) -> Ran {
        self.run(&["up", "--yes"]).status(0)
    }

    #[track_caller]
    fn destroy(&self) {
        self.run(&["destroy", "--yes", "--allow-data-loss"]).status(0);
        assert_eq!(self.system.objects(), Vec::<String>::new());
    }
}

/// An operator's action after a rotation.
#[derive(Clone, Copy, Debug)]
enum Step {
    Plan,
    Refresh,
    Change,
    Rename,
    /// Removes one.
    Remove,
}

const ORDERS: [&[Step]; 7] = [
    &[],
    &[Step::Plan],
    &[Step::Refresh, Step::Plan],
    &[Step::Change, Step::Refresh],
    &[Step::Rename, Step::Change],
    &[Step::Remove, Step::Plan],
    &[Step::Refresh, Step::Rename, Step::Remove, Step::Change],
];

/// Each order of steps, with a rotation before each of them and before `destroy`.
fn days(system: &dyn System, kept: Kept) {
    for (day, steps) in ORDERS.iter().enumerate() {
        let scene = Scene::new(system, kept, &format!("day-{day}"));
        let [before, after] = system.changes();
        let (mut id, mut change, mut has_second) = ("first", &before, true);
        let wants = |id: &str, change: &Value, has_second: bool| {
            let things = [(id, "thing-one", change), ("second", "thing-two", &before)];
            scene.wants(if has_second { &things } else { &things[..1] });
        };
        wants(id, change, has_second);
        scene.up();
        assert_eq!(system.objects(), ["thing-one", "thing-two"]);
        for step in *steps {
            eprintln!("day {day}: {step:?}");
            scene.rotate();
            match step {
                Step::Plan => {
                    scene.run(&["plan", "--detailed-exitcode"]).status(0);
                    scene.run(&["plan", "--refresh", "--detailed-exitcode"]).status(0);
                }
                Step::Refresh => {
                    let done = scene.run(&["refresh"]).status(0);
                    assert!(!done.to_string().contains("was changed"), "{done}");
                }
                Step::Change => {
                    change = &after;
                    wants(id, change, has_second);
                    scene.up().prints("1 updated");
                }
                Step::Rename => {
                    let _ =
                        scene.run(&["state", "rename", "thing#shared.first", "thing#shared.last"]).status(0);
                    id = "last";
                    wants(id, change, has_second);
                    let _ = scene.run(&["plan", "--refresh", "--detailed-exitcode"]);
                    scene.up();
                }
                Step::Remove => {
                    has_second = false;
                    wants(id, change, has_second);
                    scene.run(&["up", "--yes", "--allow-data-loss"]).status(0);
                }
            }
            let wanted: &[&str] = if has_second { &["thing-one", "thing-two"] } else { &["thing-one"] };
            assert_eq!(system.objects(), wanted, "{step:?} lost something");
        }
        scene.rotate();
        scene.destroy();
    }
}

#[test]
fn commands_work_after_a_rotation_with_postgresql() {
    let Some(system) = Role::start() else { return };
    days(&system, Kept::Documents);
}

#[test]
fn commands_work_after_a_rotation_with_postgresql_and_a_secret_store() {
    let Some(system) = Role::start() else { return };
    days(&system, Kept::Store);
}

#[test]
fn commands_work_after_a_rotation_with_postgresql_and_an_account() {
    let Some(system) = Role::start() else { return };
    days(&system, Kept::Account);
}

#[test]
fn commands_work_after_a_rotation_with_s3_and_an_account() {
    let Some(system) = Bucket::start() else { return };
    days(&system, Kept::Account);
}

#[test]
fn commands_work_after_a_rotation_with_redis() {
    let Some(system) = RedisUser::start() else { return };
    days(&system, Kept::Documents);
}

#[test]
fn commands_work_after_a_rotation_with_s3() {
    let Some(system) = Bucket::start() else { return };
    days(&system, Kept::Store);
}

/// A resource that left the documents is reached as its definition says, whether or not others use
/// that.
fn left_behind(system: &dyn System, kept: Kept) {
    let scene = Scene::new(system, kept, "dev");
    // It stays, because documents that declare nothing at all are rejected.
    let idle = json!({
        "apiVersion": "score.dev/v1b1", "metadata": {"name": "idle"}, "containers": {"main": {"image": "x"}},
    });
    scene.workspace.write("idle.json", idle.to_string());
    let [change, _] = system.changes();
    let both = [("first", "thing-one", &change), ("second", "thing-two", &change)];
    scene.wants(&both);
    scene.up();
    scene.rotate();
    // Without its definition, only the record says how to reach it.
    let other = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "other"},
        "spec": {"type": "other", "driver": "purlin/echo", "criteria": [{}]},
    });
    scene.workspace.write("definition.json", other.to_string());
    scene.wants(&[]);
    if kept == Kept::Account {
        // The record has the name of the account, which is always the current one.
        scene.run(&["up", "--yes", "--allow-data-loss"]).status(0);
        assert!(system.objects().is_empty());
        return;
    }
    scene.run(&["up", "--yes", "--allow-data-loss"]).status(1).prints(system.denial());
    assert_eq!(system.objects(), ["thing-one", "thing-two"]);
    scene.learn();
    scene.wants(&both[..1]);
    scene.run(&["up", "--yes", "--allow-data-loss"]).status(0);
    assert_eq!(system.objects(), ["thing-one"]);
    scene.rotate();
    scene.wants(&[]);
    scene.run(&["up", "--yes", "--allow-data-loss"]).status(0);
    assert!(system.objects().is_empty());
}

#[test]
fn removed_resources_use_the_connection_of_their_definition() {
    if let Some(system) = Role::start() {
        left_behind(&system, Kept::Documents);
        left_behind(&system, Kept::Account);
    }
    if let Some(system) = RedisUser::start() {
        left_behind(&system, Kept::Documents);
        left_behind(&system, Kept::Account);
    }
    if let Some(system) = Bucket::start() {
        left_behind(&system, Kept::Documents);
        left_behind(&system, Kept::Account);
    }
}

/// Two environments on one system, of which one is destroyed right after a rotation.
fn neighbours(system: &dyn System) {
    let [change, other] = system.changes();
    let dev = Scene::new(system, Kept::Documents, "dev");
    let prod = Scene::new(system, Kept::Store, "prod");
    dev.wants(&[("it", "of-dev", &change)]);
    prod.wants(&[("it", "of-prod", &change)]);
    dev.up();
    prod.up();
    dev.rotate();
    dev.run(&["destroy", "--yes", "--allow-data-loss"]).status(0);
    assert_eq!(system.objects(), ["of-prod"]);
    // This one does not know of the rotation.
    prod.wants(&[("it", "of-prod", &other)]);
    prod.run(&["up", "--yes"]).status(1).prints(system.denial());
    prod.learn();
    prod.up().prints("1 updated");
    prod.rotate();
    prod.destroy();
}

#[test]
fn two_environments_share_a_system() {
    if let Some(system) = Role::start() {
        neighbours(&system);
    }
    if let Some(system) = RedisUser::start() {
        neighbours(&system);
    }
    if let Some(system) = Bucket::start() {
        neighbours(&system);
    }
}

/// A system that is reachable for a few connections only, and then again.
fn down_in_the_middle(system: &dyn System) {
    let door = Door::to(system.port());
    let scene = Scene::at(system, Kept::Documents, "down", door.port());
    let [before, after] = system.changes();
    let all = |change| {
        [("one", "thing-one", change), ("two", "thing-two", change), ("three", "thing-three", change)]
    };
    let tried = |connections: usize, arguments: &[&str]| {
        scene.rotate();
        door.closes_after(connections);
        let done = scene.run(arguments);
        if done.status != 0 {
            done.status(1).prints(&format!("127.0.0.1:{}", door.port()));
        }
        door.opens();
    };
    scene.wants(&all(&before));
    tried(0, &["up", "--yes", "--parallelism", "1"]);
    scene.rotate();
    scene.up();
    assert_eq!(system.objects(), ["thing-one", "thing-three", "thing-two"]);
    scene.wants(&all(&after));
    tried(1, &["up", "--yes", "--parallelism", "1"]);
    scene.rotate();
    scene.up();
    scene.run(&["plan", "--refresh", "--detailed-exitcode"]).status(0);
    tried(3, &["destroy", "--yes", "--allow-data-loss", "--parallelism", "1"]);
    scene.rotate();
    scene.destroy();
}

#[test]
fn commands_continue_after_postgresql_was_down_in_the_middle() {
    let Some(system) = Role::start() else { return };
    down_in_the_middle(&system);
}

#[test]
fn commands_continue_after_redis_was_down_in_the_middle() {
    let Some(system) = RedisUser::start() else { return };
    down_in_the_middle(&system);
}

#[test]
fn commands_continue_after_s3_was_down_in_the_middle() {
    let Some(system) = Bucket::start() else { return };
    down_in_the_middle(&system);
}
