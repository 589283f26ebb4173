//! `cargo xtask soak`: reconciles many environments in one PostgreSQL server from several hosts for
//! half an hour. Meanwhile hosts are killed and suspended, the server crashes, objects change
//! outside of Purlin, users deploy, and roll-outs bring changed definitions to all environments, one after
//! another and two at a time. At the end, everything must match the documents, each environment must have the
//! last version of the definition, and nothing may have been created twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use purlin_systems::postgres::{PASSWORD, Postgres};
use purlin_systems::rest::{Service, ask};
use serde_json::{Value, json};

use crate::build;
use crate::step::{built, step};

/// The number of things in each environment.
const THINGS: usize = 3;
/// The lease of a host in seconds.
const LEASE: u64 = 10;
/// How often a host is killed or suspended, and the server crashes.
const KILL: Duration = Duration::from_secs(10);
const SUSPEND: Duration = Duration::from_mins(1);
const CRASH: Duration = Duration::from_mins(3);
/// How often a thing is changed.
const CHANGE: Duration = Duration::from_millis(100);
/// How often there is a deployment.
const DEPLOY: Duration = Duration::from_secs(1);
/// The time between two roll-outs.
const ROLL_OUT: Duration = Duration::from_secs(40);
/// The number of rounds after which everything must match the documents.
const ROUNDS: usize = 10;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Duration in minutes.
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    minutes: u64,
    /// Number of environments.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    environments: usize,
    /// Number of hosts.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    hosts: usize,
    /// Seed of the random numbers.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Do not build; use the program of an earlier build.
    #[arg(long)]
    no_build: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if !arguments.no_build {
        build::run(&build::Arguments { release: true })?;
    }
    let purlin = built(true).join("purlin");
    let settings = ["fsync=on", "log_statement=none", "max_connections=300", "shared_buffers=256MB"];
    let postgres = Postgres::with(None, &settings).context("PostgreSQL is not installed")?;
    let folder = tempfile::tempdir()?;
    let service = Service::start();
    let soak =
        Soak { purlin, folder: folder.path().to_owned(), postgres, service, counted: Counted::default() };
    soak.prepare(arguments.environments)?;
    soak.work(arguments)?;
    soak.check(arguments.environments)
}

struct Soak {
    purlin: PathBuf,
    folder: PathBuf,
    postgres: Postgres,
    service: Service,
    counted: Counted,
}

/// Counts the events.
#[derive(Default)]
struct Counted {
    killed: AtomicUsize,
    suspended: AtomicUsize,
    crashed: AtomicUsize,
    changed: AtomicUsize,
    /// Things that were deleted outside of Purlin.
    deleted: AtomicUsize,
    deployed: AtomicUsize,
    /// Roll-outs: each has a version of the definition.
    rolled_out: AtomicUsize,
    created: AtomicUsize,
    requests: AtomicUsize,
}

fn count(counter: &AtomicUsize, by: usize) {
    counter.fetch_add(by, Ordering::Relaxed);
}

/// Pseudorandom numbers, which are the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % most.max(1)
    }
}

impl Soak {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.purlin);
        command.args(words).current_dir(&self.folder).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Runs a command and returns its output.
    fn ask(&self, words: &[&str], status: i32) -> anyhow::Result<String> {
        let done = self.command(words).output()?;
        let stderr = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.code() == Some(status), "`purlin {}` failed:\n{stderr}", words.join(" "));
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    fn write(&self, name: &str, document: &Value) -> anyhow::Result<()> {
        fs::write(self.folder.join(name), document.to_string()).context("cannot write a document")
    }

    /// Writes the documents, and deploys all environments.
    fn prepare(&self, environments: usize) -> anyhow::Result<()> {
        fs::create_dir(self.folder.join("secrets"))?;
        fs::write(self.folder.join("secrets/password"), PASSWORD)?;
        self.write(
            "purlin.yaml",
            &json!({"apiVersion": "purlin.dev/v1", "kind": "Workspace", "spec": {
                "state": {"postgres": {
                    "url": format!("postgres://postgres@127.0.0.1:{}/postgres", self.postgres.port),
                    "password": {"store": "local", "ref": "password"},
                    "lease": format!("{LEASE}s"),
                }},
                "key": {"file": "key.txt"},
                "secret_stores": {"local": {"file": "./secrets"}},
                "reconcile": {"interval": "30s"},
                "drivers": {"purlin/http": {
                    "grants": {"http": [format!("GET,POST,PUT,PATCH,DELETE {}/things*", self.service.url())]},
                    "limits": {"time": "8s", "grace": "0s"},
                }},
            }}),
        )?;
        self.define(0)?;
        let shared: serde_json::Map<String, Value> = (0..THINGS)
            .map(|number| {
                let name = format!("t{number}");
                (name.clone(), json!({"type": "thing", "params": {"name": name, "size": "${values.size}"}}))
            })
            .collect();
        self.write(
            "deployment.yaml",
            &json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment",
            "spec": {"values": {"size": 0}, "shared": shared}}),
        )?;
        self.ask(&["state", "key", "new", "key.txt"], 0)?;
        self.ask(&["state", "init"], 0)?;
        step(&format!("{environments} environments"), || {
            std::thread::scope(|scope| {
                let deploy = |worker: usize| {
                    (worker..environments).step_by(4).try_for_each(|number| {
                        let env = format!("e{number}");
                        self.ask(&["up", "--yes", "--quiet", "--new-environment", "--env", &env], 0).map(drop)
                    })
                };
                let works: Vec<_> = (0..4).map(|worker| scope.spawn(move || deploy(worker))).collect();
                works
                    .into_iter()
                    .try_for_each(|work| work.join().map_err(|_| anyhow::anyhow!("it panicked"))?)
            })
        })
    }

    /// Writes a version of the definition. Whoever reads it sees one version or the other.
    fn define(&self, version: usize) -> anyhow::Result<()> {
        let name = "${context.env.id}-${params.name}";
        self.write(
            "thing.new",
            &json!({"apiVersion": "purlin.dev/v1", "kind": "Definition",
            "metadata": {"id": "thing"}, "spec": {"type": "thing", "driver": "purlin/http", "criteria": [{}],
            "inputs": {"connection": {"base_url": self.service.url()}, "values": {
                "name": name,
                "create": {"path": "/things", "body": {"name": name, "size": "${params.size}",
                    "version": version, "labels": ["${context.res.guresid}"]}},
                "update": {"method": "PATCH"},
                "find": {"path": "/things?name={name}", "items": "/items", "name": "/name", "next": "/next"},
                "mark": "/labels",
                "observe": {"/create/body/size": "/size"},
            }}}}),
        )?;
        fs::rename(self.folder.join("thing.new"), self.folder.join("thing.yaml")).context("cannot rename")
    }

    /// Causes all faults for the requested time.
    fn work(&self, arguments: &Arguments) -> anyhow::Result<()> {
        let &Arguments { minutes, environments, hosts, seed, .. } = arguments;
        let (end, over) = (Instant::now() + Duration::from_mins(minutes), AtomicBool::new(false));
        let is_over = || over.load(Ordering::Relaxed) || Instant::now() >= end;
        std::thread::scope(|scope| {
            let works = [
                scope.spawn(|| self.hosts(hosts, seed, &is_over)),
                scope.spawn(|| self.change_things(seed ^ 0x5eed, &is_over)),
                scope.spawn(|| self.deploy(environments, seed ^ 0xdeb1, &is_over)),
                scope.spawn(|| self.roll_out(environments, &is_over)),
                scope.spawn(|| self.crash_server(&is_over)),
                scope.spawn(|| self.watch(&is_over)),
            ];
            let mut result = Ok(());
            for work in works {
                let ended = work.join().unwrap_or_else(|_| bail!("it panicked"));
                over.fetch_or(ended.is_err(), Ordering::Relaxed);
                result = result.and(ended);
            }
            result
        })
    }

    fn host(&self, number: usize) -> anyhow::Result<Child> {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join(format!("host{number}")))?;
        let words = ["reconcile", "--all", "--watch", "--yes", "--format", "json", "--turns", "4"];
        Ok(self.command(&words).stdout(log.try_clone()?).stderr(log).spawn()?)
    }

    /// Runs this many hosts, kills them one after another, and suspends one for longer than its
    /// lease.
    fn hosts(&self, hosts: usize, seed: u64, is_over: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let mut chance = Chance(seed);
        let mut all = (0..hosts).map(|number| self.host(number)).collect::<Result<Vec<_>, _>>()?;
        let (mut kill, mut suspend) = (Instant::now() + KILL, Instant::now() + SUSPEND);
        let mut asleep: Option<(u32, Instant)> = None;
        while !is_over() {
            std::thread::sleep(Duration::from_millis(100));
            for (number, host) in all.iter_mut().enumerate() {
                if let Some(status) = host.try_wait()? {
                    bail!("a host ended by itself with {status}: {}", self.last_words(number));
                }
            }
            if let Some((pid, _)) = asleep.filter(|(_, until)| Instant::now() >= *until) {
                signal(pid, "CONT")?;
                asleep = None;
            }
            let chosen = chance.below(hosts);
            let Some(host) = all.get_mut(chosen) else { continue };
            if Instant::now() >= suspend && asleep.is_none() {
                suspend += SUSPEND;
                signal(host.id(), "STOP")?;
                asleep = Some((host.id(), Instant::now() + Duration::from_secs(LEASE + 5)));
                count(&self.counted.suspended, 1);
            } else if Instant::now() >= kill && asleep.is_none_or(|(pid, _)| pid != host.id()) {
                kill += KILL;
                host.kill()?;
                host.wait()?;
                *host = self.host(chosen)?;
                count(&self.counted.killed, 1);
            }
        }
        if let Some((pid, _)) = asleep {
            signal(pid, "CONT")?;
        }
        for host in &all {
            signal(host.id(), "TERM")?;
        }
        for (number, mut host) in all.into_iter().enumerate() {
            let status = host.wait()?;
            ensure!(status.success(), "a host did not end well ({status}): {}", self.last_words(number));
        }
        Ok(())
    }

    fn last_words(&self, number: usize) -> String {
        let output = fs::read_to_string(self.folder.join(format!("host{number}"))).unwrap_or_default();
        let lines: Vec<&str> = output.lines().collect();
        lines.split_at(lines.len().saturating_sub(5)).1.join("\n")
    }

    /// Deletes some things and changes others.
    fn change_things(&self, seed: u64, is_over: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let mut chance = Chance(seed);
        while !is_over() {
            std::thread::sleep(CHANGE);
            let all = self.service.all("things");
            let Some(id) = all.keys().nth(chance.below(all.len())) else { continue };
            let url = format!("{}/things/{id}", self.service.url());
            if chance.below(2) == 0 {
                // If a host deletes it at the same time, one of the two gets 404.
                let (status, _) = ask("DELETE", &url, &[("x-by", "chance")], &Value::Null);
                count(&self.counted.deleted, usize::from(status < 300));
            } else {
                ask("PATCH", &url, &[("x-by", "chance")], &json!({"size": 1_000_000}));
                count(&self.counted.changed, 1);
            }
        }
        Ok(())
    }

    /// Deploys random environments with other values, as users do.
    fn deploy(&self, environments: usize, seed: u64, is_over: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let mut chance = Chance(seed);
        while !is_over() {
            std::thread::sleep(DEPLOY);
            let (env, size) =
                (format!("e{}", chance.below(environments)), format!("size:={}", chance.below(1000)));
            let words = ["up", "--yes", "--quiet", "--env", &env, "--lock-timeout", "2m", "--set", &size];
            let done = self.command(&words).output()?;
            let stderr = String::from_utf8_lossy(&done.stderr);
            // The server may have been down for longer than a command waits, or a thing may have
            // disappeared.
            ensure!(done.status.code().is_some_and(|code| code < 2), "`purlin up --env {env}`:\n{stderr}");
            count(&self.counted.deployed, usize::from(done.status.success()));
        }
        Ok(())
    }

    /// Brings one version of the definition after another to all environments. Every third one begins while the
    /// one before is under way, and takes its place.
    fn roll_out(&self, environments: usize, is_over: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let mut next = Instant::now() + ROLL_OUT;
        // Things that others delete at the wrong moment, or a server that is down, may fail environments.
        let failures = environments.to_string();
        while !is_over() {
            std::thread::sleep(Duration::from_millis(200));
            if Instant::now() < next {
                continue;
            }
            next += ROLL_OUT;
            let version = self.counted.rolled_out.load(Ordering::Relaxed) + 1;
            self.define(version)?;
            let waits = if version % 3 == 1 { &["--detach"][..] } else { &["--supersede"] };
            let words = ["rollout", "start", "thing.yaml", "--yes", "--quiet", "--wave", "20%"];
            let words = [&words[..], &["--max-failures", &failures], waits].concat();
            let done = self.command(&words).output()?;
            let stderr = String::from_utf8_lossy(&done.stderr);
            ensure!(done.status.code().is_some_and(|code| code < 2), "`purlin rollout start`:\n{stderr}");
            count(&self.counted.rolled_out, 1);
            let listed = self.command(&["rollout", "list", "--format", "json"]).output()?;
            let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
            let latest = &listed["rollouts"][0]["number"];
            if let Some(latest) = latest.as_u64() {
                self.counts(latest, environments)?;
            }
        }
        Ok(())
    }

    /// How many environments are in which state in a roll-out; they must add up to all.
    fn counts(&self, number: u64, environments: usize) -> anyhow::Result<Value> {
        let done = self.command(&["rollout", "status", &number.to_string(), "--format", "json"]).output()?;
        // The server may be down.
        let Ok(report) = serde_json::from_slice::<Value>(&done.stdout) else { return Ok(Value::Null) };
        let Some(counts) = report["rollout"]["counts"].as_object() else { return Ok(Value::Null) };
        let total: u64 = counts.values().filter_map(Value::as_u64).sum();
        ensure!(total == environments as u64, "{counts:?} of roll-out {number} do not add up");
        Ok(report["rollout"].clone())
    }

    /// Kills a process of the server, which then drops all connections and recovers from its log.
    fn crash_server(&self, is_over: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let mut next = Instant::now() + CRASH;
        while !is_over() {
            std::thread::sleep(Duration::from_millis(200));
            if Instant::now() < next {
                continue;
            }
            next += CRASH;
            let sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'purlin' LIMIT 1";
            if let Ok(pid) = self.postgres.ask(sql).trim().parse() {
                signal(pid, "KILL")?;
                count(&self.counted.crashed, 1);
            }
        }
        Ok(())
    }

    /// Checks that nothing was created twice, and counts the requests to the service.
    fn watch(&self, is_over: &dyn Fn() -> bool) -> anyhow::Result<()> {
        let mut last_tally = Instant::now();
        while !is_over() {
            std::thread::sleep(Duration::from_secs(1));
            self.count_requests();
            self.names()?;
            if last_tally.elapsed() > Duration::from_mins(1) {
                last_tally = Instant::now();
                eprintln!("{}", self.tally());
            }
        }
        Ok(())
    }

    fn count_requests(&self) {
        let requests = self.service.requests();
        let created = requests.iter().filter(|request| request.method == "POST").count();
        count(&self.counted.created, created);
        count(&self.counted.requests, requests.len());
    }

    /// All things by name. Fails if two have the same name.
    fn names(&self) -> anyhow::Result<BTreeMap<String, Value>> {
        let mut names = BTreeMap::new();
        for (id, thing) in self.service.all("things") {
            let name = thing["name"].as_str().unwrap_or_default().to_owned();
            if let Some(other) = names.insert(name.clone(), thing) {
                bail!("`{name}` was made twice: as {id} and as {}", other["id"]);
            }
        }
        Ok(names)
    }

    fn tally(&self) -> String {
        let Counted { killed, suspended, crashed, changed, deleted, deployed, rolled_out, created, requests } =
            &self.counted;
        let of = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        format!(
            "{} kills, {} suspensions, {} crashes of the server; {} things changed and {} deleted by others; \
             {} deployments; {} roll-outs; {} things made; {} requests",
            of(killed),
            of(suspended),
            of(crashed),
            of(changed),
            of(deleted),
            of(deployed),
            of(rolled_out),
            of(created),
            of(requests)
        )
    }

    /// Checks that each environment has the version of the last roll-out, unless a deployment with an earlier one,
    /// which had read its documents before, took it out.
    fn check_versions(&self, names: &BTreeMap<String, Value>, environments: usize) -> anyhow::Result<()> {
        let version = self.counted.rolled_out.load(Ordering::Relaxed);
        let listed: Value = serde_json::from_str(&self.ask(&["rollout", "list", "--format", "json"], 0)?)?;
        let Some(latest) = listed["rollouts"][0]["number"].as_u64() else { return Ok(()) };
        let report = self.counts(latest, environments)?;
        println!("last roll-out: {} {}", report["status"], report["counts"]);
        ensure!(report["status"] == "done", "the last roll-out is {}", report["status"]);
        for environment in report["environments"].as_array().into_iter().flatten() {
            let (env, state) = (environment["env"].as_str().unwrap_or_default(), &environment["state"]);
            ensure!(state == "matching" || state == "left", "{env} is {state}");
            for number in (0..THINGS).filter(|_| state == "matching") {
                let thing = &names[&format!("{env}-t{number}")];
                ensure!(thing["version"] == version, "{env} has version {}, not {version}", thing["version"]);
            }
        }
        for rollout in listed["rollouts"].as_array().into_iter().flatten() {
            let number = rollout["number"].as_u64().unwrap_or_default();
            let report = self.counts(number, environments)?;
            ensure!(
                report["status"] == "done",
                "roll-out {number} is {}: {}",
                report["status"],
                report["counts"]
            );
        }
        Ok(())
    }

    /// Checks that everything matches the documents and was created once.
    fn check(&self, environments: usize) -> anyhow::Result<()> {
        let missed = self.postgres.ask(&format!(
            "SELECT count(*) FROM purlin.environments WHERE turn_at IS NULL OR turn_at < now() - interval '{} s'",
            30 + 4 * LEASE
        ));
        let mut last = Value::Null;
        for round in 0..ROUNDS {
            let done = self.command(&["reconcile", "--all", "--yes", "--format", "json"]).output()?;
            let lines = String::from_utf8_lossy(&done.stdout).into_owned();
            last = serde_json::from_str(lines.lines().last().unwrap_or_default()).unwrap_or_default();
            // The last round must change nothing.
            if done.status.success() && lines.lines().count() == 1 {
                break;
            }
            ensure!(round + 1 < ROUNDS, "something still changes after {ROUNDS} rounds:\n{lines}");
            // The leases of killed hosts expire.
            std::thread::sleep(Duration::from_secs(LEASE));
        }
        self.count_requests();
        println!("{}", self.tally());
        println!("last round: {last}");
        let names = self.names()?;
        ensure!(names.len() == environments * THINGS, "there are {} things", names.len());
        let of = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let (created, deleted) = (of(&self.counted.created), of(&self.counted.deleted));
        ensure!(
            created == names.len() + deleted,
            "{created} things were made, where {} were to be",
            names.len() + deleted
        );
        println!("environments without a turn in the last {} s: {missed}", 30 + 4 * LEASE);
        self.check_versions(&names, environments)?;
        let repair = self.ask(&["state", "repair", "--check"], 0)?;
        println!("{}", repair.trim_end());
        let left = self.postgres.ask("SELECT count(holder) FROM purlin.environments");
        ensure!(left == "0", "{left} environments are still held");
        Ok(())
    }
}

fn signal(pid: u32, name: &str) -> anyhow::Result<()> {
    let done = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status()?;
    ensure!(done.success() || name == "TERM", "cannot send {name} to {pid}");
    Ok(())
}
