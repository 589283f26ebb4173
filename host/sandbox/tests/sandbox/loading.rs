//! From bytes to a driver: rejections and their reasons, the cache, and code compiled ahead of
//! time.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use purlin_model::{DirGrant, Grants, Limits};
use purlin_sandbox::{
    Compilation, CompileEvent, Compiler, DriverSetup, InProcess, LoadError, Names, Precompiled, Sandbox,
    SandboxConfig, Source, Target, precompile,
};
use serde_json::json;

use crate::common::{component, deed, load, sandbox, seconds, setup, worker};

async fn refused(bytes: &[u8]) -> String {
    match sandbox().load(Source::Bytes(bytes.to_vec().into()), &setup(Limits::default())).await {
        Ok(_) => panic!("it was taken for a driver"),
        Err(error) => error.to_string(),
    }
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(from.len()).position(|window| window == from.as_bytes()) {
        bytes[at + found..at + found + from.len()].copy_from_slice(to.as_bytes());
        at += found + from.len();
    }
    assert!(at > 0, "{from} is in it");
    bytes
}

#[tokio::test]
async fn files_that_are_no_drivers_are_recognised() {
    let good = component("guests");
    assert!(refused(b"apiVersion: v1\n").await.starts_with("not a WebAssembly file"));
    assert!(refused(b"").await.starts_with("not a WebAssembly file"));
    assert!(refused(b"\0asm\x01\0\0\0").await.starts_with("a core WebAssembly module, not a component"));
    assert_eq!(
        refused(b"\0asm\x0d\0\x01\0").await,
        "a component that does not export `purlin:driver/lifecycle@0.3.0`, so it is not a driver"
    );
    assert_eq!(
        refused(&replaced(&good, "purlin:driver/lifecycle@0.3.0", "purlin:driver/lifecycle@0.7.0")).await,
        "made for contract `purlin:driver@0.7.0`, and this version runs `purlin:driver@0.3.0`; \
         it needs a newer Purlin, or must be built against that"
    );
    let imports = refused(&replaced(&good, "wasi:clocks/", "wasi:keyval/")).await;
    assert!(imports.starts_with("imports `wasi:keyval/"), "{imports}");
    for end in [9, 100, good.len() / 2, good.len() - 1] {
        let torn = refused(&good[..end]).await;
        assert!(torn.starts_with("not a valid component"), "{torn}");
    }
    let missing = sandbox().load(Source::File("/nowhere/x.wasm".into()), &DriverSetup::default()).await;
    assert!(matches!(missing, Err(LoadError::Read { .. })));
    let folder = sandbox().load(Source::File("/".into()), &DriverSetup::default()).await;
    assert!(matches!(folder, Err(LoadError::Read { .. })));
}

#[tokio::test]
async fn a_driver_without_memory_for_describe_is_reported() {
    let limits = Limits { memory: Some(64 << 10), ..Limits::default() };
    let sandbox = Sandbox::new(SandboxConfig::default()).expect("a sandbox");
    let error = sandbox.load(Source::Bytes(component("guests").into()), &setup(limits)).await;
    match error {
        Err(LoadError::Describe(source)) => {
            assert!(source.to_string().contains("its memory limit"), "{source}")
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn impossible_grants_are_rejected() {
    let folder = tempfile::tempdir().expect("folder");
    std::fs::write(folder.path().join("file"), "x").expect("written");
    let refused = async |dirs: Vec<DirGrant>| {
        let grants = Grants { dirs, ..Grants::default() };
        let setup = DriverSetup { grants, folder: folder.path().to_owned(), ..setup(Limits::default()) };
        match sandbox().load(Source::Bytes(component("guests").into()), &setup).await {
            Err(LoadError::Grant { message }) => message,
            other => panic!("{other:?}"),
        }
    };
    let dir =
        |host: &str, guest: &str| DirGrant { host: host.into(), guest: guest.into(), ..DirGrant::default() };
    assert!(refused(vec![dir("none", "/a")]).await.contains("drivers.acme/bad.grants.dirs"));
    assert!(refused(vec![dir("file", "/a")]).await.contains("is not a folder"));
    assert!(refused(vec![dir(".", "a")]).await.contains("does not begin with `/`"));
    assert!(refused(vec![dir(".", "/a"), dir(".", "/a")]).await.contains("and so has another"));
}

/// Compiles in this process, and does not end before it is known to be slow: the thread that
/// reports this may begin late.
#[derive(Debug)]
struct Slow(Arc<Mutex<Vec<CompileEvent>>>);

// SAFETY: the code comes from the reference.
#[allow(unsafe_code)]
unsafe impl Compiler for Slow {
    fn names(&self, wasm: &[u8]) -> Result<Names, LoadError> {
        InProcess.names(wasm)
    }

    fn compile(&self, wasm: &[u8], functions: Option<&[u8]>) -> Result<Compilation, LoadError> {
        let compiled = InProcess.compile(wasm, functions);
        let known = || matches!(self.0.lock().expect("ours").last(), Some(CompileEvent::Slow { .. }));
        let begun = Instant::now();
        while !known() && begun.elapsed() < seconds(300) {
            std::thread::sleep(Duration::from_millis(1));
        }
        compiled
    }
}

fn with_cache(cache: &Path) -> (Sandbox, Arc<Mutex<Vec<CompileEvent>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let sandbox = Sandbox::new(SandboxConfig {
        cache: Some(cache.to_owned()),
        describe_time: seconds(600),
        compiler: Arc::new(Slow(Arc::clone(&events))),
        slow_compile: Duration::ZERO,
        on_compile: Some(Arc::new(move |event| sink.lock().expect("ours").push(event))),
        ..SandboxConfig::default()
    });
    (sandbox.expect("a sandbox"), events)
}

#[tokio::test]
async fn a_component_compiles_once() {
    let folder = tempfile::tempdir().expect("folder");
    let cache = folder.path().join("cache");
    let (first, events) = with_cache(&cache);
    let driver = load(&first, &setup(Limits::default())).await;
    assert_eq!(events.lock().expect("ours").len(), 2, "slow, then finished");
    let files: Vec<_> =
        std::fs::read_dir(&cache).expect("made").map(|entry| entry.expect("file").path()).collect();
    assert_eq!(files.len(), 1);

    let (second, events) = with_cache(&cache);
    let again = load(&second, &setup(Limits::default())).await;
    assert!(events.lock().expect("ours").is_empty());
    assert_eq!((again.info(), again.digest()), (driver.info(), driver.digest()));
    deed(&again, json!({})).await.expect("it works");

    // Damaged and forged files are treated as missing.
    let whole = std::fs::read(&files[0]).expect("there");
    let mut flipped = whole.clone();
    let middle = whole.len() / 2;
    flipped[middle] ^= 0xff;
    for bad in [&whole[..middle], &flipped, b""] {
        std::fs::write(&files[0], bad).expect("written");
        let (sandbox, events) = with_cache(&cache);
        let driver = load(&sandbox, &setup(Limits::default())).await;
        assert_eq!(events.lock().expect("ours").len(), 2);
        deed(&driver, json!({})).await.expect("it works");
        assert!(std::fs::read(&files[0]).expect("there") == whole, "it was repaired");
    }
}

/// An edit of a driver in JavaScript or Python changes data, and the code of the language's runtime stays.
#[tokio::test]
async fn an_edited_component_compiles_only_what_changed() {
    let folder = tempfile::tempdir().expect("folder");
    let (cache, file) = (folder.path().join("cache"), folder.path().join("driver.wasm"));
    let functions = || {
        let files = std::fs::read_dir(&cache).expect("made").map(|entry| entry.expect("file").path());
        let mut files = files.filter(|path| path.extension() == Some("functions".as_ref()));
        (files.next().is_some(), files.count())
    };
    let mut digests = Vec::new();
    for edit in [b'a', b'b'] {
        std::fs::write(&file, padded(edit)).expect("written");
        // Reading its description compiles it, and loading it then uses that.
        let (sandbox, events) = with_cache(&cache);
        let bytes = padded(edit).into();
        let info = sandbox.ask(bytes, Some(file.clone()), "guests", &Limits::default()).await;
        assert_eq!(events.lock().expect("ours").len(), 2, "{}", edit as char);
        let (sandbox, events) = with_cache(&cache);
        let driver =
            sandbox.load(Source::File(file.clone()), &setup(Limits::default())).await.expect("loads");
        assert!(events.lock().expect("ours").is_empty(), "{}", edit as char);
        assert_eq!(info.expect("it answers"), *driver.info());
        deed(&driver, json!({})).await.expect("it works");
        digests.push(driver.digest().to_owned());
    }
    assert_ne!(digests[0], digests[1]);

    // The worker returns them too.
    let first = worker().compile(&padded(b'c'), Some(&[])).expect("compiled");
    let kept = first.functions.expect("all are new");
    assert_eq!(functions(), (true, 0), "one file, whatever was compiled");
    let second = worker().compile(&padded(b'd'), Some(&kept)).expect("compiled");
    assert!(second.code == first.code, "the same code");
    // The compiler names some of them differently from run to run, and compiles those again: how
    // many is chance, so this asks only that most were kept.
    let (before, after) = (names(&kept), names(&second.functions.unwrap_or(kept)));
    let same = after.intersection(&before).count();
    assert!(same * 2 > after.len(), "{same} of {} are the same", after.len());
    assert!(worker().compile(&padded(b'e'), None).expect("compiled").code == first.code);
}

/// The names of kept functions, after a magic number and a hash.
fn names(kept: &[u8]) -> std::collections::BTreeSet<[u8; 32]> {
    let mut names = std::collections::BTreeSet::new();
    let mut rest = &kept[48..];
    while let Some((name, after)) = rest.split_first_chunk::<32>() {
        let (length, after) = after.split_first_chunk::<4>().expect("a length");
        names.insert(*name);
        rest = &after[u32::from_le_bytes(*length) as usize..];
    }
    names
}

/// The adversary with this many bytes of data that nothing reads.
fn padded(with: u8) -> Vec<u8> {
    let mut component = component("guests");
    // A custom section: its kind, its length in LEB128, a name of one letter, data.
    component.extend_from_slice(&[0, 0x82, 0x80, 0x80, 0x01, 1, b'x']);
    component.extend(std::iter::repeat_n(with, 2 << 20));
    component
}

#[tokio::test]
async fn many_compile_at_once_into_one_cache() {
    let folder = tempfile::tempdir().expect("folder");
    let cache = folder.path().join("cache");
    let loads: Vec<_> = (0..4)
        .map(|_| {
            let (sandbox, _) = with_cache(&cache);
            tokio::spawn(async move {
                let driver = load(&sandbox, &setup(Limits::default())).await;
                deed(&driver, json!({"a": 1})).await
            })
        })
        .collect();
    for load in loads {
        load.await.expect("joined").expect("made");
    }
    assert_eq!(std::fs::read_dir(&cache).expect("made").count(), 1);
}

#[tokio::test]
#[allow(unsafe_code)]
async fn precompiled_code_runs_or_is_compiled_again() {
    let wasm: &'static [u8] = component("guests").leak();
    for target in [Target::Portable, Target::Host] {
        let code = precompile(wasm, target).await.expect("compiled");
        let folder = tempfile::tempdir().expect("folder");
        let (sandbox, events) = with_cache(&folder.path().join("cache"));
        // SAFETY: it was compiled just now.
        let trusted = unsafe { Precompiled::trust(&code) };
        assert!(sandbox.accepts(trusted));
        let driver =
            sandbox.load_precompiled(trusted, wasm, &setup(Limits::default())).await.expect("loaded");
        deed(&driver, json!({})).await.expect("it works");
        assert!(events.lock().expect("ours").is_empty(), "nothing was compiled: {target:?}");
        assert_eq!(driver.digest(), load(&sandbox, &setup(Limits::default())).await.digest());
    }
    // SAFETY: there is no code in it.
    let nothing = unsafe { Precompiled::trust(b"compiled by another version") };
    let driver =
        sandbox().load_precompiled(nothing, wasm, &setup(Limits::default())).await.expect("loaded anyway");
    deed(&driver, json!({})).await.expect("it works");
    assert!(matches!(precompile(b"text", Target::Portable).await, Err(LoadError::NotWasm)));
}

/// The accepted features of components are few: each one is a way into the host if it has a bug
/// there. The first three once ended the whole process.
#[tokio::test]
async fn unneeded_features_are_rejected() {
    let casts = "(type $f (sub (func))) (elem declare func $t) (func $t (type $f)) (type $g (sub $f (func)))";
    for (name, inside) in [
        (
            "a call through a subtype",
            "(type $f (sub (func))) (type $g (sub (func (param i32)))) (table 1 funcref) (elem (i32.const 0) $b)
             (func $b (type $g)) (func $go (type $p) (call_indirect (type $f) (i32.const 0))) (start $go)",
        ),
        (
            "a test of a type",
            &format!("{casts} (func $s (type $p) (drop (ref.test (ref $g) (ref.func $t)))) (start $s)"),
        ),
        ("a cast", &format!("{casts} (func $s (type $p) (drop (ref.cast (ref $g) (ref.func $t)))) (start $s)")),
        ("a typed reference", "(func $r (param (ref $p)) (call_ref $p (local.get 0)))"),
        ("a structure", "(type $s (struct (field i32)))"),
        ("a memory of 64 bits", "(memory i64 1)"),
        ("two memories", "(memory 1) (memory 1)"),
        ("shared memory", "(memory 1 1 shared)"),
        ("an exception", "(tag $e)"),
        ("relaxed SIMD", "(func (param v128 v128) (result v128) (i8x16.relaxed_swizzle (local.get 0) (local.get 1)))"),
    ] {
        let exports: String = LIFECYCLE.iter().map(|name| format!("(export \"{name}\" (func $x))")).collect();
        let text = format!(
            "(component
               (core module $m (type $p (func)) {inside} (func (export \"x\") (type $p)))
               (core instance $i (instantiate $m))
               (func $x (canon lift (core func $i \"x\")))
               (instance $l {exports})
               (export \"purlin:driver/lifecycle@0.3.0\" (instance $l)))"
        );
        let component = wat::parse_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let loaded = sandbox().load(Source::Bytes(component.into()), &setup(Limits::default())).await;
        assert!(matches!(loaded, Err(LoadError::Invalid { .. })), "{name}: {loaded:?}");
    }
}

const LIFECYCLE: [&str; 8] =
    ["describe", "check", "name", "create", "read", "update-impact", "update", "delete"];
