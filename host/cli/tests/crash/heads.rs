//! Makes the copy of a state look like an original, since Purlin would otherwise read every
//! resource first.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The position of the identity in the file `head`. A checksum follows.
const IDENTITY: std::ops::Range<usize> = 44..52;

/// Writes the identity of the file itself into each intact `head` of a project.
pub(crate) fn renew(project: &Path) {
    for place in fs::read_dir(project.join(".purlin/environments")).into_iter().flatten() {
        let path = place.expect("an entry").path().join("head");
        let Ok(mut bytes) = fs::read(&path) else { continue };
        let Some((body, check)) = bytes.split_last_chunk::<4>() else { continue };
        if body.len() != IDENTITY.end || crc32fast::hash(body) != u32::from_le_bytes(*check) {
            continue;
        }
        let about = fs::metadata(&path).expect("there");
        let made = about.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        let identity = about.ino().rotate_left(32) ^ made.map_or(0, |made| made.as_nanos() as u64);
        bytes[IDENTITY].copy_from_slice(&identity.to_le_bytes());
        let check = crc32fast::hash(&bytes[..IDENTITY.end]);
        bytes[IDENTITY.end..].copy_from_slice(&check.to_le_bytes());
        fs::write(&path, bytes).expect("written");
    }
}
