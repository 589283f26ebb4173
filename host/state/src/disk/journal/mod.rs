//! The journal: what makes a change durable, and what everything can be rebuilt from.
//!
//! One file in `journal/`, named by its generation. It begins with everything that was there when it
//! was begun, and grows by a frame a batch. When most of it is about what is no more, the next
//! generation is written beside it and takes its place. Whoever reads it while another process writes
//! sees its whole frames. Knows entries, not what they mean.

mod frame;
mod read;
mod save;
mod scan;

use std::fs::{self, File};
use std::io::{Read as _, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use self::frame::{FORMAT, FRAME, Header, Kind};
pub(crate) use self::read::{Reading, missing, patiently, reached};
pub(crate) use self::save::{Part, rescue};
use super::files;
use crate::Error;
use crate::probe::Probed;
use crate::table::{Entry, Table};

/// A base is written in frames of about this many bytes.
const BASE_FRAME: usize = 256 << 10;
/// Zeros are written in advance, so that a sync need not change what the file system knows about
/// the file: at least and at most so many at once.
const AHEAD: (u64, u64) = (64 << 10, 1 << 20);

/// A place in a history: which journal, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) generation: u64,
    pub(crate) id: [u8; 16],
    pub(crate) number: u64,
    pub(crate) check: u32,
}

impl Position {
    /// Its 36 bytes.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let Self { generation, id, number, check } = self;
        [&generation.to_le_bytes()[..], &id, &number.to_le_bytes(), &check.to_le_bytes()].concat()
    }

    /// Reads one from the front of bytes, and gives the rest.
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

/// A journal that is open at its end.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    header: Header,
    number: u64,
    check: u32,
    /// Bytes that hold frames.
    length: u64,
    /// Bytes of the file.
    allocated: u64,
    /// Whether it was found closed in good order.
    closed: bool,
    probe: Probed,
    frame: Vec<u8>,
}

/// The folder of journals in a store's folder.
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
    /// What was begun and never got its name.
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

/// The journal of an environment: generation and path of the newest; none where there is none.
pub(crate) fn newest(folder: &Path) -> Result<Option<(u64, PathBuf)>, Error> {
    Ok(list(folder)?.journals.pop())
}

/// The same for who writes. What was left of older ones, and of newer ones that were never finished, is
/// removed.
pub(crate) fn find(folder: &Path) -> Result<Option<(u64, PathBuf)>, Error> {
    let mut files = list(folder)?;
    let newest = files.journals.pop();
    for path in files.journals.into_iter().map(|(_, path)| path).chain(files.unfinished) {
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    }
    Ok(newest)
}

/// Whether a journal was closed in good order at a place, so that nothing stands behind that.
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
        last.kind == Kind::Closed && (last.number, last.check) == (position.number, position.check)
    })
}

/// Syncs the journals of an environment and their names, whoever wrote them.
pub(crate) fn settle(folder: &Path) -> Result<(), Error> {
    let journals = list(folder)?.journals;
    for (_, path) in &journals {
        let file = File::open(path).map_err(Error::io("open", path))?;
        file.sync_all().map_err(Error::io("make durable", path))?;
    }
    if journals.is_empty() { Ok(()) } else { files::sync_folder(&folder_in(folder)) }
}

impl Journal {
    /// Opens the journal of a store and reads it into an empty table.
    pub(crate) fn open(
        folder: &Path,
        path: PathBuf,
        table: &mut Table,
        probe: Probed,
    ) -> Result<Self, Error> {
        let file = File::options().read(true).write(true).open(&path).map_err(Error::io("open", &path))?;
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

    /// Where the next generation will be.
    pub(super) fn next(&self, folder: &Path) -> PathBuf {
        file_in(folder, self.header.generation + 1)
    }

    /// Writes the next generation with all of a table, in place of this one.
    pub(crate) fn renew(&mut self, folder: &Path, table: &Table) -> Result<(), Error> {
        let next = Self::write(folder, self.header.generation + 1, table, self.probe.clone())?;
        let old = std::mem::replace(self, next);
        // The newest one counts, whether or not the older is still there.
        fs::remove_file(&old.path).map_err(Error::io("remove", &old.path))?;
        self.probe.at("journal: after the old one is removed");
        Ok(())
    }

    /// Writes a journal of a generation with all of a table; it is there as a whole or not at all.
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
                check = sealed(&mut frames, begun, Kind::Packed, check, number)?;
                write(&frames, &mut file)?;
                length += frames.len() as u64;
                frames.clear();
                at = None;
            }
        }
        if let Some(begun) = at {
            number += 1;
            frame::pack(&mut frames, begun);
            check = sealed(&mut frames, begun, Kind::Packed, check, number)?;
        }
        let begun = frame::begin(&mut frames);
        frame::put_tally(&mut frames, table.tally());
        number += 1;
        check = sealed(&mut frames, begun, Kind::End, check, number)?;
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

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn position(&self) -> Position {
        let (id, generation) = (self.header.id, self.header.generation);
        Position { generation, id, number: self.number, check: self.check }
    }

    /// Whether it was found closed in good order.
    pub(super) fn was_closed(&self) -> bool {
        self.closed
    }

    /// Whether most of it is about what is no more; `slack` bytes of that are nothing to speak of.
    pub(super) fn has_grown(&self, live: u64, slack: u64) -> bool {
        self.length > live.saturating_mul(3) / 2 + slack
    }

    /// Appends a batch and makes it durable.
    ///
    /// [`Error::Refused`] when there was no room for it: nothing of it is in the journal, which goes on.
    pub(super) fn append(&mut self, entries: &[Entry]) -> Result<(), Error> {
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        let at = frame::begin(&mut frame);
        for (key, value) in entries {
            frame::put_entry(&mut frame, key, value.as_deref());
        }
        let check = sealed(&mut frame, at, Kind::Changes, self.check, self.number + 1)?;
        self.probe.at("journal: before a batch is written");
        let (length, before, number) = (self.length, self.check, self.number);
        if let Err(error) = self.put(&frame, check) {
            // What is not whole at the end counts for nothing, but nothing may come behind it.
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

    /// Notes that the store was closed, so that damage to the last batch can be told from what a
    /// crash leaves. The note is durable before `head` counts it: after a power cut `head` must not be
    /// ahead of the journal.
    pub(crate) fn close(&mut self) -> Result<(), Error> {
        let mut frame = Vec::new();
        let at = frame::begin(&mut frame);
        let check = sealed(&mut frame, at, Kind::Closed, self.check, self.number + 1)?;
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
                // Where there is no room for it, it is only slower.
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

fn sealed(frames: &mut [u8], at: usize, kind: Kind, before: u32, number: u64) -> Result<u32, Error> {
    frame::seal(frames, at, kind, before, number)
        .ok_or_else(|| Error::Unwritable { name: "a commit".into(), detail: "it is larger than 1 GiB" })
}
