//! Random mistakes: random edits of documents in a deployed folder, each followed by a plan. The
//! plan may delete a resource only if, according to an independent YAML parser, no document
//! requests it any more. Otherwise the run must be rejected.
//!
//! `PURLIN_EDITS=5000` makes more edits, `PURLIN_SEED` different ones.

use purlin_systems::Project;
use serde_json::Value;

use crate::scene::{FILES, deployed};

/// Where a person sees that a resource is requested: the file, and the path of keys in it.
const REQUESTED: [(&str, &str, &[&str]); 9] = [
    ("dns.default#modules.frontend.externals.site", "apps/web.yaml", &["resources", "site"]),
    ("postgres.default#modules.frontend.externals.orders", "apps/web.yaml", &["resources", "orders"]),
    ("workload.default#modules.frontend", "apps/web.yaml", &["containers"]),
    ("redis.default#modules.backend.externals.sessions", "apps/worker.json", &["resources", "sessions"]),
    ("workload.default#modules.backend", "apps/worker.json", &["containers"]),
    ("s3.default#shared.uploads", "apps/common.yaml", &["spec", "shared", "uploads"]),
    ("dns.default#shared.landing", "apps/common.yaml", &["spec", "shared", "landing"]),
    (
        "s3.default#modules.mailer.externals.outbox",
        "apps/set.yaml",
        &["modules", "mailer", "externals", "outbox"],
    ),
    ("s3.default#shared.archive", "apps/set.yaml", &["shared", "archive"]),
];

/// Pseudorandom numbers, which are the same for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).expect("64 bits") % end.max(1)
    }
}

pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// One random mistake in a text.
fn slip(text: &str, random: &mut Random) -> (String, String) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = random.below(lines.len());
    let what = match random.below(9) {
        0 => {
            lines.remove(at);
            format!("line {} dropped", at + 1)
        }
        1 => {
            let line = &mut lines[at];
            if !line.is_empty() {
                let column = random.below(line.len());
                line.remove(column);
            }
            format!("a character of line {} dropped", at + 1)
        }
        2 => {
            let end = (at + 1 + random.below(6)).min(lines.len());
            lines.drain(at..end);
            format!("lines {} to {end} cut", at + 1)
        }
        3 => {
            lines.truncate(at);
            format!("cut off at line {}", at + 1)
        }
        4 => {
            let line = lines[at].clone();
            lines.insert(at, line);
            format!("line {} doubled", at + 1)
        }
        5 => {
            let other = random.below(lines.len());
            lines.swap(at, other);
            format!("lines {} and {} swapped", at + 1, other + 1)
        }
        6 => {
            let line = &mut lines[at];
            *line = if random.below(2) == 0 {
                format!("  {line}")
            } else {
                line.strip_prefix("  ").unwrap_or(line).to_owned()
            };
            format!("line {} indented otherwise", at + 1)
        }
        7 => {
            lines[at] = format!("# {}", lines[at]);
            format!("line {} commented out", at + 1)
        }
        _ => {
            let line = &mut lines[at];
            let column = random.below(line.len() + 1);
            let letter = ['x', ':', '-', '#', ' ', '"', '{', '0', '.', '\t'][random.below(10)];
            line.insert(column, letter);
            format!("{letter:?} typed into line {}", at + 1)
        }
    };
    (lines.join("\n") + "\n", what)
}

/// Whether a document in a text still requests a resource, parsed without Purlin. A Score file with
/// another name requests other resources.
fn still_requests(text: &str, key: &str, path: &[&str]) -> bool {
    text.split("\n---").filter_map(|part| serde_saphyr::from_str::<Value>(part).ok()).any(|document| {
        let workload = document["metadata"]["name"].as_str().filter(|_| document.get("containers").is_some());
        let is_renamed = workload.is_some_and(|name| {
            key.rsplit("modules.").next().is_some_and(|rest| rest.split('.').next() != Some(name))
        });
        let mut place = &document;
        !is_renamed
            && path.iter().all(|name| match place.get(name) {
                Some(inner) => {
                    place = inner;
                    true
                }
                None => false,
            })
    })
}

/// The faults after one mistake, if any.
fn fault(project: &Project, file: &str, text: &str) -> Option<String> {
    project.write(file, text);
    let ran = project.run(&["plan", "--format", "json"]);
    match ran.status {
        2 => {
            return ran.err.trim().is_empty().then(|| "rejected without a word".to_owned());
        }
        0 => {}
        other => return Some(format!("exit status {other}:\n{}", ran.err)),
    }
    let plan = ran.json();
    let mut faults = String::new();
    for step in plan["steps"].as_array().expect("steps") {
        let key = step["key"].as_str().expect("a key");
        if !matches!(step["action"].as_str(), Some("delete" | "replace")) {
            continue;
        }
        match REQUESTED.iter().find(|(requested, _, _)| *requested == key) {
            Some((_, requested_in, path)) if *requested_in == file && still_requests(text, key, path) => {
                faults.push_str(&format!("{key} goes, though {path:?} is still in {file}\n"));
            }
            Some((_, elsewhere, _)) if *elsewhere != file => {
                faults.push_str(&format!("{key} goes, though {elsewhere} was not touched\n"));
            }
            // Resources that are deleted with another one: the policy of names, the namespace of a
            // cache.
            _ => {}
        }
        let reasons = step["reasons"].as_array().expect("reasons").iter();
        let reasons = reasons.filter_map(|reason| reason["message"].as_str()).collect::<Vec<_>>().join("; ");
        if step["action"] == "delete" && !reasons.contains(file) && !faults.contains(key) {
            faults.push_str(&format!("{key} goes, and no reason names {file}: {reasons}\n"));
        }
    }
    (!faults.is_empty()).then_some(faults)
}

#[test]
fn a_resource_is_deleted_only_if_no_document_declares_it() {
    let mut random = Random::new(number("PURLIN_SEED", 0x9E37_79B9_7F4A_7C15).max(1));
    let runs = number("PURLIN_EDITS", 400);
    let project = deployed();
    let mut faults = Vec::new();
    for run in 0..runs {
        let (file, text) = FILES[1 + random.below(FILES.len() - 1)];
        let (mut slipped, mut what) = slip(text, &mut random);
        // A quarter of the edits contain a second mistake.
        if random.below(4) == 0 && !slipped.trim().is_empty() {
            let (again, more) = slip(&slipped, &mut random);
            (slipped, what) = (again, format!("{what}, then {more}"));
        }
        if let Some(fault) = fault(&project, file, &slipped) {
            faults.push(format!("## run {run}: {file}: {what}\n{fault}---\n{slipped}"));
        }
        project.write(file, text);
    }
    assert!(faults.is_empty(), "{} of {runs}\n{}", faults.len(), faults.join("\n"));
}
