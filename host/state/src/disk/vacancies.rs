//! Reserved vacancies: a file for each, locked by the process that fills it, and containing its
//! name.
//!
//! The file exists as long as the vacancy is reserved. The file of a killed process remains,
//! unlocked, until the next reservation. It need not survive a crash.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::environment_folder::{HESITATION, LockFile};
use super::files;
use super::root::{self, Hold, Root, SMALL};
use crate::{Error, Holder, Vacancy, keyspace};

/// A vacancy that is reserved until this is dropped or the process ends.
pub(crate) struct Filling {
    path: PathBuf,
    lock: File,
}

impl Filling {
    /// Reserves a vacancy, or fails at once.
    pub(crate) fn take(root: &Root, vacancy: &Vacancy, holder: &Holder) -> Result<Self, Error> {
        let folder = root.vacancies();
        let path = folder.join(name(vacancy));
        files::private_folder(&folder)?;
        loop {
            let mut lock = root::open_lock(&path)?;
            if !root::take(&lock, &path, Hold::Alone, Duration::ZERO)? {
                let holder = holder_of(&path);
                return Err(Error::Reserved { vacancy: vacancy.clone(), holder });
            }
            // The previous holder may have removed the file after it was opened here.
            if !LockFile::of(&path, &lock).is_there() {
                continue;
            }
            let text = serde_json::to_vec(holder).unwrap_or_default();
            lock.set_len(0).and_then(|()| lock.write_all(&text)).map_err(Error::io("write", &path))?;
            return Ok(Self { path, lock });
        }
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        if LockFile::of(&self.path, &self.lock).is_there() {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.lock.unlock();
    }
}

/// The holder of a vacancy. A holder may have it so briefly that its name is not written yet.
fn holder_of(path: &Path) -> Option<Box<Holder>> {
    let read = || serde_json::from_slice(&purlin_files::read(path, SMALL).ok()?).ok();
    read().or_else(|| {
        std::thread::sleep(HESITATION);
        read()
    })
}

/// The name of a vacancy's file.
fn name(vacancy: &Vacancy) -> String {
    let Vacancy { namespace, group, bundle } = vacancy;
    // Each part with its length, so that different vacancies have different texts.
    let parts = [Some(namespace), Some(group), bundle.as_ref()].map(|part| match part {
        Some(part) => format!("{} {part}", part.len()),
        None => "-".to_owned(),
    });
    keyspace::shortened(parts.join(" ").as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vacancy_has_its_own_file() {
        let of = |namespace: &str, group: &str, bundle: Option<&str>| {
            name(&Vacancy {
                namespace: namespace.into(),
                group: group.into(),
                bundle: bundle.map(Into::into),
            })
        };
        let all = [
            of("", "", None),
            of("dev", "", None),
            of("", "dev", None),
            of("", "", Some("dev")),
            of("", "", Some("")),
            of("dev", "", Some("a")),
            of("dev 1", "", Some("a")),
            of("dev", "1", Some("a")),
            of("../../escaped", "", Some("/etc/passwd")),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(one.len() == 32 && one.chars().all(|c| c.is_ascii_hexdigit()), "{one}");
            assert!(!all[..place].contains(one), "{one}");
        }
    }
}
