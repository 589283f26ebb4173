//! `cargo xtask bench languages`: measures the cost of a driver in each language, all in one run.
//!
//! All are the same driver, `examples/drivers`, in the same workspace. The cost of a call is the
//! difference between reading many notes and reading one, sequentially, which excludes the start of
//! the program. An edit adds a comment to the source; then `driver build --dev` builds the driver,
//! and `driver run` calls `describe`, as an author would do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::build;
use crate::step::{built, root, step};

const WITHOUT_WASI: &str = "Rust without WASI";
/// The name, the kit, and a source file with the characters that begin a comment.
const LANGUAGES: [(&str, &str, &str, &str); 6] = [
    ("Rust", "rust", "src/lib.rs", "//"),
    (WITHOUT_WASI, "rust", "src/lib.rs", "//"),
    ("C", "c", "note.c", "//"),
    ("Go", "go", "main.go", "//"),
    ("JavaScript", "js", "note.js", "//"),
    ("Python", "python", "note.py", "#"),
];
/// The number of notes in addition to the first.
const NOTES: usize = 100;

/// A row of the table.
struct Row {
    language: &'static str,
    bytes: u64,
    compiled: Duration,
    edit: Duration,
    call: Option<Duration>,
}

pub(super) fn run(runs: usize, no_build: bool) -> anyhow::Result<()> {
    if !no_build {
        build::run(&build::Arguments { release: true })?;
    }
    let purlin = built(true).join(format!("purlin{}", std::env::consts::EXE_SUFFIX));
    let mut rows = Vec::new();
    for (language, kit, source, comment) in LANGUAGES {
        let row = step(language, || measure(&purlin, language, kit, (source, comment), runs));
        rows.push(row.with_context(|| format!("the driver in {language}"))?);
    }
    println!("| language | component | first compiled | after an edit | a call |\n|---|--:|--:|--:|--:|");
    for Row { language, bytes, compiled, edit, call } in rows {
        let size = bytes as f64 / 1024.0;
        let size = if size < 1024.0 { format!("{size:.0} KiB") } else { format!("{:.1} MiB", size / 1024.0) };
        let call = call.map_or_else(|| "–".to_owned(), |call| format!("{:.2} ms", call.as_secs_f64() * 1e3));
        let (compiled, edit) = (compiled.as_secs_f64(), edit.as_secs_f64());
        println!("| {language} | {size} | {compiled:.2} s | {edit:.1} s | {call} |");
    }
    Ok(())
}

fn measure(
    purlin: &Path,
    language: &'static str,
    kit: &str,
    (source, comment): (&str, &str),
    runs: usize,
) -> anyhow::Result<Row> {
    // The project must be outside of this workspace.
    let scratch = tempfile::Builder::new().prefix("purlin-languages-").tempdir()?;
    let folder = scratch.path().join("note");
    let run =
        |arguments: &[&str], cache: &str| timed(purlin, arguments, &folder, &scratch.path().join(cache));
    fs::create_dir_all(&folder)?;
    run(&["driver", "new", ".", "--lang", kit], "cache")?;
    let plain = language == WITHOUT_WASI;
    let target = if plain { "wasm32-unknown-unknown" } else { "wasm32-wasip2" };
    run(&["driver", "build", "--target", target], "cache")?;
    let component = folder.join("note.wasm");
    let bytes = fs::metadata(&component)?.len();

    let mut compiled = Vec::new();
    let mut calls = Vec::new();
    let mut edits = Vec::new();
    for number in 0..runs {
        // Inspecting a driver that is not compiled yet does little else.
        compiled.push(run(&["driver", "inspect", "note.wasm"], &format!("cache-{number}"))?);
    }
    // The first build for trying things out prepares the others.
    let build = ["driver", "build", "--dev", "--target", target];
    run(&build, "cache")?;
    for number in 0..runs {
        let text = fs::read_to_string(folder.join(source))?;
        fs::write(folder.join(source), format!("{text}{comment} Edit {number}.\n"))?;
        let built = run(&build, "cache")?;
        edits.push(built + run(&["driver", "run", "note.wasm", "describe"], "cache")?);
    }
    // The component of `--dev` reads its modules in each call; what is published does not.
    run(&["driver", "build", "--target", target], "cache")?;
    // Without WASI, the driver has no folder for its notes.
    if !plain {
        let [one, many] = [1, 1 + NOTES].map(|count| -> anyhow::Result<Vec<Duration>> {
            fs::write(folder.join("app.yaml"), notes(count))?;
            run(&["up", "app.yaml", "--yes"], "cache")?;
            let refresh = ["refresh", "--parallelism", "1"];
            (0..=runs).map(|_| run(&refresh, "cache")).skip(1).collect()
        });
        let (one, many) = (median(one?), median(many?));
        calls.push(many.saturating_sub(one) / u32::try_from(NOTES).unwrap_or(1));
    }
    Ok(Row { language, bytes, compiled: median(compiled), edit: median(edits), call: calls.pop() })
}

/// Documents with this many notes.
fn notes(count: usize) -> String {
    let mut text = String::from(
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: note}\nspec:\n  type: note\n  driver: acme/note\n  inputs: {values: {text: Hello.}}\n  criteria: [{}]\n---\napiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared:\n",
    );
    for number in 0..count {
        text.push_str(&format!("    n{number}: {{type: note}}\n"));
    }
    text
}

fn timed(purlin: &Path, arguments: &[&str], folder: &Path, cache: &Path) -> anyhow::Result<Duration> {
    let tools = root().join("target/tools/python/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&path)))?;
    let kept = |name: &str| -> PathBuf { root().join("target/tmp/kits").join(name) };
    let mut command = Command::new(purlin);
    command.args(arguments).current_dir(folder).env("PATH", path).env("XDG_CACHE_HOME", cache);
    command
        .env("CARGO_TARGET_DIR", kept("cargo"))
        .env("GOCACHE", kept("go"))
        .env("npm_config_cache", kept("npm"));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let done = command.output().with_context(|| format!("cannot run {}", purlin.display()))?;
    let took = begun.elapsed();
    let stderr = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "`purlin {}` failed ({}):\n{stderr}", arguments.join(" "), done.status);
    Ok(took)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
