//! Ways out of granted folders, and writes to read-only ones.

use super::{Attack, failed, state};
use purlin_sdk::bindings::purlin::driver::types::{Call, Failure, State};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};

const FOLLOW: PathFlags = PathFlags::SYMLINK_FOLLOW;

pub(super) fn perform(attack: &Attack, name: &str, _: &Call) -> Option<Result<State, Failure>> {
    let folder = || get_directories().remove(attack.number("folder", 0)).0;
    Some(match name {
        // Paths go to the host unchanged; the standard library would correct them.
        "file" => one(attack, &folder())
            .map(|found| state(&found))
            .map_err(|code| failed(format!("ErrorCode::{}", code.name()))),
        "folders" => {
            let names: Vec<String> = get_directories().into_iter().map(|(_, name)| name).collect();
            Ok(state(&json!({"folders": names})))
        }
        "swap-links" => {
            let folder = folder();
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(400) {
                let _ = folder.symlink_at("../outside", "swap");
                let _ = folder.unlink_file_at("swap");
                let _ = folder.rename_at("real", &folder, "swap");
                let _ = folder.rename_at("swap", &folder, "real");
            }
            Ok(state(&json!({})))
        }
        "read-swapped" => {
            let folder = folder();
            let begun = Instant::now();
            let mut found = Vec::new();
            while begun.elapsed() < Duration::from_millis(400) {
                if let Ok(text) = read(&folder, "swap/file")
                    && !found.contains(&text)
                {
                    found.push(text);
                }
            }
            Ok(state(&json!({"found": found})))
        }
        _ => return None,
    })
}

fn one(attack: &Attack, folder: &Descriptor) -> Result<Value, ErrorCode> {
    let (path, to) = (attack.text("path"), attack.text("to"));
    let now = || NewTimestamp::Now;
    let mut found = Value::Null;
    match attack.text("op").as_str() {
        "read" => found = read(folder, &path)?.into(),
        "write" => {
            let flags = DescriptorFlags::WRITE;
            folder.open_at(FOLLOW, &path, OpenFlags::CREATE, flags)?.write(b"overwritten", 0)?;
        }
        "append" => {
            let file = folder.open_at(FOLLOW, &path, OpenFlags::empty(), DescriptorFlags::WRITE)?;
            let stream = file.append_via_stream()?;
            stream.blocking_write_and_flush(b"more").map_err(|_| ErrorCode::Io)?;
        }
        // Writes to a file that was opened for reading.
        "write-anyway" => {
            folder
                .open_at(FOLLOW, &path, OpenFlags::empty(), DescriptorFlags::READ)?
                .write(b"overwritten", 0)?;
        }
        "append-anyway" => {
            let file = folder.open_at(FOLLOW, &path, OpenFlags::empty(), DescriptorFlags::READ)?;
            let stream = file.append_via_stream()?;
            stream.blocking_write_and_flush(b"more").map_err(|_| ErrorCode::NotPermitted)?;
        }
        "truncate" => {
            folder.open_at(FOLLOW, &path, OpenFlags::TRUNCATE, DescriptorFlags::READ)?;
        }
        "resize" => folder.open_at(FOLLOW, &path, OpenFlags::empty(), DescriptorFlags::READ)?.set_size(0)?,
        "times" => folder.set_times_at(FOLLOW, &path, now(), now())?,
        "times-of-open" => folder
            .open_at(FOLLOW, &path, OpenFlags::empty(), DescriptorFlags::READ)?
            .set_times(now(), now())?,
        "rename" => folder.rename_at(&path, folder, &to)?,
        "link" => folder.link_at(PathFlags::empty(), &path, folder, &to)?,
        "link-followed" => folder.link_at(FOLLOW, &path, folder, &to)?,
        "symlink" => folder.symlink_at(&path, &to)?,
        "symlink-and-read" => {
            folder.symlink_at(&path, "made-link")?;
            let text = read(folder, &to);
            folder.unlink_file_at("made-link")?;
            found = text?.into();
        }
        "unlink" => folder.unlink_file_at(&path)?,
        "make-folder" => folder.create_directory_at(&path)?,
        "remove-folder" => folder.remove_directory_at(&path)?,
        "list" => {
            let inner = folder.open_at(FOLLOW, &path, OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
            let entries = inner.read_directory()?;
            let mut names = Vec::new();
            while let Some(entry) = entries.read_directory_entry()? {
                names.push(entry.name);
            }
            found = names.into();
        }
        "read-link" => found = folder.readlink_at(&path)?.into(),
        "stat" => {
            folder.stat_at(FOLLOW, &path)?;
        }
        // From one granted folder into another.
        "rename-across" => folder.rename_at(&path, &get_directories().remove(1).0, &to)?,
        "link-across" => folder.link_at(PathFlags::empty(), &path, &get_directories().remove(1).0, &to)?,
        _ => return Err(ErrorCode::Unsupported),
    }
    Ok(json!({"found": found}))
}

fn read(folder: &Descriptor, path: &str) -> Result<String, ErrorCode> {
    let file = folder.open_at(FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ)?;
    let (bytes, _) = file.read(1 << 20, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
