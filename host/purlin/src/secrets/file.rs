//! Secrets in files: a folder with one file for each, or a single file with all of them.
//!
//! Nothing outside the folder is read, whatever the name of the secret is and wherever links lead.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use purlin_engine::{SecretFault, SecretRef};
use secrecy::SecretString;
use zeroize::Zeroizing;

use super::{LARGEST, keys, text, too_large};

/// Reads a secret from a folder or a file, whichever exists.
pub(super) fn read(path: &Path, secret: &SecretRef) -> Result<SecretString, SecretFault> {
    super::no_version(secret, "a file")?;
    let root = path.canonicalize().map_err(|error| cannot(path, &error))?;
    if root.is_dir() {
        return text(&bytes(&within(&root, path, &secret.name)?, &path.join(&*secret.name))?);
    }
    keys::read(&bytes(&root, path)?, path, &secret.name)
}

/// The resolved path of a file in a folder.
fn within(root: &Path, shown: &Path, name: &str) -> Result<PathBuf, SecretFault> {
    let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    // Path separators of other systems are not allowed in a name.
    if !plain || name.contains('\\') {
        let fault = SecretFault::new(format!("it would lead out of the folder `{}`", shown.display()));
        return Err(fault.help("name a file in the folder, by its path from there"));
    }
    let file = root.join(name).canonicalize().map_err(|error| cannot(&shown.join(name), &error))?;
    if !file.starts_with(root) {
        let fault = SecretFault::new(format!("a link leads out of the folder `{}`", shown.display()));
        return Err(fault.help("put the secret itself there"));
    }
    Ok(file)
}

fn bytes(file: &Path, shown: &Path) -> Result<Zeroizing<Vec<u8>>, SecretFault> {
    let opened = purlin_files::open(file).map_err(|error| match error.kind() {
        // Reading something that is not a file, such as a pipe, might never end.
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => {
            SecretFault::new(format!("`{}` is not a file", shown.display()))
        }
        _ => cannot(shown, &error),
    })?;
    let length = opened.metadata().map_err(|error| cannot(shown, &error))?.len();
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > LARGEST {
        return Err(too_large());
    }
    // The capacity suffices from the start, so the buffer never grows and leaves no copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length + 32));
    opened.take(LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(|error| cannot(shown, &error))?;
    if bytes.len() > LARGEST { Err(too_large()) } else { Ok(bytes) }
}

fn cannot(path: &Path, error: &io::Error) -> SecretFault {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            SecretFault::new(format!("there is no `{path}`"))
        }
        _ => SecretFault::new(format!("cannot read `{path}`: {}", purlin_files::reason(error))),
    }
}
