//! Secrets in files: a folder with one file for each, or a single file with all of them.
//!
//! Nothing outside the folder is read, whatever the name of the secret is and wherever links lead.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use purlin_engine::{SecretFault, SecretRef};
use purlin_expression::{nearest, or_near};
use secrecy::SecretString;
use zeroize::Zeroizing;

use super::{LARGEST, keys, text, too_large};

/// The help for a name that does not lead to a file of the folder.
const FROM_THERE: &str = "name a file in the folder, by its path from there";

/// Reads a secret from a folder or a file, whichever exists.
pub(super) fn read(path: &Path, secret: &SecretRef) -> Result<SecretString, SecretFault> {
    super::no_version(secret, "a file")?;
    let root = path.canonicalize().map_err(|error| match is_missing(&error) {
        true => no_store(path, &secret.name),
        false => cannot(path, &error),
    })?;
    if root.is_dir() {
        return text(&bytes(&within(&root, path, &secret.name)?, &path.join(&*secret.name))?);
    }
    keys::read(&bytes(&root, path)?, path, &secret.name)
}

/// The resolved path of a file in a folder.
fn within(root: &Path, shown: &Path, name: &str) -> Result<PathBuf, SecretFault> {
    if !is_plain(name) {
        return Err(leads_out(shown));
    }
    let file = root.join(name).canonicalize().map_err(|error| match is_missing(&error) {
        true => no_secret(root, shown, name),
        false => cannot(&shown.join(name), &error),
    })?;
    if !file.starts_with(root) {
        let fault = SecretFault::new(format!("a link leads out of the folder `{}`", shown.display()));
        return Err(fault.help("put the secret itself there"));
    }
    Ok(file)
}

/// Whether a name is a path that stays in the folder.
fn is_plain(name: &str) -> bool {
    // Path separators of other systems are not allowed in a name.
    Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) && !name.contains('\\')
}

fn leads_out(shown: &Path) -> SecretFault {
    SecretFault::new(format!("it would lead out of the folder `{}`", shown.display())).help(FROM_THERE)
}

/// The fault of a store that does not exist. Only its name says whether it is a folder or a file.
fn no_store(shown: &Path, name: &str) -> SecretFault {
    let ending = shown.extension().and_then(|ending| ending.to_str());
    if matches!(ending, Some("yaml" | "yml" | "json")) {
        let fault = SecretFault::new(format!("there is no file `{}`", shown.display()));
        return fault.help("write a map in YAML or JSON into it; `ref` is the path of keys to the secret");
    }
    if !is_plain(name) {
        return leads_out(shown);
    }
    let fault = SecretFault::new(format!("there is no folder `{}`", shown.display()));
    fault.help(write_into(shown, name))
}

/// The fault of a secret that is not in the folder.
fn no_secret(root: &Path, shown: &Path, name: &str) -> SecretFault {
    let fault = SecretFault::new(format!("there is no `{}`", shown.join(name).display()));
    match from_folder(shown, name).filter(|own| root.join(own).is_file()) {
        Some(own) => fault.help(format!("did you mean `{}`?", own.display())),
        None => fault.help(or_near(near(root, name).as_deref(), &write_into(shown, name))),
    }
}

/// The help that says where to write a secret.
fn write_into(shown: &Path, name: &str) -> String {
    match from_folder(shown, name) {
        Some(own) => {
            let file = shown.join(own);
            format!("write the secret into `{}`, and set `ref` to `{}`", file.display(), own.display())
        }
        None => format!("write the secret into `{}`", shown.join(name).display()),
    }
}

/// The path from the folder, if a name repeats the folder.
fn from_folder<'a>(shown: &Path, name: &'a str) -> Option<&'a Path> {
    let name = Path::new(name);
    let own = name.strip_prefix(shown).or_else(|_| name.strip_prefix(shown.file_name().unwrap_or_default()));
    own.ok().filter(|own| *own != name && !own.as_os_str().is_empty())
}

/// The file that a name most likely means: one beside it with another ending or a similar name.
fn near(root: &Path, name: &str) -> Option<String> {
    let path = Path::new(name);
    let folder = root.join(path.parent()?).canonicalize().ok().filter(|folder| folder.starts_with(root))?;
    let files = folder.read_dir().ok()?.flatten().filter(|entry| entry.path().is_file());
    let files: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let own = path.file_name()?.to_str()?;
    let names = || files.iter().map(String::as_str);
    let with_stem = names().filter(|other| Path::new(other).file_stem() == path.file_stem()).min();
    let near = with_stem.or_else(|| nearest(own, names()))?;
    Some(path.with_file_name(near).display().to_string())
}

fn bytes(file: &Path, shown: &Path) -> Result<Zeroizing<Vec<u8>>, SecretFault> {
    let opened = purlin_files::open(file).map_err(|error| match error.kind() {
        // Reading something that is not a file, such as a pipe, might never end.
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => {
            SecretFault::new(format!("`{}` is not a file", shown.display())).help(FROM_THERE)
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
    match is_missing(error) {
        true => SecretFault::new(format!("there is no `{path}`")),
        false => SecretFault::new(format!("cannot read `{path}`: {}", purlin_files::reason(error))),
    }
}

/// Whether a path leads nowhere.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
