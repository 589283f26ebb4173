//! `purlin driver new`

mod kits;
mod sdk;
mod upgrade;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::app::App;
use crate::failure::{Failure, Status};
use crate::files;
use crate::text;

use kits::Kit;

/// Create a small, working driver.
///
/// The project uses the language of your choice and builds with its usual tools. It contains the driver,
/// what the driver needs of Purlin, a test, a workspace that uses it, and the cases for `purlin driver
/// check`. Replace what the driver does with your own system. Existing files are not overwritten.
///
/// `--template rest` writes a driver for a resource of a JSON REST API, with a connection, a client with
/// retries and idempotency keys, and a token that the API shows only once. `--template files` writes one
/// that keeps notes in a folder.
///
/// The folder `purlin/` contains the SDK. `--upgrade` replaces it with that of this version of purlin,
/// and changes nothing else. If you changed a file of the SDK, it reports an error and writes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin driver new note --lang rust                      acme/note, in the folder `note`
  purlin driver new bucket --lang go --name shop/bucket   shop/bucket, in the folder `bucket`
  purlin driver new queue --lang rust --template rest     acme/queue, for a REST API
  purlin driver new bucket --upgrade                      this version's SDK for `bucket`

Exit status: 0 success; 2 a file already exists, the name is invalid, or the SDK cannot be
upgraded.")]
pub(crate) struct Args {
    /// The folder to write to, created if necessary. With `--upgrade`, the project's folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Write the driver in this language.
    #[arg(long, visible_alias = "language", value_name = "LANG", required_unless_present = "upgrade")]
    lang: Option<Language>,

    /// Start from this template.
    #[arg(long, value_name = "TEMPLATE", default_value = "files")]
    template: Template,

    /// Name the driver [default: acme/ and the folder's name].
    #[arg(long, value_name = "ORG/NAME")]
    name: Option<String>,

    /// Replace the project's SDK with that of this version.
    #[arg(long, conflicts_with_all = ["lang", "template", "name"])]
    upgrade: bool,
}

/// A language for drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Language {
    /// Rust, with cargo.
    Rust,
    /// C, with clang and make.
    C,
    /// Go, with its own compiler.
    Go,
    /// JavaScript, with componentize-js.
    Js,
    /// Python, with componentize-py.
    Python,
}

/// The initial content of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Template {
    /// Notes in a folder.
    Files,
    /// A resource of a JSON REST API.
    Rest,
}

pub(super) fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let Some(language) = args.lang else { return upgrade::run(&args.folder, app) };
    files::no_parent(&args.folder, &app.folder)?;
    let name = match &args.name {
        Some(name) => Name::parse(name)?,
        None => Name::of(&app.folder.join(&args.folder)),
    };
    let kit = kits::kit(language, args.template);
    let files = files_of(language, &kit, &name).into_iter();
    let files: Vec<_> = files.map(|(path, content)| (args.folder.join(path), content)).collect();
    for file in files::write_new_files(&args.folder, &files, "purlin driver new DIR")? {
        app.ui.data(&format!("{file}\n"));
    }
    app.ui.note(&format!("{name} needs {}", kit.needs));
    let file = name.file();
    app.ui.hint(&format!(
        "`cd {}`, then `purlin driver build` makes {file}, `purlin driver check {file}` tries it, and `purlin up app.yaml` uses it",
        text::shell_word(&args.folder.display().to_string())
    ));
    Ok(Status::Done)
}

/// All files of a project: those of the kit, with the driver's own name in them, and the SDK.
fn files_of(language: Language, kit: &Kit, name: &Name) -> Vec<(String, Cow<'static, str>)> {
    let mut files = Vec::new();
    for (path, content) in kit.common.iter().chain(kit.files) {
        files.push(((*path).to_owned(), Cow::Owned(name.put_into(content, kit))));
    }
    let sdk = sdk::of(language);
    files.push(upgrade::list(language, &sdk));
    files.extend(sdk);
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    files
}

/// A driver's name, `ORG/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    org: String,
    name: String,
}

impl Name {
    fn parse(text: &str) -> Result<Self, Failure> {
        let fault = |what: &str| {
            Failure::input(format!("`{text}` is not a valid driver name: {what}"))
                .hint("a name is ORG/NAME with lower-case letters, digits and dashes, such as `acme/bucket`")
        };
        let Some((org, name)) = text.split_once('/') else { return Err(fault("it has no `/`")) };
        if matches!(org, "purlin" | "humanitec") {
            return Err(fault("this organisation is reserved for the drivers of Purlin"));
        }
        match [org, name].into_iter().find(|part| !is_word(part)) {
            None => Ok(Self { org: org.to_owned(), name: name.to_owned() }),
            Some("") => Err(fault("a part of it is empty")),
            Some(part) => Err(fault(&format!("`{part}` is not a word"))),
        }
    }

    /// A valid name derived from the name of a folder.
    fn of(folder: &Path) -> Self {
        let last = folder.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
        let mut name = String::new();
        for c in last.unwrap_or_default().chars() {
            match c {
                'a'..='z' | '0'..='9' => name.push(c),
                _ if name.is_empty() || name.ends_with('-') => {}
                _ => name.push('-'),
            }
        }
        let name = name.trim_matches('-').trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        let name: String = name.chars().take(40).collect();
        let name = if name.is_empty() { "note".to_owned() } else { name.trim_end_matches('-').to_owned() };
        Self { org: "acme".to_owned(), name }
    }

    /// The file that a build creates.
    fn file(&self) -> String {
        format!("{}.wasm", self.name)
    }

    /// The text of a kit's file, adapted to a driver of this name.
    fn put_into(&self, content: &str, kit: &Kit) -> String {
        let (driver, file) = (format!("acme/{}", kit.stands_for), format!("{}.wasm", kit.stands_for));
        let mut text = content.replace(&driver, &self.to_string()).replace(&file, &self.file());
        for (word, with) in kit.words {
            text = text.replace(word, &with.replace("NAME", &self.name));
        }
        text
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.org)?;
        f.write_char('/')?;
        f.write_str(&self.name)
    }
}

/// Whether a word has only letters, digits and single dashes and begins with a letter. Such a word
/// is a valid package name in every language.
fn is_word(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    word.len() <= 40
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(plain)
        && !word.ends_with('-')
        && !word.contains("--")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Name;

    #[test]
    fn any_folder_makes_a_name() {
        for (folder, name) in [
            ("/a/bucket", "acme/bucket"),
            ("My Driver!", "acme/my-driver"),
            ("", "acme/note"),
            ("漢字", "acme/note"),
            ("2-redis", "acme/redis"),
            ("-a--b-", "acme/a-b"),
        ] {
            let made = Name::of(Path::new(folder)).to_string();
            assert_eq!(made, name, "{folder}");
            assert!(Name::parse(&made).is_ok(), "{made}");
        }
    }

    #[test]
    fn invalid_names_are_reported() {
        for wrong in ["bucket", "/", "acme/", "a/b/c", "Acme/b", "acme/b_c", "acme/-b", "purlin/echo", "a/2b"]
        {
            assert!(Name::parse(wrong).is_err(), "{wrong}");
        }
    }
}
