//! Slips in every line of a realistic folder: after each of them, a run is rejected, or deletes and
//! replaces nothing that the documents still declare.
//!
//! The run is a plan in this process, over a state in memory. The ordinary test takes a sample;
//! `PURLIN_SLIPS=all` takes all slips, and `PURLIN_SEED` other letters.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_documents as documents;
use purlin_documents::Input;
use purlin_host::{Action, Documents, Error, InProcess, MemoryStore, PlanOptions, Purlin, UpOptions};
use purlin_model::ContextDefaults;
use purlin_systems::Project;

use crate::random::{Random, number};

/// The slips in each line.
const SLIPS: [&str; 8] = [
    "a letter is changed",
    "a letter is lost",
    "a letter is doubled",
    "two more spaces",
    "two spaces fewer",
    "the line is lost",
    "the line is doubled",
    "a sign is lost",
];

/// The signs that can be lost.
const SIGNS: &str = ":-$\"'{}[]#.,/*@";

/// A deployed folder.
struct Scene {
    purlin: Arc<Purlin>,
    folder: Project,
    files: BTreeMap<String, String>,
    runtime: tokio::runtime::Runtime,
    /// The recorded keys, each with the words that request it, in their file.
    recorded: Vec<(String, Vec<(String, String)>)>,
}

impl Scene {
    fn new() -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes/folder");
        let mut files = BTreeMap::new();
        read(&source, &source, &mut files);
        let folder = Project::empty();
        for (name, text) in &files {
            folder.write(name, text);
        }
        let builder = Purlin::builder()
            .store(Arc::new(MemoryStore::new()) as _)
            .state_folder(folder.path().join(".purlin"))
            .cache_folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .compiler(Arc::new(InProcess));
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let purlin = Arc::new(builder.build());
        let mut scene = Self { purlin, folder, files, runtime, recorded: Vec::new() };
        let documents = scene.documents("first").unwrap_or_else(|error| panic!("{}", words(&error)));
        let up = scene.purlin.up(documents, UpOptions::default());
        scene.runtime.block_on(async {
            use futures::StreamExt as _;
            let mut up = std::pin::pin!(up);
            while let Some(event) = up.next().await {
                if let Err(error) = event {
                    panic!("{}", words(&error));
                }
            }
        });
        let again = scene.documents("again").unwrap_or_else(|error| panic!("{}", words(&error)));
        let plan = scene.plan(&again).unwrap_or_else(|error| panic!("{}", words(&error)));
        assert!(plan.is_empty(), "{plan:?}");
        let snapshot = scene.runtime.block_on(scene.purlin.snapshot(&again.environment())).expect("read");
        let keys = snapshot.records.iter().filter_map(|record| record.urn.key());
        let keys: Vec<String> = keys.map(|key| key.as_str().to_owned()).collect();
        scene.recorded = keys.into_iter().map(|key| (key.clone(), scene.requests(&key))).collect();
        scene
    }

    fn documents(&self, id: &str) -> Result<Documents, Error> {
        let mut loaded = documents::load(&[Input::Path(self.folder.path().to_owned())]);
        let flags = ContextDefaults::default();
        self.runtime.block_on(self.purlin.recall(&mut loaded, &flags, None))?;
        Documents::new(loaded, &flags, None, id)
    }

    /// The keys that a run with the current files would delete or replace.
    fn plan(&self, documents: &Documents) -> Result<Vec<(String, Action)>, Error> {
        let plan = self.runtime.block_on(self.purlin.plan(documents, PlanOptions::default()))?;
        let steps = plan.steps.iter().filter(|step| matches!(step.action, Action::Delete | Action::Replace));
        Ok(steps.map(|step| (step.key.as_str().to_owned(), step.action)).collect())
    }

    /// The words that request a recorded resource, each with the file that contains it. No word is
    /// part of another text in the folder.
    fn requests(&self, key: &str) -> Vec<(String, String)> {
        let (kind, id) = key.split_once('#').expect("an id");
        let kind = kind.split('.').next().expect("a type");
        let mut words: Vec<&str> = match kind {
            // They follow the resource that brings them along.
            "base-env" => Vec::new(),
            "k8s-namespace" => vec!["k8s-namespace.default"],
            "passphrase" => vec!["resources.passphrase.outputs.value"],
            "reader" => vec!["reader.@#@"],
            _ => Vec::new(),
        };
        if !matches!(kind, "base-env" | "k8s-namespace") {
            words.extend(
                id.split(['.', '/']).filter(|part| !matches!(*part, "modules" | "externals" | "shared")),
            );
        }
        let file_of = |word: &str| {
            let holds = |(_, text): &(&String, &String)| text.contains(word);
            self.files.iter().find(holds).map(|(file, _)| file.clone()).expect(word)
        };
        words.into_iter().map(|word| (word.to_owned(), file_of(word))).collect()
    }

    /// What is lost after a slip, if anything.
    fn lost(&self, file: &str, slipped: &str) -> Option<String> {
        let path = self.folder.path().join(file);
        std::fs::write(&path, slipped).expect("written");
        let planned = self.documents("slip").and_then(|documents| self.plan(&documents));
        std::fs::write(&path, &self.files[file]).expect("written");
        let gone = match planned {
            Ok(gone) => gone,
            Err(Error::Documents(_)) => return None,
            Err(other) => return Some(format!("not rejected because of the documents: {other}")),
        };
        let mut lost = String::new();
        for (key, action) in gone {
            let requests = self.recorded.iter().find(|(known, _)| *known == key);
            let Some((_, requests)) = requests else { continue };
            let is_there = |(word, of): &(String, String)| of != file || contains(slipped, word);
            if action == Action::Replace || requests.iter().all(is_there) {
                let _ = writeln!(lost, "{action:?} {key}");
            }
        }
        (!lost.is_empty()).then_some(lost)
    }
}

fn read(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("read").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("inside").to_string_lossy().into_owned();
            files.insert(name, std::fs::read_to_string(&path).expect("text"));
        }
    }
}

fn words(error: &Error) -> String {
    match error {
        Error::Documents(faults) => {
            faults.iter().map(|fault| format!("{}: {}\n", fault.code, fault.message)).collect()
        }
        other => other.to_string(),
    }
}

/// Whether a text contains a word that is not a part of another one.
fn contains(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-');
    text.match_indices(word).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

/// One slip in a line; `None` if the line has no place for it.
fn slip(text: &str, at: usize, slip: usize, random: &mut Random) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = lines.get(at)?.clone();
    let letters: Vec<usize> =
        line.char_indices().filter(|(_, c)| c.is_alphanumeric()).map(|(at, _)| at).collect();
    let mut letter = || letters.get(random.below(letters.len())).copied();
    let changed = match slip {
        0 => {
            let at = letter()?;
            let old = line.as_bytes()[at];
            let new = if old == b'z' || old == b'Z' || old == b'9' { old - 1 } else { old + 1 };
            Some(format!("{}{}{}", &line[..at], char::from(new), &line[at + 1..]))
        }
        1 => letter().map(|at| format!("{}{}", &line[..at], &line[at + 1..])),
        2 => letter().map(|at| format!("{}{}", &line[..=at], &line[at..])),
        3 => Some(format!("  {line}")),
        4 => line.strip_prefix("  ").map(str::to_owned),
        5 | 6 => Some(line.clone()),
        _ => {
            let signs: Vec<usize> =
                line.char_indices().filter(|(_, c)| SIGNS.contains(*c)).map(|(at, _)| at).collect();
            let at = *signs.get(random.below(signs.len()))?;
            Some(format!("{}{}", &line[..at], &line[at + 1..]))
        }
    }?;
    match slip {
        5 => drop(lines.remove(at)),
        6 => lines.insert(at, changed),
        _ => lines[at] = changed,
    }
    Some(lines.join("\n") + "\n")
}

#[test]
fn no_slip_in_any_line_loses_what_is_still_declared() {
    let scene = Scene::new();
    let seed = number("PURLIN_SEED", 0x9E37_79B9_7F4A_7C15).max(1);
    let is_all = std::env::var("PURLIN_SLIPS").is_ok_and(|slips| slips == "all");
    let mut random = Random::new(seed);
    let (mut made, mut wrong) = (0, Vec::new());
    for (file, text) in &scene.files {
        for line in 0..text.lines().count() {
            for (kind, what) in SLIPS.iter().enumerate() {
                if !is_all && random.below(16) != 0 {
                    continue;
                }
                let Some(slipped) = slip(text, line, kind, &mut random) else { continue };
                made += 1;
                if let Some(lost) = scene.lost(file, &slipped) {
                    let shown = slipped.lines().nth(line).unwrap_or_default();
                    wrong.push(format!("{file}:{}: {what}: {shown}\n{lost}", line + 1));
                }
            }
        }
    }
    println!("{} of {made} slips lost something", wrong.len());
    assert!(wrong.is_empty(), "{} of {made}\n{}", wrong.len(), wrong.join("\n"));
    assert!(made > 150, "{made}");
}
