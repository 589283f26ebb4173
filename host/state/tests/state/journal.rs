//! Whatever happens to the files: acknowledged data is there, or the damage is reported and
//! repaired (SPEC §10).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::executor::block_on as run;
use purlin_state::{Change, EmbeddedStore, Error, OpenOptions, Probe, Snapshot, Staleness, Store};

use crate::common::*;

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn journal(folder: &Path) -> PathBuf {
    let mut found: Vec<_> = fs::read_dir(place(folder, &environment()).join("journal"))
        .expect("a folder")
        .map(|e| e.expect("an entry").path())
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &to)
        } else {
            let _ = fs::copy(&path, &to).expect("copied");
        }
    }
}

/// The content of a folder, regardless of whether it is a copy.
fn load(folder: &Path) -> Result<Snapshot, Error> {
    let snapshot = run(open(folder)?.load(&environment()))?;
    Ok(Snapshot {
        staleness: snapshot.staleness.filter(|staleness| *staleness != Staleness::Copied),
        ..snapshot
    })
}

/// Removes the note on how far the journal went and where its file was.
fn forget_head(folder: &Path) {
    fs::remove_file(place(folder, &environment()).join("head")).expect("removed");
}

/// Commits one by one, and returns the state after each.
fn history(folder: &Path) -> Vec<Snapshot> {
    let store = open(folder).expect("opens");
    let commits = (0..8).flat_map(|n| {
        let record = if n % 3 == 0 { secret_record(n) } else { record(n) };
        let done = vec![put(record.clone()), Change::Settle(record.id())];
        [vec![intend(record.clone())], done]
    });
    let mut states = vec![Snapshot::default()];
    for commit in commits.chain([vec![remove(2), put(secret_record(3))]]) {
        run(store.commit(commit)).expect("commits");
        states.push(run(store.load(&environment())).expect("loads"));
    }
    run(store.close()).expect("closes");
    states
}

/// The positions at which frames end, starting with those of the header and the base.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = vec![40];
    while let Some(head) = bytes.get(ends[ends.len() - 1]..).filter(|rest| rest.len() >= 24) {
        let length = u32::from_le_bytes(head[..4].try_into().expect("four")) as usize;
        ends.push(ends[ends.len() - 1] + 24 + length);
    }
    ends
}

#[test]
fn every_prefix_of_the_journal_is_an_earlier_state() {
    let folder = temporary();
    let states = history(folder.path());
    let bytes = fs::read(journal(folder.path())).expect("a journal");
    let ends = ends(&bytes);
    // The header, the base and its end; then a frame for each commit and one for the close.
    assert_eq!(ends.len(), 3 + states.len() - 1, "a frame a commit");
    let cut = temporary();
    let cuts = (0..bytes.len()).step_by(149).chain(ends.iter().flat_map(|end| [end - 1, *end, end + 1]));
    for at in cuts.filter(|at| *at <= bytes.len()) {
        let _ = fs::remove_dir_all(cut.path());
        copy(folder.path(), cut.path());
        forget_head(cut.path());
        fs::write(journal(cut.path()), &bytes[..at]).expect("written");
        if at < ends[2] {
            // A crash cannot leave this, since it was synced before the file got its name.
            let error = load(cut.path()).expect_err("not whole");
            assert!(matches!(error, Error::Corrupt { .. }), "{at}: {error}");
            assert!(error.to_string().contains("state repair"), "{error}");
            continue;
        }
        let whole = ends.iter().filter(|end| **end <= at).count() - 3;
        let expected = &states[(whole + 1).min(states.len() - 1)];
        assert_eq!(&load(cut.path()).expect("opens"), expected, "cut at {at}");
        let report = EmbeddedStore::verify(cut.path(), &options(cut.path())).expect("looks");
        assert!(report.is_whole(), "{at}: {report:?}");
        // The store continues from there.
        run(open(cut.path()).expect("opens").commit(vec![put(record(99))])).expect("commits");
        assert_eq!(load(cut.path()).expect("opens").records.len(), expected.records.len() + 1);
    }
}

/// A journal that ends with a complete batch is valid, but may still be older than what was
/// written.
#[test]
fn a_journal_that_lost_its_end_is_noticed() {
    let folder = temporary();
    let states = history(folder.path());
    let bytes = fs::read(journal(folder.path())).expect("a journal");
    let cut = temporary();
    let ends = ends(&bytes);
    for (at, end) in ends.iter().copied().enumerate().skip(2).filter(|(_, end)| *end < bytes.len()) {
        let _ = fs::remove_dir_all(cut.path());
        copy(folder.path(), cut.path());
        fs::write(journal(cut.path()), &bytes[..end]).expect("written");
        let error = load(cut.path()).expect_err("it is older");
        assert!(error.to_string().contains("its end is missing, or it is an older copy"), "{end}: {error}");
        let refused = run(open(cut.path()).expect("opens").commit(vec![put(record(99))]));
        assert!(matches!(refused, Err(Error::Corrupt { .. })), "{end}: {refused:?}");
        let report = EmbeddedStore::verify(cut.path(), &options(cut.path())).expect("looks");
        assert_eq!((report.findings.len(), report.lost.len()), (1, 1), "{end}: {report:?}");
        // A process that continues from it must read the real resources.
        let report = EmbeddedStore::repair(cut.path(), &options(cut.path())).expect("repairs");
        let missing = ends.len() - 1 - at;
        assert_eq!(report.lost, [format!("the last {missing} batches of changes")]);
        let found = load(cut.path()).expect("opens");
        assert_eq!(found.staleness, Some(Staleness::Lost));
        assert_eq!(found.records, states[at - 1].records, "{end}");
        assert!(EmbeddedStore::verify(cut.path(), &options(cut.path())).expect("looks").is_whole());
    }
    // The intact journal of another time is rejected too.
    let _ = fs::remove_dir_all(cut.path());
    copy(folder.path(), cut.path());
    let store = open(folder.path()).expect("opens");
    for n in 0..400 {
        let mut large = record(n % 8);
        large.state.outputs = "z".repeat(2000 + n).as_str().into();
        run(store.commit(vec![put(large)])).expect("commits");
    }
    run(store.close()).expect("closes");
    assert_ne!(journal(folder.path()).file_name(), journal(cut.path()).file_name(), "it began anew");
    fs::remove_file(journal(folder.path())).expect("removed");
    let old = journal(cut.path());
    let back = place(folder.path(), &environment()).join("journal").join(old.file_name().expect("a name"));
    let _ = fs::copy(&old, back).expect("copied");
    let error = load(folder.path()).expect_err("it is older");
    assert!(error.to_string().contains("is not the one that was written last"), "{error}");
}

#[test]
fn a_flipped_byte_is_rejected_or_harmless() {
    let folder = temporary();
    let states = history(folder.path());
    let last = &states[states.len() - 1];
    let bytes = fs::read(journal(folder.path())).expect("a journal");
    let flipped = temporary();
    let (mut refused, mut harmless) = (0, 0);
    let mut touched = true;
    for at in (0..bytes.len()).step_by(11) {
        if std::mem::take(&mut touched) {
            let _ = fs::remove_dir_all(flipped.path());
            copy(folder.path(), flipped.path());
        }
        let mut wrong = bytes.clone();
        wrong[at] ^= 1 << (at % 8);
        fs::write(journal(flipped.path()), &wrong).expect("written");
        match load(flipped.path()) {
            Ok(snapshot) => {
                (harmless, touched) = (harmless + 1, true);
                assert_eq!(&snapshot, last, "{at}");
            }
            Err(error) => {
                refused += 1;
                assert!(matches!(error, Error::Corrupt { .. } | Error::Newer { .. }), "{at}: {error}");
                if refused % 20 == 0 && !matches!(error, Error::Newer { .. }) {
                    touched = true;
                    let report =
                        EmbeddedStore::repair(flipped.path(), &options(flipped.path())).expect("repairs");
                    assert!(!report.findings.is_empty(), "{at}: {report:?}");
                    assert!(
                        report.moved.iter().all(|path| fs::read(path).expect("kept") == wrong),
                        "{report:?}"
                    );
                    // Every loss is reported.
                    let found = load(flipped.path()).expect("opens");
                    let same = found.records == last.records && found.pending == last.pending;
                    assert!(same || !report.lost.is_empty(), "{at}: {report:?}");
                    assert_eq!(found.staleness, (!report.lost.is_empty()).then_some(Staleness::Lost), "{at}");
                }
            }
        }
    }
    // Only the note of a proper close can be lost without harm.
    assert!(harmless <= 24 / 11 + 1 && refused > 500, "{harmless} harmless, {refused} refused");
}

#[test]
fn the_intact_part_of_a_damaged_journal_is_saved() {
    let folder = temporary();
    let states = history(folder.path());
    let last = &states[states.len() - 1];
    let path = journal(folder.path());
    let bytes = fs::read(&path).expect("a journal");
    let ends = ends(&bytes);
    // In the value of the commit that put record 1 (two commits per record, from the third on).
    let mut wrong = bytes.clone();
    wrong[ends[4] + 24 + 200] ^= 1;
    fs::write(&path, &wrong).expect("written");
    let error = load(folder.path()).expect_err("damaged");
    assert!(error.to_string().contains(&format!("at byte {}", ends[4])), "{error}");
    let report = EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks");
    assert!(!report.is_whole());
    assert!(load(folder.path()).is_err(), "looking repairs nothing");
    let report = EmbeddedStore::repair(folder.path(), &options(folder.path())).expect("repairs");
    assert!(report.lost.iter().any(|lost| lost.contains("r00001")), "{report:?}");
    let snapshot = load(folder.path()).expect("opens");
    let mut expected = plain(&last.records);
    expected.retain(|record| record.urn != urn(1));
    assert_eq!(plain(&snapshot.records), expected);
    assert!(EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks").is_whole());
    assert_eq!(report.moved.len(), 1, "{report:?}");
    assert_eq!(fs::read(&report.moved[0]).expect("kept"), wrong);
    assert!(report.moved[0].starts_with(place(folder.path(), &environment()).join("stale")));
}

/// A repair that is interrupted at any point leaves a state that a second one repairs.
#[test]
fn an_interrupted_repair_can_be_repeated() {
    let folder = temporary();
    let states = history(folder.path());
    let path = journal(folder.path());
    let mut wrong = fs::read(&path).expect("a journal");
    let damaged = ends(&wrong)[4] + 24 + 200;
    wrong[damaged] ^= 1;
    fs::write(&path, &wrong).expect("written");
    let last = &states[states.len() - 1];
    let mut expected = plain(&last.records);
    expected.retain(|record| record.urn != urn(1));
    let own = |folder: &Path| place(folder, &environment());
    let name = path.file_name().expect("a name").to_owned();
    // The steps of a repair: half of the copy and all of it; half of the new journal and all of it;
    // the old journal removed.
    for step in 0..6 {
        let cut = temporary();
        copy(folder.path(), cut.path());
        let (journals, stale) = (own(cut.path()).join("journal"), own(cut.path()).join("stale/journal"));
        let repaired = temporary();
        copy(folder.path(), repaired.path());
        drop(EmbeddedStore::repair(repaired.path(), &options(repaired.path())).expect("repairs"));
        let new = journal(repaired.path());
        let next = new.file_name().expect("a name");
        fs::create_dir_all(&stale).expect("made");
        match step {
            0 => fs::write(stale.join(&name), &wrong[..wrong.len() / 2]).expect("written"),
            _ => fs::write(stale.join(&name), &wrong).expect("written"),
        }
        match step {
            2 => {
                let half = fs::read(&new).expect("read");
                let unfinished = journals.join(format!("{}.new", next.to_string_lossy()));
                fs::write(unfinished, &half[..half.len() / 2]).expect("written");
            }
            3.. => drop(fs::copy(&new, journals.join(next)).expect("copied")),
            _ => {}
        }
        if step > 3 {
            fs::remove_file(journals.join(&name)).expect("removed");
        }
        if step > 4 {
            // The worst case: only the copy in `stale` is left.
            fs::remove_file(journals.join(next)).expect("removed");
        }
        let report = EmbeddedStore::repair(cut.path(), &options(cut.path())).expect("repairs");
        let found = load(cut.path()).unwrap_or_else(|error| panic!("step {step}: {error} after {report:?}"));
        assert_eq!(plain(&found.records), expected, "step {step}: {report:?}");
        let report = EmbeddedStore::verify(cut.path(), &options(cut.path())).expect("looks");
        assert!(report.is_whole(), "step {step}: {report:?}");
        run(open(cut.path()).expect("opens").commit(vec![put(record(99))])).expect("commits");
    }
}

/// The copy that a repair kept is older than what was written since.
#[test]
fn changes_after_a_repair_are_missed() {
    let folder = temporary();
    let _ = history(folder.path());
    let path = journal(folder.path());
    let mut wrong = fs::read(&path).expect("a journal");
    wrong[9] ^= 1;
    fs::write(&path, &wrong).expect("written");
    let report = EmbeddedStore::repair(folder.path(), &options(folder.path())).expect("repairs");
    assert!(!report.is_whole(), "{report:?}");
    run(open(folder.path()).expect("opens").commit(vec![put(record(99))])).expect("commits");
    fs::remove_file(journal(folder.path())).expect("removed");
    for _ in 0..2 {
        let report = EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks");
        assert!(report.lost.iter().any(|lost| lost.contains("of the last changes")), "{report:?}");
    }
    let report = EmbeddedStore::repair(folder.path(), &options(folder.path())).expect("repairs");
    assert!(report.lost.iter().any(|lost| lost.contains("of the last changes")), "{report:?}");
    let found = load(folder.path()).expect("opens");
    assert_eq!(found.staleness, Some(Staleness::Lost));
    assert!(found.records.iter().all(|kept| kept.urn != urn(99)));
    assert!(EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks").is_whole());
}

/// A missing journal is noticed only if there is a note about it.
#[test]
fn a_repair_restores_the_note_of_the_journals_end() {
    let folder = temporary();
    let states = history(folder.path());
    let head = place(folder.path(), &environment()).join("head");
    fs::write(&head, "torn").expect("written");
    let report = EmbeddedStore::repair(folder.path(), &options(folder.path())).expect("repairs");
    assert!(report.is_whole(), "a crash may leave that: {report:?}");
    assert_eq!(&load(folder.path()).expect("opens"), states.last().expect("some"));
    fs::remove_file(journal(folder.path())).expect("removed");
    assert!(load(folder.path()).is_err(), "it is missed");
}

/// An empty state would claim that no resources exist.
#[test]
fn a_journal_without_readable_entries_is_not_repaired() {
    let (folder, copied) = (temporary(), temporary());
    history(folder.path());
    copy(folder.path(), copied.path());
    // The first writer to a copy rewrites its journal, which then consists only of the base.
    let store = open(copied.path()).expect("opens");
    drop(run(store.writer(&environment())).expect("locks"));
    run(store.close()).expect("closes");
    let path = journal(copied.path());
    let mut bytes = fs::read(&path).expect("a journal");
    bytes[40 + 24 + 9] ^= 1;
    fs::write(&path, &bytes).expect("written");
    let error = EmbeddedStore::repair(copied.path(), &options(copied.path())).expect_err("nothing to save");
    assert!(error.to_string().contains("bring back a copy"), "{error}");
    assert_eq!(fs::read(&path).expect("there"), bytes);
}

/// If only staleness is recorded, no entry names the environment.
#[test]
fn an_environment_without_a_name_does_not_block_others() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    run(store.commit(vec![put(record(1))])).expect("commits");
    run(store.commit(vec![Change::Remove(record(1).id())])).expect("commits");
    run(store.close()).expect("closes");
    fs::remove_file(place(folder.path(), &environment()).join("environment.json")).expect("removed");
    assert!(run(open(folder.path()).expect("opens").environments(None, 9)).is_err());
    let report = EmbeddedStore::repair(folder.path(), &options(folder.path())).expect("repairs");
    assert_eq!((report.lost.len(), report.moved.len()), (1, 1), "{report:?}");
    let report = EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks");
    assert!(report.is_whole(), "{report:?}");
    assert!(run(open(folder.path()).expect("opens").environments(None, 9)).expect("lists").is_empty());
}

#[test]
fn unreadable_files_are_left_alone() {
    let folder = temporary();
    history(folder.path());
    let path = journal(folder.path());
    fs::write(&path, "nonsense").expect("written");
    let error = EmbeddedStore::repair(folder.path(), &options(folder.path())).expect_err("nothing to save");
    assert!(error.to_string().contains("bring back a copy"), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("there"), "nonsense");
    assert!(load(folder.path()).is_err());
}

#[test]
fn a_lost_format_is_restored() {
    let folder = temporary();
    let states = history(folder.path());
    // A flipped bit can cause the last one, but there is no such format.
    for text in ["", "two", "0\n"] {
        fs::write(folder.path().join("format"), text).expect("written");
        assert!(load(folder.path()).is_err());
        assert_eq!(
            EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks").findings.len(),
            1
        );
        let report = EmbeddedStore::repair(folder.path(), &options(folder.path())).expect("repairs");
        assert!(report.findings.len() == 1 && report.lost.is_empty(), "{report:?}");
        assert_eq!(&load(folder.path()).expect("opens"), states.last().expect("some"));
    }
    // Repairing an intact state does nothing.
    let before = fs::read(journal(folder.path())).expect("read");
    let report = EmbeddedStore::repair(folder.path(), &options(folder.path())).expect("looks");
    assert!(report.is_whole() && report.moved.is_empty(), "{report:?}");
    assert_eq!(fs::read(journal(folder.path())).expect("read"), before);
}

#[test]
fn an_unreadable_record_is_dropped_and_named() {
    let folder = temporary();
    let states = history(folder.path());
    let path = journal(folder.path());
    let mut bytes = fs::read(&path).expect("read");
    // Damage that happened before the journal was written: the frame's checksum is correct.
    let ends = ends(&bytes);
    let name = urn(5);
    let is_it = |at: &usize| bytes[*at..].starts_with(name.as_str().as_bytes());
    let at = (0..bytes.len()).rev().find(is_it).expect("record 5");
    bytes[at] ^= 1;
    let frame = *ends.iter().rev().find(|end| **end <= at).expect("a frame");
    let length = u32::from_le_bytes(bytes[frame..frame + 4].try_into().expect("four")) as usize;
    // Every frame from here on names its predecessor.
    let mut frames = vec![(frame, length)];
    frames.extend(
        ends.iter()
            .filter(|end| **end > frame && **end < bytes.len())
            .map(|end| (*end, u32::from_le_bytes(bytes[*end..*end + 4].try_into().expect("four")) as usize)),
    );
    let mut before = u32::from_le_bytes(bytes[frame + 8..frame + 12].try_into().expect("four"));
    for (at, length) in frames {
        bytes[at + 8..at + 12].copy_from_slice(&before.to_le_bytes());
        let covered = [&bytes[at..at + 4], &bytes[at + 8..at + 24 + length]].concat();
        before = crc32fast::hash(&covered);
        bytes[at + 4..at + 8].copy_from_slice(&before.to_le_bytes());
    }
    fs::write(&path, bytes).expect("written");
    forget_head(folder.path());
    let error = load(folder.path()).expect_err("damaged");
    assert_eq!(error.to_string(), format!("the record of `{}` is damaged: its checksum is wrong", urn(5)));
    // New changes are still recorded.
    run(open(folder.path()).expect("opens").commit(vec![put(record(60))])).expect("commits");
    let report = EmbeddedStore::repair(folder.path(), &options(folder.path())).expect("repairs");
    assert_eq!(report.lost.len(), 1, "{report:?}");
    assert!(report.lost[0].contains("r00005"), "{report:?}");
    let records = load(folder.path()).expect("opens").records;
    assert_eq!(records.len(), states.last().expect("some").records.len());
    assert!(records.iter().all(|record| record.urn != urn(5)));
}

#[test]
fn obsolete_entries_do_not_pile_up() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    for round in 0..30 {
        for n in 0..20 {
            let mut record = record(n);
            record.updated += round;
            run(store.commit(vec![intend(record.clone())])).expect("commits");
            run(store.commit(vec![Change::Settle(record.id()), put(record)])).expect("commits");
        }
    }
    let before = fs::metadata(journal(folder.path())).expect("there").len();
    run(store.close()).expect("closes");
    let after = fs::metadata(journal(folder.path())).expect("there").len();
    assert!(before > 400_000 && after < 20 * 1024, "{before} bytes became {after}");
    assert_eq!(load(folder.path()).expect("opens").records.len(), 20);
    // Files that a kill left behind: the newest complete one counts.
    let path = journal(folder.path());
    fs::write(path.with_file_name("00000001.log"), "old").expect("written");
    fs::write(path.with_file_name("00000009.log.new"), "unfinished").expect("written");
    assert_eq!(load(folder.path()).expect("opens").records.len(), 20);
    // The next writer removes them.
    run(open(folder.path()).expect("opens").commit(vec![put(record(0))])).expect("commits");
    assert_eq!(load(folder.path()).expect("opens").records.len(), 20);
    assert_eq!(journal(folder.path()), path);
}

#[test]
fn a_newer_journal_is_rejected() {
    let folder = temporary();
    history(folder.path());
    let path = journal(folder.path());
    let mut bytes = fs::read(&path).expect("a journal");
    bytes[8] = 2;
    let check = crc32fast::hash(&bytes[..36]);
    bytes[36..40].copy_from_slice(&check.to_le_bytes());
    fs::write(&path, &bytes).expect("written");
    let error = load(folder.path()).expect_err("newer");
    assert!(matches!(&error, Error::Newer { found: 2, supported: 1, .. }), "{error}");
    assert!(matches!(
        EmbeddedStore::repair(folder.path(), &options(folder.path())),
        Err(Error::Newer { .. })
    ));
    assert_eq!(fs::read(&path).expect("a journal"), bytes, "and is left alone");
}

#[test]
fn probes_are_called_in_order() {
    let folder = temporary();
    let places = Arc::new(Mutex::new(Vec::new()));
    let probe = Probe::new({
        let places = places.clone();
        move |place| places.lock().expect("no panic").push(place)
    });
    let options = OpenOptions { probe: Some(probe), ..options(folder.path()) };
    let store = open_with(folder.path(), options).expect("opens");
    run(store.commit(vec![put(record(1))])).expect("commits");
    run(store.commit(vec![put(record(2))])).expect("commits");
    run(store.close()).expect("closes");
    let places = places.lock().expect("no panic");
    let at = |name: &str| {
        places.iter().position(|place| *place == name).unwrap_or_else(|| panic!("{name}: {places:?}"))
    };
    assert!(at("folder: after the format is written") < at("journal: before the new one is synced"));
    assert!(at("journal: before the new one is synced") < at("journal: before a batch is written"));
    assert!(at("journal: before a batch is synced") < at("journal: after a batch is synced"));
    assert!(at("journal: after a batch is synced") < at("close: before the index is updated"));
}

/// A sparse file can claim gigabytes without using the disk.
#[test]
fn a_sparse_journal_is_rejected_by_its_length() {
    let folder = temporary();
    history(folder.path());
    let path = journal(folder.path());
    let file = fs::OpenOptions::new().write(true).open(&path).expect("opens");
    file.set_len(8 << 30).expect("a file system that knows holes");
    drop(file);
    let error = load(folder.path()).expect_err("too long");
    assert!(error.to_string().contains("the file is longer than anything that is written to it"), "{error}");
}
