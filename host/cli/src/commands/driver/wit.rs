//! `purlin driver wit`

use std::path::PathBuf;

use crate::app::App;
use crate::failure::{Failure, Status};
use crate::files;

/// Write the contract as WIT, for a language without an SDK.
///
/// The folder is what tools such as wit-bindgen expect: the package `purlin:driver`, and in `deps` all that it uses.
/// Its world `driver` has the contract alone. The world `driver-with-wasi` also has every interface of WASI that
/// Purlin offers, at the version that it offers. Existing files are not overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin driver wit                                     into the folder `wit`
  purlin driver wit bindings/wit                        into another one
  wit-bindgen moonbit wit --world driver-with-wasi      bindings from it

Exit status: 0 success; 2 the files already exist.")]
pub(crate) struct Args {
    /// The folder to write to, created if necessary.
    #[arg(value_name = "DIR", default_value = "wit")]
    folder: PathBuf,
}

pub(super) fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    files::no_parent(&args.folder, &app.folder)?;
    let files = purlin_component::folder().map_err(|error| Failure::caused("cannot print WASI", &error))?;
    let files: Vec<_> = files.into_iter().map(|(path, text)| (args.folder.join(path), text)).collect();
    for file in files::write_new_files(&args.folder, &files, "purlin driver wit DIR")? {
        app.ui.data(&format!("{file}\n"));
    }
    Ok(Status::Done)
}
