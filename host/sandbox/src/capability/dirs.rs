//! Folders of the host. A driver sees only those that it was granted, and nothing above them.

use std::path::PathBuf;

use purlin_files::real;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::error::LoadError;
use crate::sandbox::DriverSetup;

/// The folders of one driver.
pub(crate) struct Dirs(Vec<Dir>);

struct Dir {
    host: PathBuf,
    /// The folder without links when the driver was loaded. A driver that may write above it could
    /// put a link in its place.
    real: PathBuf,
    guest: String,
    writable: bool,
}

impl Dirs {
    /// A folder to read from must exist; one to write to is created at its first use.
    pub(super) fn validate(setup: &DriverSetup) -> Result<Self, LoadError> {
        let mut dirs: Vec<Dir> = Vec::with_capacity(setup.grants.dirs.len());
        for grant in &setup.grants.dirs {
            let host = setup.folder.join(&grant.host);
            let fault = |what: &str| LoadError::Grant {
                message: format!(
                    "the granted folder `{}` {what}; see `drivers.{}.grants.dirs` in purlin.yaml",
                    grant.host.display(),
                    setup.name
                ),
            };
            match std::fs::metadata(&host) {
                Ok(metadata) if !metadata.is_dir() => return Err(fault("is not a folder")),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    if !grant.writable {
                        return Err(fault(
                            "does not exist; make it for a driver that only reads, or let the driver write there with \
                             `mode: rw`",
                        ));
                    }
                }
                Err(error) => {
                    return Err(fault(&format!("cannot be used ({})", purlin_files::reason(&error))));
                }
            }
            if !grant.guest.starts_with('/') {
                return Err(fault(&format!(
                    "has the path `{}` in the driver, which does not begin with `/`",
                    grant.guest
                )));
            }
            if dirs.iter().any(|dir| dir.guest == grant.guest) {
                return Err(fault(&format!(
                    "has the path `{}` in the driver, and so has another folder",
                    grant.guest
                )));
            }
            let real = real(&host);
            dirs.push(Dir { host, real, guest: grant.guest.clone(), writable: grant.writable });
        }
        Ok(Self(dirs))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn build(&self, builder: &mut WasiCtxBuilder) -> Result<(), String> {
        for dir in &self.0 {
            let fault = |error: &dyn std::fmt::Display| {
                format!("the granted folder {} cannot be opened: {error}", dir.host.display())
            };
            // Checked before anything is created at the place where the path leads now.
            if real(&dir.host) != dir.real {
                return Err(fault(&"it leads somewhere else than when the driver was loaded"));
            }
            if dir.writable {
                std::fs::create_dir_all(&dir.host).map_err(|error| fault(&error))?;
            }
            let perms = if dir.writable { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
            builder.preopened_dir(&dir.host, &dir.guest, perms).map_err(|error| fault(&error))?;
        }
        Ok(())
    }
}
