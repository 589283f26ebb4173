//! The journal. It makes changes durable, and everything can be rebuilt from it.
//!
//! The journal is one file in `journal/`, named after its generation. It begins with all entries
//! that existed when it was begun, and grows by one frame per batch. When most of it is obsolete,
//! the next generation is written next to it and replaces it. A process that reads it while another
//! one writes sees only complete frames. This module knows entries, but not their meaning.

mod frame;
mod read;
mod save;
mod scan;

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use self::frame::{FORMAT, FRAME, FrameKind, Header};
pub(crate) use self::read::{Reading, check_reaches, missing, patiently};
pub(crate) use self::save::{JournalPart, LOST_BASE, lost_at, rescue};
use super::files;
use crate::Error;
use crate::probe::Probed;
use crate::table::{Entry, Table};

/// The approximate size of the frames of a base, in bytes.
const BASE_FRAME: usize = 256 << 10;
/// Zeros are written ahead, so that a sync need not update the file's metadata: at least and at
/// most this many bytes at once.
const AHEAD: (u64, u64) = (64 << 10, 1 << 20);

/// A position in a history: a journal and a frame in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) generation: u64,
    pub(crate) id: [u8; 16],
    pub(crate) number: u64,
    pub(crate) check: u32,
}

impl Position {
    /// Encodes the position in 36 bytes.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let Self { generation, id, number, check } = self;
        [&generation.to_le_bytes()[..], &id, &number.to_le_bytes(), &check.to_le_bytes()].concat()
    }

    /// Reads a position from the front of bytes, and returns the rest.
    pub(crate) fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (generation, rest) = bytes.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (check, rest) = rest.split_first_chunk()?;
        let position = Self {
            generation: u64::from_le_bytes(*generation),
            id: *id,
            number: u64::from_le_bytes(*number),
            check: u32::from_le_bytes(*check),
        };
        Some((position, rest))
    }
}

/// A journal that is open for appending.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    header: Header,
    number: u64,
    check: u32,
    /// The length of the frames, in bytes.
    length: u64,
    /// The length of the file, in bytes.
    allocated: u64,
    /// Whether it was closed properly before.
    closed: bool,
    probe: Probed,
    frame: Vec<u8>,
}

/// The folder of journals in an environment's folder.
pub(crate) fn folder_in(folder: &Path) -> PathBuf {
    folder.join("journal")
}

fn file_in(folder: &Path, generation: u64) -> PathBuf {
    folder_in(folder).join(format!("{generation:08x}.log"))
}

/// The files in a folder of journals.
#[derive(Default)]
struct Files {
    /// By generation, the oldest first.
    journals: Vec<(u64, PathBuf)>,
    /// Files that were never completed.
    unfinished: Vec<PathBuf>,
}

fn list(folder: &Path) -> Result<Files, Error> {
    let folder = folder_in(folder);
    let mut files = Files::default();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(Error::io("list", &folder)(error)),
    };
    for entry in entries {
        let path = entry.map_err(Error::io("list", &folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".new") {
            files.unfinished.push(path);
        } else if let Some(number) = name.strip_suffix(".log").and_then(|n| u64::from_str_radix(n, 16).ok()) {
            files.journals.push((number, path));
        }
    }
    files.journals.sort();
    Ok(files)
}

/// The newest journal of an environment, as generation and path; `None` if there is none.
pub(crate) fn newest(folder: &Path) -> Result<Option<(u64, PathBuf)>, Error> {
    Ok(list(folder)?.journals.pop())
}

/// The same for a writer. Also removes older journals, and newer ones that were never completed.
pub(crate) fn find(folder: &Path) -> Result<Option<(u64, PathBuf)>, Error> {
    let mut files = list(folder)?;
    let newest = files.journals.pop();
    for path in files.journals.into_iter().map(|(_, path)| path).chain(files.unfinished) {
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    }
    Ok(newest)
}

/// Whether a journal was closed properly at a position, so that nothing follows it.
pub(crate) fn is_closed_at(folder: &Path, position: &Position) -> bool {
    let last = || {
        let (generation, path) = newest(folder).ok()??;
        let mut file = purlin_files::open(&path).ok().filter(|_| generation == position.generation)?;
        let mut bytes = [0; FRAME];
        file.seek(SeekFrom::End(-(FRAME as i64))).ok()?;
        file.read_exact(&mut bytes).ok()?;
        frame::Head::parse(&bytes).filter(|head| head.proves(&bytes, &[]))
    };
    last().is_some_and(|last| {
        last.kind == FrameKind::Closed && (last.number, last.check) == (position.number, position.check)
    })
}

/// Syncs the journals of an environment and their names, whichever process wrote them.
pub(crate) fn sync_all(folder: &Path) -> Result<(), Error> {
    let journals = list(folder)?.journals;
    for (_, path) in &journals {
        let file = purlin_files::open(path).map_err(Error::io("open", path))?;
        file.sync_all().map_err(Error::io("make durable", path))?;
    }
    if journals.is_empty() { Ok(()) } else { files::sync_folder(&folder_in(folder)) }
}

impl Journal {
    /// Opens an existing journal and reads it into an empty table.
    pub(crate) fn open(
        folder: &Path,
        path: PathBuf,
        table: &mut Table,
        probe: Probed,
    ) -> Result<Self, Error> {
        let file = purlin_files::open_to_write(&path, OpenOptions::new().read(true))
            .map_err(Error::io("open", &path))?;
        let end = scan::scan(&file, table).map_err(|fault| fault.into_error(folder, &path))?;
        let allocated = file.metadata().map_err(Error::io("look at", &path))?.len();
        let mut journal = Self {
            file,
            path,
            header: end.header,
            number: end.number,
            check: end.check,
            length: end.length,
            allocated,
            closed: end.closed && !end.torn,
            probe,
            frame: Vec::new(),
        };
        if end.torn {
            tracing::debug!(journal = %journal.path.display(), at = end.length, "cut off what a crash left");
            journal.probe.at("journal: before the torn end is cut off");
            journal.cut().and_then(|()| journal.file.sync_all()).map_err(Error::io("cut", &journal.path))?;
            journal.probe.at("journal: after the torn end is cut off");
        }
        Ok(journal)
    }

    /// The path of the next generation.
    pub(super) fn next(&self, folder: &Path) -> PathBuf {
        file_in(folder, self.header.generation + 1)
    }

    /// Writes all entries of a table as the next generation, which replaces this one.
    pub(crate) fn renew(&mut self, folder: &Path, table: &Table) -> Result<(), Error> {
        let next = Self::write(folder, self.header.generation + 1, table, self.probe.clone())?;
        let old = std::mem::replace(self, next);
        // The newest one counts, even if the older one still exists.
        fs::remove_file(&old.path).map_err(Error::io("remove", &old.path))?;
        self.probe.at("journal: after the old one is removed");
        Ok(())
    }

    /// Atomically writes a journal of a generation with all entries of a table.
    pub(crate) fn write(folder: &Path, generation: u64, table: &Table, probe: Probed) -> Result<Self, Error> {
        let path = file_in(folder, generation);
        let folder = folder_in(folder);
        files::private_folder(&folder)?;
        let new = folder.join(format!("{generation:08x}.log.new"));
        probe.at("journal: before a new one is written");
        let mut id = [0; 16];
        getrandom::fill(&mut id)
            .map_err(|error| Error::io("get random numbers for", &path)(std::io::Error::other(error)))?;
        let header = Header { format: FORMAT, generation, id };
        let mut file = files::private_file(&new)?;
        let (mut frames, mut check) = header.to_bytes();
        let (mut number, mut length, mut at) = (0, 0, None);
        let write = |bytes: &[u8], file: &mut File| file.write_all(bytes).map_err(Error::io("write", &new));
        for (key, value) in table.iter() {
            let begun = *at.get_or_insert_with(|| frame::begin(&mut frames));
            frame::put_entry(&mut frames, key, Some(value));
            if frames.len() - begun >= BASE_FRAME {
                number += 1;
                frame::pack(&mut frames, begun);
                check = sealed(&mut frames, begun, FrameKind::Packed, check, number)?;
                write(&frames, &mut file)?;
                length += frames.len() as u64;
                frames.clear();
                at = None;
            }
        }
        if let Some(begun) = at {
            number += 1;
            frame::pack(&mut frames, begun);
            check = sealed(&mut frames, begun, FrameKind::Packed, check, number)?;
        }
        let begun = frame::begin(&mut frames);
        frame::put_tally(&mut frames, table.tally());
        number += 1;
        check = sealed(&mut frames, begun, FrameKind::End, check, number)?;
        write(&frames, &mut file)?;
        length += frames.len() as u64;
        probe.at("journal: before the new one is synced");
        file.sync_all().map_err(Error::io("make durable", &new))?;
        probe.at("journal: before the new one is renamed");
        fs::rename(&new, &path).map_err(Error::io("write", &path))?;
        probe.at("journal: after the new one is renamed");
        files::sync_folder(&folder)?;
        probe.at("journal: after its folder is synced");
        frames.clear();
        frames.shrink_to(64 << 10);
        Ok(Self {
            file,
            path,
            header,
            number,
            check,
            length,
            allocated: length,
            closed: false,
            probe,
            frame: frames,
        })
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn position(&self) -> Position {
        let (id, generation) = (self.header.id, self.header.generation);
        Position { generation, id, number: self.number, check: self.check }
    }

    /// Whether it was closed properly before.
    pub(super) fn was_closed(&self) -> bool {
        self.closed
    }

    /// Whether most of the journal is obsolete, apart from `slack` bytes.
    pub(super) fn has_grown(&self, live: u64, slack: u64) -> bool {
        self.length > live.saturating_mul(3) / 2 + slack
    }

    /// Appends a batch and makes it durable.
    ///
    /// [`Error::Refused`] if there was no space for it: nothing of the batch is in the journal,
    /// which can continue.
    pub(super) fn append(&mut self, entries: &[Entry]) -> Result<(), Error> {
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        let at = frame::begin(&mut frame);
        for (key, value) in entries {
            frame::put_entry(&mut frame, key, value.as_deref());
        }
        let check = sealed(&mut frame, at, FrameKind::Changes, self.check, self.number + 1)?;
        self.probe.at("journal: before a batch is written");
        let (length, before, number) = (self.length, self.check, self.number);
        if let Err(error) = self.put(&frame, check) {
            // An incomplete frame at the end is ignored, but nothing may follow it.
            (self.length, self.check, self.number) = (length, before, number);
            return match self.cut() {
                Ok(()) => Err(error.into_refused()),
                Err(_) => Err(error),
            };
        }
        self.probe.at("journal: before a batch is synced");
        self.file.sync_data().map_err(Error::io("make durable", &self.path))?;
        self.probe.at("journal: after a batch is synced");
        if frame.capacity() <= 4 << 20 {
            self.frame = frame;
        }
        Ok(())
    }

    /// Notes that the store was closed, so that damage to the last batch can be distinguished from
    /// the effect of a crash. The note is durable before `head` includes it, since `head` must not
    /// be ahead of the journal after a power failure.
    pub(crate) fn close(&mut self) -> Result<(), Error> {
        let mut frame = Vec::new();
        let at = frame::begin(&mut frame);
        let check = sealed(&mut frame, at, FrameKind::Closed, self.check, self.number + 1)?;
        self.put(&frame, check)?;
        self.probe.at("journal: before it is cut to its length");
        self.cut().and_then(|()| self.file.sync_data()).map_err(Error::io("cut", &self.path))
    }

    fn put(&mut self, frame: &[u8], check: u32) -> Result<(), Error> {
        let fault = Error::io("write", &self.path);
        let mut write = || {
            self.file.seek(SeekFrom::Start(self.length))?;
            self.file.write_all(frame)?;
            let end = self.length + frame.len() as u64;
            if end > self.allocated {
                let ahead = self.length.clamp(AHEAD.0, AHEAD.1);
                // If there is no space for it, the journal is only slower.
                self.allocated = match self.file.write_all(&vec![0; ahead as usize]) {
                    Ok(()) => end + ahead,
                    Err(_) => end,
                };
            }
            self.length = end;
            Ok(())
        };
        write().map_err(fault)?;
        self.check = check;
        self.number += 1;
        Ok(())
    }

    fn cut(&mut self) -> std::io::Result<()> {
        self.allocated = self.length;
        self.file.set_len(self.length)
    }
}

fn sealed(frames: &mut [u8], at: usize, kind: FrameKind, before: u32, number: u64) -> Result<u32, Error> {
    frame::seal(frames, at, kind, before, number)
        .ok_or_else(|| Error::Unwritable { name: "a commit".into(), detail: "it is larger than 1 GiB" })
}
