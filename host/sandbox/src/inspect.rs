//! Inspects an untrusted component before it gets any access.
//!
//! There are two kinds of inspection, which must not be confused. [`Sandbox::interfaces`] reads the
//! bytes and runs nothing, so its result is reliable. [`Sandbox::ask`] runs the component, in an
//! instance whose imports reach nothing; its result is the component's own claim.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use purlin_model::Limits;
use purlin_model::driver::DriverInfo;
use purlin_model::grants::Capability;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, ResourceType};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random};
use wasmtime_wasi::random::WasiRandom;

use crate::cache::hex;
use crate::call::Runner;
use crate::capability::Guest;
use crate::compiler::Names;
use crate::component;
use crate::contract;
use crate::error::{CallError, LoadError};
use crate::info;
use crate::sandbox::{DriverSetup, Sandbox, blocking};

/// Facts from the bytes of a component, without running it.
///
/// They serialise in the published, versioned form: `driver inspect` in `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interfaces {
    /// Bytes.
    pub size: u64,
    /// SHA-256, in hex; in JSON after `sha256:`.
    #[serde(serialize_with = "with_algorithm")]
    pub digest: String,
    /// The version of the contract that it was built for; none if it is not a driver.
    pub contract: Option<String>,
    /// The version of `purlin:preview` with which it foresees its effects, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Its imports, in its order.
    pub imports: Vec<Import>,
    /// Its exports, in its order.
    pub exports: Vec<String>,
}

fn with_algorithm<S: Serializer>(digest: &str, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("sha256:{digest}"))
}

/// An import of a component.
///
/// It serialises as part of [`Interfaces`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Import {
    /// As written, such as `wasi:sockets/tcp@0.2.6`.
    pub name: String,
    /// Its purpose, in plain words; none if this version does not know it.
    pub purpose: Option<&'static str>,
    /// The capability without whose grant it reaches nothing outside; none if it never does.
    pub capability: Option<Capability>,
    /// Whether drivers get it.
    pub offered: bool,
}

impl Interfaces {
    /// Whether it can be a driver, as far as that is known without running it.
    ///
    /// # Errors
    /// The reason why not.
    pub fn verdict(&self) -> Result<(), LoadError> {
        let exports = self.exports.iter().map(String::as_str);
        component::check_names(exports, self.imports.iter().map(|import| import.name.as_str())).map(drop)
    }

    /// Every capability that its imports could use, sorted; an unknown import is listed itself.
    pub fn reach(&self) -> BTreeSet<String> {
        reach(&self.imports)
    }
}

/// Every capability that imports could use; an unknown import is listed itself.
fn reach(imports: &[Import]) -> BTreeSet<String> {
    let one = |import: &Import| {
        if import.offered {
            import.capability.map(|capability| capability.to_string())
        } else {
            Some(import.name.clone())
        }
    };
    imports.iter().filter_map(one).collect()
}

/// The same for a compiled component.
pub(crate) fn reach_of(engine: &Engine, component: &Component) -> BTreeSet<String> {
    let imports: Vec<Import> =
        component.component_type().imports(engine).map(|(name, _)| describe_import(name)).collect();
    reach(&imports)
}

fn describe_import(name: &str) -> Import {
    let (bare, _) = name.split_once('@').unwrap_or((name, ""));
    let known = KNOWN.iter().find(|(known, ..)| *known == bare);
    Import {
        name: name.to_owned(),
        purpose: known.map(|(_, _, purpose)| *purpose),
        capability: known.and_then(|(_, capability, _)| *capability),
        offered: component::offered(name),
    }
}

type Known = (&'static str, Option<Capability>, &'static str);

/// Interfaces, the capability that each needs, and its purpose.
const KNOWN: &[Known] = &[
    ("purlin:driver/types", None, "types of the contract"),
    ("purlin:driver/log", None, "writes log lines for the operator"),
    ("purlin:metrics/metrics", None, "reports metrics"),
    ("purlin:preview/types", None, "types of previews"),
    ("purlin:preview/consent", None, "asks for the forecast that people agreed to, and reports its parts"),
    ("purlin:programs/types", None, "types of programs"),
    ("purlin:programs/run", None, "runs programs; this version grants none"),
    ("purlin:programs/folder", None, "shares a private folder with its programs"),
    ("purlin:driver/operation", None, "reports progress and checkpoints of the call in flight"),
    ("wasi:cli/environment", Some(Capability::Env), "reads the environment variables that `env` grants"),
    ("wasi:cli/exit", None, "exits"),
    ("wasi:cli/stdin", None, "reads standard input, which is closed"),
    ("wasi:cli/stdout", None, "writes to standard output, which becomes log lines"),
    ("wasi:cli/stderr", None, "writes to standard error, which becomes log lines"),
    ("wasi:cli/terminal-input", None, "detects a terminal; there is none"),
    ("wasi:cli/terminal-output", None, "detects a terminal; there is none"),
    ("wasi:cli/terminal-stdin", None, "detects a terminal; there is none"),
    ("wasi:cli/terminal-stdout", None, "detects a terminal; there is none"),
    ("wasi:cli/terminal-stderr", None, "detects a terminal; there is none"),
    ("wasi:clocks/monotonic-clock", None, "measures time and waits"),
    ("wasi:clocks/wall-clock", None, "reads the time of day"),
    ("wasi:filesystem/preopens", Some(Capability::Dirs), "lists the folders that `dirs` grants"),
    (
        "wasi:filesystem/types",
        Some(Capability::Dirs),
        "reads and writes files, in the folders that `dirs` grants",
    ),
    (
        "wasi:http/outgoing-handler",
        Some(Capability::Http),
        "makes HTTP requests, as far as `http` grants them",
    ),
    ("wasi:http/types", Some(Capability::Http), "builds HTTP requests and reads responses"),
    ("wasi:io/error", None, "errors of streams"),
    ("wasi:io/poll", None, "waits for pending operations"),
    ("wasi:io/streams", None, "reads and writes the streams that other interfaces give it"),
    ("wasi:random/insecure", None, "draws low-quality random numbers"),
    ("wasi:random/insecure-seed", None, "draws a random seed"),
    ("wasi:random/random", None, "draws random numbers"),
    ("wasi:sockets/instance-network", None, "the network; no access by itself"),
    (
        "wasi:sockets/ip-name-lookup",
        Some(Capability::Dns),
        "looks up names, as far as `dns` and grants for hosts allow",
    ),
    ("wasi:sockets/network", None, "types for addresses; no access by itself"),
    ("wasi:sockets/tcp", Some(Capability::Tcp), "opens connections, as far as `tcp` grants them"),
    (
        "wasi:sockets/tcp-create-socket",
        Some(Capability::Tcp),
        "creates sockets for connections, as far as `tcp` grants them",
    ),
    ("wasi:sockets/udp", Some(Capability::Udp), "sends datagrams, as far as `udp` grants them"),
    (
        "wasi:sockets/udp-create-socket",
        Some(Capability::Udp),
        "creates sockets for datagrams, as far as `udp` grants them",
    ),
];

impl Interfaces {
    fn new(wasm: &[u8], names: Names) -> Self {
        let imports = names.imports.iter().map(|name| describe_import(name)).collect();
        let contract = names.exports.iter().find_map(|name| contract::version(name)).map(str::to_owned);
        let preview =
            names.exports.iter().find_map(|name| contract::preview_version(name)).map(str::to_owned);
        let digest: [u8; 32] = Sha256::digest(wasm).into();
        let (size, digest) = (wasm.len() as u64, hex(&digest));
        Self { size, digest, imports, exports: names.exports, contract, preview }
    }
}

impl Sandbox {
    /// Reads the imports and exports of a component from its bytes. Nothing runs, and nothing is
    /// compiled.
    ///
    /// # Errors
    /// [`LoadError::NotWasm`], [`LoadError::CoreModule`], or [`LoadError::Invalid`] for a damaged
    /// file.
    pub async fn interfaces(&self, wasm: Cow<'static, [u8]>) -> Result<Interfaces, LoadError> {
        component::check_header(&wasm)?;
        let compiler = self.compiler();
        blocking(move || Ok(Interfaces::new(&wasm, compiler.names(&wasm)?))).await
    }

    /// Lets a component describe itself, in an instance that reaches nothing: no grants, little
    /// time ([`SandboxConfig::describe_time`]), and imports that end the call, except those that
    /// languages use during startup (clocks, random numbers, an empty environment, no folders,
    /// output that becomes log lines). The description may be untrue. `file` is the source of the
    /// bytes, if any.
    ///
    /// [`SandboxConfig::describe_time`]: crate::SandboxConfig::describe_time
    ///
    /// # Errors
    /// As for [`Sandbox::load`].
    pub async fn ask(
        &self,
        bytes: Cow<'static, [u8]>,
        file: Option<PathBuf>,
        name: &str,
        limits: &Limits,
    ) -> Result<DriverInfo, LoadError> {
        let named = Arc::from(name);
        let component = self.component(bytes, file, &named).await?;
        component::check_interface(self.engine(), &component)?;
        let linker = powerless(self.engine(), &component).map_err(|error| LoadError::invalid(&error))?;
        let most = self.describe_time();
        let limits = Limits { time: Some(limits.time.map_or(most, |time| time.min(most))), ..limits.clone() };
        let setup = DriverSetup { name: named, limits, ..DriverSetup::default() };
        let runner = Runner::linked(self, &component, &setup, &linker)?;
        let described = runner.describe().await.map_err(|error| {
            let error = match error {
                // The operator's limits do not apply here.
                CallError::TimeLimit { driver, limit } => {
                    CallError::Trap { driver, message: format!("`describe` did not return within {limit:?}") }
                }
                other => other,
            };
            component::explained(self.engine(), &component, LoadError::Describe(Box::new(error)))
        })?;
        info::from_wit(described).map_err(|message| LoadError::info(&message))
    }
}

/// A linker that satisfies this component and lets it reach nothing.
fn powerless(engine: &Engine, component: &Component) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::<Guest>::new(engine);
    let l = &mut linker;
    // Streams, clocks, random numbers; standard streams as for every driver.
    wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(l)?;
    random::insecure::add_to_linker::<Guest, WasiRandom>(l, |guest| guest.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<Guest, WasiRandom>(l, |guest| guest.ctx().ctx.random())?;
    cli::environment::add_to_linker::<Guest, WasiCli>(l, Guest::cli)?;
    cli::exit::add_to_linker::<Guest, WasiCli>(l, Guest::cli)?;
    cli::terminal_input::add_to_linker::<Guest, WasiCli>(l, Guest::cli)?;
    cli::terminal_output::add_to_linker::<Guest, WasiCli>(l, Guest::cli)?;
    cli::terminal_stdin::add_to_linker::<Guest, WasiCli>(l, Guest::cli)?;
    cli::terminal_stdout::add_to_linker::<Guest, WasiCli>(l, Guest::cli)?;
    cli::terminal_stderr::add_to_linker::<Guest, WasiCli>(l, Guest::cli)?;
    // There are no folders, so nothing leads to a file.
    filesystem::preopens::add_to_linker::<Guest, WasiFilesystem>(l, Guest::filesystem)?;
    filesystem::types::add_to_linker::<Guest, WasiFilesystem>(l, Guest::filesystem)?;
    // A resource has one origin; the other interfaces that have it import it from there.
    let mut made = Vec::new();
    for (name, item) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(instance) = item.ty else { continue };
        if is_quiet(name) {
            made.extend(instance.exports(engine).filter_map(|(_, item)| resource(&item.ty)));
            continue;
        }
        let mut refusing = linker.instance(name)?;
        for (member, item) in instance.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(_) => {
                    let called = format!("{name}#{member}");
                    refusing.func_new(member, move |_, _, _, _| {
                        Err(wasmtime::Error::msg(format!("it called `{called}` during `describe`")))
                    })?;
                }
                ComponentItem::Resource(resource) if !made.contains(&resource) => {
                    made.push(resource);
                    refusing.resource(member, ResourceType::host::<Nothing>(), |_, _| Ok(()))?;
                }
                _ => {}
            }
        }
    }
    Ok(linker)
}

fn resource(item: &ComponentItem) -> Option<ResourceType> {
    match item {
        ComponentItem::Resource(resource) => Some(*resource),
        _ => None,
    }
}

/// A resource that is never handed out.
struct Nothing;

/// Whether an interface is one that is linked and reaches nothing.
fn is_quiet(import: &str) -> bool {
    ["wasi:io/", "wasi:cli/", "wasi:clocks/", "wasi:random/", "wasi:filesystem/"]
        .iter()
        .any(|package| import.starts_with(package))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::{Compiler as _, InProcess};

    #[test]
    fn every_interface_is_known_once_and_offered() {
        let mut seen = std::collections::HashSet::new();
        for (name, ..) in KNOWN {
            assert!(seen.insert(*name), "{name}");
            let version = match name.split_once('/') {
                Some(("purlin:driver", _)) => crate::CONTRACT_VERSION,
                Some(("purlin:metrics", _)) => contract::METRICS_VERSION,
                Some(("purlin:preview", _)) => contract::PREVIEW_VERSION,
                Some(("purlin:programs", _)) => contract::PROGRAMS_VERSION,
                _ => "0.2.0",
            };
            let import = describe_import(&format!("{name}@{version}"));
            assert!(import.offered && import.purpose.is_some(), "{name}");
        }
        let stranger = describe_import("acme:bank/transfer@1.0.0");
        assert_eq!((stranger.offered, stranger.purpose), (false, None));
    }

    #[test]
    fn interfaces_have_the_published_form() {
        let interfaces = Interfaces {
            size: 8,
            digest: "00ff".into(),
            contract: None,
            preview: None,
            imports: vec![describe_import("acme:bank/transfer@1.0.0")],
            exports: Vec::new(),
        };
        assert_eq!(
            serde_json::to_string(&interfaces).expect("JSON"),
            concat!(
                r#"{"size":8,"digest":"sha256:00ff","contract":null,"#,
                r#""imports":[{"name":"acme:bank/transfer@1.0.0","purpose":null,"capability":null,"#,
                r#""offered":false}],"exports":[]}"#
            )
        );
    }

    #[test]
    fn truncated_components_are_reported() {
        let torn = InProcess.names(b"\0asm\x0d\0\x01\0\x0a\xff");
        assert!(matches!(torn, Err(LoadError::Invalid { .. })));
        let wasm = b"\0asm\x0d\0\x01\0";
        let empty = Interfaces::new(wasm, InProcess.names(wasm).expect("a component"));
        assert!(empty.imports.is_empty() && empty.contract.is_none());
        assert!(matches!(empty.verdict(), Err(LoadError::MissingExport { .. })));
    }
}
