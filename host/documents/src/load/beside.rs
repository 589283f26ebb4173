//! The lock beside a Workspace. If the file exists it is in force, so any fault in it is reported
//! and leads to a lock that approves nothing.

use std::path::Path;
use std::sync::Arc;

use purlin_model::{Diagnostic, Location, Lock};

use crate::SourceMap;
use crate::lock::{self, LOCK_FILE};
use crate::reader::Reader;
use crate::recognise::{Format, Recognised, recognise};
use crate::walk;
use crate::yaml::{self, Node};

const NEWEST: &str = "purlin.dev/v1";

/// The lock in a folder, if the file exists. A text that was read before does not report its faults
/// again.
pub(super) fn lock(folder: &Path, sources: &mut SourceMap, faults: &mut Vec<Diagnostic>) -> Option<Lock> {
    let path = folder.join(LOCK_FILE);
    // A broken link is an unreadable lock, not a missing one.
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        _ => {}
    }
    let name = walk::display(&path);
    let broken = || Lock { faulty: true, location: Location::new(name.clone(), 0, 0), ..Lock::default() };
    let text = match walk::read(&path) {
        Ok(text) => text,
        Err(fault) => {
            faults.push(*fault);
            return Some(broken());
        }
    };
    let is_new = sources.text(&name).is_none();
    let (lock, mut found) = read(&name, &text);
    sources.insert(name.clone(), text);
    if is_new {
        faults.append(&mut found);
    }
    Some(lock.unwrap_or_else(broken))
}

/// The single Lock of a text. None if it holds none, or something else as well.
fn read(name: &Arc<str>, text: &str) -> (Option<Lock>, Vec<Diagnostic>) {
    let mut locks = Vec::new();
    let mut faults = Vec::new();
    let (mut documents, mut whole) = (0, true);
    let mut wrong = yaml::parse(name, text, &mut |document| {
        documents += 1;
        let mut reader = Reader::new(name, text, false);
        reader.faults.extend(document.faults);
        let root = &document.root;
        match newer(&reader, root).map_or_else(|| recognise(&reader, root), Recognised::Wrong) {
            Recognised::Ours(Format::Lock) => locks.push(lock::read(&mut reader, root)),
            Recognised::Wrong(fault) => reader.report(fault),
            Recognised::Ours(_) | Recognised::Other(_) | Recognised::Stray(_) => {
                let at = root.get("kind").map_or(reader.at(&root.span), |kind| reader.at(&kind.span));
                let fault =
                    Diagnostic::error("not-a-lock", "this file contains a `kind: Lock` and nothing else");
                reader.report(fault.at(&at).help("move the document into another file"));
            }
        }
        whole &= !reader.faults.iter().any(Diagnostic::is_error);
        faults.append(&mut reader.faults);
    });
    whole &= wrong.is_empty();
    faults.append(&mut wrong);
    if whole && documents != 1 {
        let message = match documents {
            0 => "the lock is empty".to_owned(),
            several => format!("the lock contains {several} documents, but only one is allowed"),
        };
        let fault = Diagnostic::error("not-a-lock", message).at(&Location::new(name.clone(), 1, 1));
        faults.push(fault.help(lock::NEW_LOCK));
        whole = false;
    }
    (locks.pop().filter(|_| whole), faults)
}

/// A lock of a later format: its restrictions are unknown here.
fn newer(reader: &Reader<'_>, root: &Node<'_>) -> Option<Diagnostic> {
    let version = root.get("apiVersion")?;
    let text = version.as_str()?;
    let number: u32 = text.strip_prefix("purlin.dev/v")?.parse().ok()?;
    (number > 1).then(|| {
        let message = format!("the lock is of version `{text}`, and this version of Purlin reads `{NEWEST}`");
        reader
            .about(&version.span, "unknown-version", message)
            .help("use the version of Purlin that wrote it, or a newer one")
    })
}
