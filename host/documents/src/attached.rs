//! Files beside a document that become part of it: `files.source` of Score (SPEC §5). They are read
//! once, and kept with the document's text, so that the document can be read again without them.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::tree::{self, Unread};
use crate::walk::{self, MAX_FILE};

/// A file that a document takes content from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AttachedFile {
    /// Its path as the document writes it.
    pub path: Arc<str>,
    /// Its content.
    pub content: FileContent,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileContent {
    /// UTF-8.
    Text(Arc<str>),
    /// Anything else.
    Bytes(Arc<[u8]>),
}

/// The source of the files beside a document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Files<'a> {
    /// None are read: paths stay as they are written.
    Unread,
    /// From the document's folder.
    Folder(&'a Path),
    /// From the kept files, for a document of this folder.
    Kept(&'a Path, &'a [AttachedFile]),
}

impl Files<'_> {
    /// The name of a file for people.
    pub(crate) fn name(&self, written: &str) -> Arc<str> {
        let folder = match self {
            Self::Unread => Path::new(""),
            Self::Folder(folder) | Self::Kept(folder, _) => folder,
        };
        let mut path = PathBuf::from(folder);
        path.extend(Path::new(written).components().filter(|part| *part != Component::CurDir));
        walk::display(&path)
    }

    /// The content of a file; none if files are not read.
    pub(crate) fn read(&self, written: &str) -> Result<Option<FileContent>, Unread> {
        match self {
            Self::Unread => Ok(None),
            Self::Kept(_, files) => match files.iter().find(|file| &*file.path == written) {
                Some(file) => Ok(Some(file.content.clone())),
                None => Err(tree::unread(
                    "unreadable-file",
                    format!("the content of `{written}` was not kept"),
                    "give its content too, or read the files",
                )),
            },
            Self::Folder(folder) => {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                from_disk(folder, written).map(Some)
            }
        }
    }
}

/// Reads a regular file in a folder or below it, with links resolved.
fn from_disk(folder: &Path, written: &str) -> Result<FileContent, Unread> {
    const INSIDE: &str = "write a path from the folder of the Score file, to a file in it or below it";
    let path = tree::regular_file(folder, folder, Path::new(written), INSIDE)?;
    let bytes = walk::bytes(&path).map_err(|error| tree::unreadable(&folder.join(written), &error))?;
    let Some(bytes) = bytes else {
        let message = format!("`{written}` is larger than {} MiB", MAX_FILE >> 20);
        return Err(tree::unread("file-too-large", message, "mount large files from a volume"));
    };
    Ok(match String::from_utf8(bytes) {
        Ok(text) => FileContent::Text(text.into()),
        Err(error) => FileContent::Bytes(error.into_bytes().into()),
    })
}

/// Bytes in standard base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let letter = LETTERS.get((bits >> (18 - 6 * index) & 63) as usize).copied().unwrap_or(b'=');
            text.push(char::from(if index > chunk.len() { b'=' } else { letter }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_standard_one() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"\xff\xfe\x00\x10", "//4AEA=="),
        ] {
            assert_eq!(base64(bytes), text);
        }
    }
}
