//! Inspects an untrusted component: the facts in its bytes, and its description of itself in an
//! instance that reaches nothing.

use std::time::Duration;

use purlin_model::Limits;
use purlin_sandbox::{LoadError, SandboxConfig};

use crate::common::{component, load, sandbox, sandbox_with_describe_time, seconds, setup};

#[tokio::test]
async fn the_description_is_the_same_as_when_loaded() {
    let sandbox = sandbox();
    for name in ["guests", "ledger", "file", "echo", "random"] {
        let info =
            sandbox.ask(component(name).into(), None, name, &Limits::default()).await.expect("it answers");
        assert!(!info.types.is_empty(), "{name}");
        if name == "guests" {
            assert_eq!(info, *load(&sandbox, &setup(Limits::default())).await.info());
        }
    }
}

#[tokio::test]
async fn its_imports_show_the_possible_capabilities() {
    let (sandbox, bytes) = (sandbox(), component("guests"));
    let read = sandbox.interfaces(bytes.clone().into()).await.expect("a component");
    assert_eq!((read.size, read.contract.as_deref()), (bytes.len() as u64, Some("0.3.0")));
    assert!(read.verdict().is_ok());
    assert!(read.reach().contains("dirs") && read.reach().contains("env"), "{:?}", read.reach());
    assert_eq!(read.digest, load(&sandbox, &setup(Limits::default())).await.digest());
    // Inner modules have imports too, and none of those is one of the component's.
    assert!(
        read.imports.iter().all(|import| import.offered && import.purpose.is_some()),
        "{:?}",
        read.imports
    );
    // Replaces a known name with another one of the same length.
    let (from, to) = (b"wasi:clocks/", b"wasi:keyval/");
    let mut strange = bytes;
    for at in 0..strange.len() - from.len() {
        if strange[at..].starts_with(from) {
            strange[at..at + to.len()].copy_from_slice(to);
        }
    }
    let read = sandbox.interfaces(strange.clone().into()).await.expect("a component still");
    assert!(matches!(read.verdict(), Err(LoadError::UnknownImport { .. })));
    assert!(read.reach().iter().any(|name| name.starts_with("wasi:keyval/")), "{:?}", read.reach());
    for end in [9, 100, strange.len() / 2, strange.len() - 1] {
        let torn = sandbox.interfaces(strange[..end].to_vec().into()).await;
        assert!(matches!(torn, Err(LoadError::Invalid { .. })), "{end}");
    }
}

#[tokio::test]
async fn a_driver_that_does_not_describe_itself_is_reported() {
    let limits = Limits { memory: Some(64 << 10), ..Limits::default() };
    match sandbox().ask(component("guests").into(), None, "guests", &limits).await {
        Err(LoadError::Describe(source)) => {
            assert!(source.to_string().contains("its memory limit"), "{source}")
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(sandbox().ask(b"text".into(), None, "x", &limits).await, Err(LoadError::NotWasm)));
}

/// While it describes itself, it reaches nothing.
#[tokio::test]
async fn effects_during_describe_end_it() {
    assert_eq!(SandboxConfig::default().describe_time, seconds(5));
    let (patient, hasty) = (sandbox(), sandbox_with_describe_time(Duration::from_millis(300)));
    for (name, words) in [
        ("import-in-describe", "it called `purlin:driver/log@0.3.0#write` during `describe`"),
        ("loop-in-describe", "did not return within 300ms"),
        ("loop-in-start", "did not return within 300ms"),
        ("trap-in-describe", "it panicked or aborted"),
        ("trap-in-start", "it panicked or aborted"),
        ("import-in-start", "crashed"),
        ("memory-large", "its memory limit"),
    ] {
        let sandbox = if name.starts_with("loop") { &hasty } else { &patient };
        let bytes = component(&format!("hostile/{name}"));
        let read = sandbox.interfaces(bytes.clone().into()).await;
        read.and_then(|read| read.verdict()).expect("its bytes are in order");
        // A longer time than the maximum cannot be granted.
        let limits = Limits { time: Some(seconds(3600)), ..Limits::default() };
        match sandbox.ask(bytes.into(), None, name, &limits).await {
            Err(LoadError::Describe(source)) => {
                assert!(source.to_string().contains(words), "{name}: {source}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}
