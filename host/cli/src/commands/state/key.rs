//! `purlin state key`

use std::path::{Path, PathBuf};

use purlin_files::reason;
use purlin_model::KeySource;
use purlin_state as state;
use purlin_state::KeyProvider;
use serde::Serialize;

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::report::FORMAT;
use crate::text;
use crate::{files, input};

/// Manage the key that encrypts secrets in the state.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Show(ShowArgs),
    New(NewArgs),
    Rotate(RotateArgs),
}

/// Show the public key that the state is encrypted for.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With `--format json`; `recipient` is null if there is no key yet:
  {\"format\": 1, \"recipient\"}")]
struct ShowArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    format: FormatArg,
}

/// Create a new key in a file that only you can read.
///
/// The key is an age identity. Nothing uses it until you run `purlin state key rotate --to FILE`, or name
/// it in purlin.yaml.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state key new team.key && purlin state key rotate --to team.key

With `--format json`:
  {\"format\": 1, \"file\", \"recipient\"}")]
struct NewArgs {
    /// The file to write, which must not exist.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    format: FormatArg,
}

/// Re-encrypt all secrets with a new key.
///
/// The rotation is atomic: if it is interrupted, either the old key or the new one opens the entire
/// state. If the key is in a file, the new one replaces it there. If it comes from an environment
/// variable or a command, `--to` is required, and you store the new key there. Keep the old key as long
/// as you keep older copies of the state. Saved plans can no longer be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state key rotate
  purlin state key rotate --to team.key

With `--format json`:
  {\"format\": 1, \"recipient\"}")]
struct RotateArgs {
    /// Use the new key in this file; without this, a key is generated.
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    format: FormatArg,
}

#[derive(Debug, Serialize)]
struct KeyReport {
    format: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    recipient: Option<String>,
}

impl Args {
    pub(super) fn format(&self) -> Format {
        match &self.command {
            Command::Show(args) => args.format.format,
            Command::New(args) => args.format.format,
            Command::Rotate(args) => args.format.format,
        }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    match &args.command {
        Command::Show(args) => show(args, app).await,
        Command::New(args) => new(args, app),
        Command::Rotate(args) => rotate(args, app).await,
    }
}

fn tell(format: Format, file: Option<String>, recipient: Option<String>, app: &App) {
    match (format, recipient) {
        (Format::Json, recipient) => app.ui.json(&KeyReport { format: FORMAT, file, recipient }),
        (Format::Text, Some(recipient)) => app.ui.data(&format!("{recipient}\n")),
        (Format::Text, None) => {
            app.ui.say("There is no key yet: one is created when the first secret is recorded.");
        }
    }
}

async fn show(args: &ShowArgs, app: &App) -> Result<Status, Failure> {
    let workspace = input::workspace(&input::load(&args.place.documents(), app)?, app);
    let purlin = input::orchestrator(&workspace, app)?;
    let mut recipient = None;
    // Showing the key must not create a state.
    if purlin.has_state() {
        recipient = purlin.recipient().await.map_err(Failure::without_sources)?;
    }
    purlin.close().await.map_err(Failure::without_sources)?;
    tell(args.format.format, None, recipient, app);
    Ok(Status::Done)
}

fn new(args: &NewArgs, app: &App) -> Result<Status, Failure> {
    let path = text::path(&args.file);
    if args.file.symlink_metadata().is_ok() {
        return Err(files::already_exists(&path));
    }
    let recipient =
        KeyProvider::create(&args.file).map_err(|error| Failure::without_sources(error.into()))?;
    tell(args.format.format, Some(args.file.display().to_string()), Some(recipient), app);
    if args.format.format == Format::Text {
        app.ui.hint(&format!(
            "`purlin state key rotate --to {path}` encrypts the state with it; back it up: without it, \
             the secrets in the state cannot be recovered"
        ));
    }
    Ok(Status::Done)
}

async fn rotate(args: &RotateArgs, app: &App) -> Result<Status, Failure> {
    let workspace = input::workspace(&input::load(&args.place.documents(), app)?, app);
    let elsewhere = match &workspace.key {
        Some(KeySource::Env(name)) => Some(format!("the environment variable `{name}`")),
        Some(KeySource::Command(_)) => Some("a command".to_owned()),
        Some(KeySource::File(_)) | None => None,
    };
    if let (Some(from), None) = (&elsewhere, &args.to) {
        return Err(Failure::input(format!("the key comes from {from}, so the new key has to be given"))
            .hint("`purlin state key new FILE` creates one, and `--to FILE` passes it"));
    }
    let new = args.to.as_deref().map(read).transpose()?;
    let purlin = input::orchestrator(&workspace, app)?;
    if !purlin.has_state() {
        return Err(Failure::input(format!(
            "there is no state in `{}`, so nothing is encrypted yet",
            text::path(&input::short(purlin.state_folder(), &app.folder))
        ))
        .hint("`key` in purlin.yaml names the key to begin with"));
    }
    let rotated = purlin.rotate_key(new.map(Into::into)).await;
    let recipient = rotated.map_err(|error| match error {
        purlin_host::Error::State(error @ state::Error::KeyInvalid { .. }) => {
            Failure::input(error.to_string()).hint("`purlin state key new FILE` creates one")
        }
        error => Failure::without_sources(error),
    })?;
    purlin.close().await.map_err(Failure::without_sources)?;
    tell(args.format.format, None, Some(recipient), app);
    if args.format.format == Format::Text {
        app.ui.say("The state is encrypted with the new key.");
        app.ui.hint(&match elsewhere {
            Some(from) => format!(
                "store the new key in {from}, in place of the old one: only the new key opens the state now"
            ),
            None => "back up the new key; the old key stays next to it, in a file named after its public key, for older copies of the state".to_owned(),
        });
    }
    Ok(Status::Done)
}

/// Reads a key from a file, and rejects it if other users can read it.
fn read(path: &Path) -> Result<String, Failure> {
    let name = text::path(path);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = path.metadata().map(|metadata| metadata.permissions().mode() & 0o777).unwrap_or_default();
        if mode & 0o077 != 0 {
            let exposed = state::Error::KeyExposed { path: PathBuf::from(&name), mode };
            return Err(Failure::without_sources(exposed.into()));
        }
    }
    files::text(path)
        .map_err(|error| Failure::input(format!("cannot read the key file `{name}`: {}", reason(&error))))
}
