//! The checks, each with the number of its invariant and with samples of crates that break it.

use std::fmt;

use crate::workspace::{Crate, Workspace};

/// A check of an invariant.
pub(crate) struct Check {
    /// The number of the invariant in ARCHITECTURE.md.
    pub(crate) invariant: u32,
    pub(crate) find: fn(&Workspace) -> Vec<BrokenInvariant>,
    /// Crates that break it: name, dependencies, and the text of their only file.
    pub(crate) broken: &'static [(&'static str, &'static [&'static str], &'static str)],
}

/// A broken invariant.
pub(crate) struct BrokenInvariant {
    pub(crate) invariant: u32,
    place: String,
    what: String,
}

impl fmt::Display for BrokenInvariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invariant {}: {}: {}", self.invariant, self.place, self.what)
    }
}

pub(crate) const CHECKS: &[Check] = &[
    Check {
        invariant: 1,
        find: model_is_alone,
        broken: &[
            ("purlin-model", &["purlin-state"], "fn a() {}"),
            ("purlin-model", &["tokio"], "fn a() {}"),
            ("purlin-range", &["purlin-model"], "fn a() {}"),
            ("purlin-model", &[], "async fn a() {}"),
            ("purlin-model", &[], "fn a() { std::fs::read(x); }"),
        ],
    },
    Check {
        invariant: 2,
        find: graph_is_pure,
        broken: &[
            ("purlin-graph", &["wasmtime"], "fn a() {}"),
            ("purlin-graph", &["purlin-documents"], "fn a() {}"),
            ("purlin-graph", &[], "use std::fs::File;"),
        ],
    },
    Check {
        invariant: 3,
        find: sandbox_and_state_are_strangers,
        broken: &[
            ("purlin-sandbox", &["purlin-state"], "fn a() {}"),
            ("purlin-state", &["purlin-sandbox"], "fn a() {}"),
            ("purlin-state", &["wasmtime"], "fn a() {}"),
            ("purlin-sandbox", &["sled"], "fn a() {}"),
        ],
    },
    Check {
        invariant: 4,
        find: nothing_below_cli_touches_the_process,
        broken: &[
            ("purlin-engine", &[], "fn a() { println!(\"a\"); }"),
            ("purlin-engine", &[], "fn a() { let home = std::env::var(\"HOME\"); }"),
            ("purlin-host", &[], "fn a() { tokio::runtime::Builder::new_current_thread(); }"),
            ("purlin-host", &[], "fn a() { tracing::subscriber::set_global_default(s); }"),
            ("purlin-sandbox", &["dirs"], "fn a() {}"),
        ],
    },
    Check {
        invariant: 5,
        find: cli_acts_through_the_host,
        broken: &[
            ("purlin-cli", &["purlin-host"], "let plan = purlin_engine::plan(graph, base);"),
            ("purlin-cli", &["purlin-host"], "let run = engine::apply(plan, writer);"),
            ("purlin-cli", &["purlin-host"], "let graph = purlin_graph::build(&input);"),
            ("purlin-cli", &["purlin-host"], "let store = EmbeddedStore::open(folder);"),
        ],
    },
    Check {
        invariant: 6,
        find: texts_are_parsed_once,
        broken: &[
            ("purlin-graph", &["granit-parser"], "fn a() {}"),
            ("purlin-engine", &[], "fn a() { purlin_expression::parse_text(t); }"),
            ("purlin-graph", &[], "fn a() { text.contains(\"${\"); }"),
        ],
    },
    Check {
        invariant: 7,
        find: stores_serve_one_call,
        broken: &[
            ("purlin-sandbox", &[], "struct Pool {\n    free: Vec<Store<Guest>>,\n}"),
            ("purlin-sandbox", &[], "fn a() { Store::new(e, g); }\nfn b() { Store::new(e, g); }"),
            ("purlin-engine", &["wasmtime"], "fn a() {}"),
        ],
    },
    Check {
        invariant: 8,
        find: secrets_have_no_text,
        broken: &[
            ("purlin-model", &[], "#[derive(Clone, Serialize)]\npub struct Secret(Box<Value>);"),
            ("purlin-model", &[], "impl fmt::Display for Value {\n}"),
            ("purlin-model", &[], "impl Serialize for Secret {\n}"),
        ],
    },
    Check {
        invariant: 9,
        find: nothing_panics,
        broken: &[
            ("purlin-engine", &[], "fn a() { b.unwrap(); }"),
            ("purlin-graph", &[], "fn a() { panic!(\"no\"); }"),
            ("purlin-state", &[], "fn a() { b.expect(\"there\"); }"),
            ("purlin-host", &[], ""),
        ],
    },
    Check {
        invariant: 10,
        find: components_are_parsed_in_one_place,
        broken: &[
            ("purlin-engine", &["wasmparser"], "fn a() {}"),
            ("purlin-sandbox", &[], "fn a() { Component::from_binary(e, b); }"),
            ("purlin-sandbox", &[], "use wasmparser::Parser;"),
        ],
    },
    Check {
        invariant: 11,
        find: files_are_opened_in_one_place,
        broken: &[
            ("purlin-cli", &[], "fn a() { std::fs::read(path); }"),
            ("purlin-state", &[], "fn a() { fs::read_to_string(path); }"),
            ("purlin-host", &[], "fn a() { File::open(path); }"),
            ("purlin-engine", &[], "fn a() { options.open(path); }"),
            ("purlin-cli", &[], "fn a() { fs::write(path, text); }"),
        ],
    },
    Check {
        invariant: 12,
        find: plans_and_runs_are_strangers,
        broken: &[
            ("purlin-engine", &[], "//! src/run/apply.rs\nuse crate::planner::Base;"),
            ("purlin-engine", &[], "//! src/planner.rs\nuse crate::run::apply;"),
            ("purlin-engine", &[], "//! src/records/edits.rs\nuse crate::run::apply;"),
            ("purlin-engine", &[], "//! src/values.rs\nuse crate::planner::Base;"),
        ],
    },
    Check {
        invariant: 13,
        find: nothing_is_known_by_its_address,
        broken: &[
            ("purlin-graph", &[], "fn a() { seen.insert(std::ptr::from_ref(template)); }"),
            ("purlin-engine", &[], "fn a() { seen.insert(Arc::as_ptr(&recipe)); }"),
            ("purlin-cli", &[], "struct A { known: HashMap<*const Template, Value> }"),
        ],
    },
];

/// Where components are parsed and compiled: in a worker process or, for built-in drivers, during
/// the build.
const PARSING: [&str; 4] = ["src/compiler.rs", "src/instances.rs", "src/modules.rs", "src/compile.rs"];

/// A fault for each of these crates that depends on one of `unwanted`.
fn needs<'a>(
    invariant: u32,
    crates: impl Iterator<Item = &'a Crate>,
    unwanted: &[&str],
) -> Vec<BrokenInvariant> {
    let mut faults = Vec::new();
    for one in crates {
        for needed in one.needs.iter().filter(|needed| unwanted.contains(&needed.as_str())) {
            let what = format!("needs `{needed}`");
            faults.push(BrokenInvariant { invariant, place: one.name.clone(), what });
        }
    }
    faults
}

/// A fault for each line of these crates that contains one of `unwanted`.
fn lines_with<'a>(
    invariant: u32,
    crates: impl Iterator<Item = &'a Crate>,
    unwanted: &[&str],
) -> Vec<BrokenInvariant> {
    let mut faults = Vec::new();
    for one in crates {
        for source in &one.sources {
            for line in source.code.lines() {
                if let Some(word) = unwanted.iter().find(|word| holds(line, word)) {
                    let place = format!("{}/{}", one.folder, source.path);
                    let what = format!("`{word}` in `{}`", line.trim());
                    faults.push(BrokenInvariant { invariant, place, what });
                }
            }
        }
    }
    faults
}

/// Whether a line contains a word that is not the end of a longer one: `eprintln!` does not contain
/// `println!`.
fn holds(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !word.starts_with(|c: char| c.is_alphanumeric())
            || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

const ASYNC: [&str; 4] = ["tokio", "futures", "async-trait", "tokio-stream"];
/// Types for addresses are allowed; sockets are not.
const IO: [&str; 7] =
    ["std::fs", "std::process", "std::io", "TcpStream", "TcpListener", "UdpSocket", "ToSocketAddrs"];

fn model_is_alone(workspace: &Workspace) -> Vec<BrokenInvariant> {
    let both = || workspace.named("purlin-model").chain(workspace.named("purlin-range"));
    let mut faults = needs(1, both(), &ASYNC);
    for one in both() {
        let is_ours = |needed: &&String| {
            needed.starts_with("purlin-")
                && (one.name.as_str(), needed.as_str()) != ("purlin-model", "purlin-range")
        };
        for needed in one.needs.iter().filter(is_ours) {
            let what = format!("needs `{needed}`");
            faults.push(BrokenInvariant { invariant: 1, place: one.name.clone(), what });
        }
    }
    faults.extend(lines_with(1, both(), &IO));
    faults.extend(lines_with(1, both(), &["async fn", ".await"]));
    faults
}

/// Crates that parse a format of documents.
const FORMATS: [&str; 4] = ["granit-parser", "serde-saphyr", "saphyr", "serde_yaml"];

fn graph_is_pure(workspace: &Workspace) -> Vec<BrokenInvariant> {
    let graph = || workspace.named("purlin-graph");
    let mut faults = needs(2, graph(), &["wasmtime", "wasmtime-wasi", "sled", "purlin-sandbox"]);
    faults.extend(needs(2, graph(), &["purlin-state", "purlin-documents", "purlin-engine"]));
    faults.extend(needs(2, graph(), &FORMATS));
    faults.extend(needs(2, graph(), &ASYNC));
    faults.extend(lines_with(2, graph(), &IO));
    faults.extend(lines_with(2, graph(), &["async fn", "SystemTime", "Instant::now"]));
    faults
}

fn sandbox_and_state_are_strangers(workspace: &Workspace) -> Vec<BrokenInvariant> {
    let mut faults = needs(3, workspace.named("purlin-sandbox"), &["purlin-state", "sled"]);
    faults.extend(needs(
        3,
        workspace.named("purlin-state"),
        &["purlin-sandbox", "wasmtime", "wasmtime-wasi"],
    ));
    faults
}

fn nothing_below_cli_touches_the_process(workspace: &Workspace) -> Vec<BrokenInvariant> {
    const PRINTS: &[&str] =
        &["println!", "print!", "eprintln!", "eprint!", "dbg!", "io::stdout", "io::stderr", "io::stdin"];
    const READS: &[&str] = &[
        "env::var",
        "env::vars",
        "env::set_var",
        "env::args",
        "env::current_dir",
        "env::home_dir",
        "env::temp_dir",
    ];
    const STARTS: &[&str] = &[
        "runtime::Builder",
        "Runtime::new",
        "tokio::main",
        "set_global_default",
        "set_boxed_logger",
        "set_logger",
        "panic::set_hook",
        "process::exit",
        "process::abort",
    ];
    let mut faults = needs(4, workspace.below_cli(), &["dirs", "home", "etcetera", "directories"]);
    for words in [PRINTS, READS, STARTS] {
        faults.extend(lines_with(4, workspace.below_cli(), words));
    }
    faults
}

fn cli_acts_through_the_host(workspace: &Workspace) -> Vec<BrokenInvariant> {
    const ACTS: &[&str] = &[
        "engine::plan(",
        "purlin_engine::plan(",
        "engine::destroy(",
        "purlin_engine::destroy(",
        "engine::recover(",
        "purlin_engine::recover(",
        "engine::refresh(",
        "purlin_engine::refresh(",
        "engine::apply(",
        "purlin_engine::apply(",
        "graph::build(",
        "purlin_graph::build(",
        "EmbeddedStore",
        "PostgresStore",
    ];
    lines_with(5, workspace.named("purlin-cli"), ACTS)
}

fn texts_are_parsed_once(workspace: &Workspace) -> Vec<BrokenInvariant> {
    let behind = || {
        let parsers = ["purlin-documents", "purlin-expression"];
        workspace.below_cli().filter(move |one| !parsers.contains(&one.name.as_str()))
    };
    let mut faults = needs(6, behind(), &FORMATS);
    faults.extend(lines_with(6, behind(), &["parse_text(", "parse_selector(", "\"${"]));
    // A placeholder knows its own notation: only this line writes it, and nothing parses it again.
    let writes = "let mut source = format!(\"${{resources['{descriptor}'].outputs\");";
    faults.retain(|fault| !(fault.place.ends_with("model/src/template.rs") && fault.what.contains(writes)));
    faults
}

fn stores_serve_one_call(workspace: &Workspace) -> Vec<BrokenInvariant> {
    let others =
        workspace.below_cli().filter(|one| one.name != "purlin-sandbox" && one.name != "purlin-builtin");
    let mut faults = needs(7, others, &["wasmtime", "wasmtime-wasi"]);
    for one in workspace.named("purlin-sandbox") {
        let made: usize = one.sources.iter().map(|source| source.code.matches("Store::new(").count()).sum();
        if made > 1 {
            let what = format!("makes stores in {made} places, so that not each belongs to one call");
            faults.push(BrokenInvariant { invariant: 7, place: one.name.clone(), what });
        }
        for source in &one.sources {
            for line in source.code.lines().map(str::trim).filter(|line| keeps_a_store(line)) {
                let place = format!("{}/{}", one.folder, source.path);
                faults.push(BrokenInvariant { invariant: 7, place, what: format!("`{line}` keeps a store") });
            }
        }
    }
    faults
}

/// A field or a static that owns a store: `name: …Store<…>,` without a borrow.
fn keeps_a_store(line: &str) -> bool {
    let field = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
    let field = field.strip_prefix("static ").unwrap_or(field);
    let Some((name, kind)) = field.split_once(": ") else { return false };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name && kind.contains("Store<") && !kind.contains('&') && !kind.contains("FnOnce")
}

fn secrets_have_no_text(workspace: &Workspace) -> Vec<BrokenInvariant> {
    let mut faults = Vec::new();
    for one in workspace.named("purlin-model") {
        for source in &one.sources {
            let lines: Vec<&str> = source.code.lines().map(str::trim).collect();
            for (index, line) in lines.iter().enumerate() {
                let implemented = (line.contains("Display for ") || line.contains("Serialize for "))
                    && ["for Secret", "for Value"].iter().any(|end| {
                        line.split_once(end).is_some_and(|(_, rest)| rest.trim_start().starts_with('{'))
                    });
                let kept =
                    ["pub struct Secret(", "pub enum Value {"].iter().any(|start| line.starts_with(start));
                let above = lines[..index].iter().rev().take_while(|line| line.starts_with("#["));
                let derived = kept && above.into_iter().any(|line| line.contains("Serialize"));
                if implemented || derived {
                    let place = format!("{}/{}", one.folder, source.path);
                    faults.push(BrokenInvariant {
                        invariant: 8,
                        place,
                        what: format!("`{line}` gives secrets a text"),
                    });
                }
            }
        }
    }
    faults
}

fn nothing_panics(workspace: &Workspace) -> Vec<BrokenInvariant> {
    const PANICS: &[&str] =
        &[".unwrap()", ".expect(\"", ".expect(&", "panic!(", "todo!(", "unimplemented!(", ".unwrap_err()"];
    let mut faults = lines_with(9, workspace.below_cli(), PANICS);
    for one in workspace.crates.iter().filter(|one| !one.lints && one.folder.starts_with("host/")) {
        let what = "does not take the workspace's lints".to_owned();
        faults.push(BrokenInvariant { invariant: 9, place: one.name.clone(), what });
    }
    if !workspace.lints.is_empty() {
        for lint in ["unwrap_used", "expect_used", "panic"] {
            if !workspace.lints.contains(&format!("\n{lint} = ")) {
                let what = format!("does not set the lint `{lint}`");
                faults.push(BrokenInvariant { invariant: 9, place: "Cargo.toml".into(), what });
            }
        }
    }
    faults
}

fn files_are_opened_in_one_place(workspace: &Workspace) -> Vec<BrokenInvariant> {
    const OPENERS: &[&str] = &[
        "fs::read(",
        "fs::read_to_string(",
        "fs::write(",
        "fs::copy(",
        "File::open(",
        "File::create(",
        "File::create_new(",
        "File::options(",
        "options.open(",
        "OpenOptions::new().open(",
    ];
    let product = workspace
        .crates
        .iter()
        .filter(|one| one.folder.starts_with("host/"))
        // `purlin-builtin` has a build script only, and `purlin-component` is given bytes.
        .filter(|one| one.name != "purlin-files");
    lines_with(11, product, OPENERS)
}

fn plans_and_runs_are_strangers(workspace: &Workspace) -> Vec<BrokenInvariant> {
    const STRANGERS: &[(&str, &[&str])] = &[
        ("planner", &["crate::run"]),
        ("run", &["crate::planner"]),
        ("records", &["crate::planner", "crate::run"]),
        ("values", &["crate::planner", "crate::run"]),
        ("changes", &["crate::planner", "crate::run"]),
    ];
    let faults = STRANGERS.iter().flat_map(|(module, unwanted)| {
        let places = [format!("/src/{module}/"), format!("/src/{module}.rs")];
        let found = lines_with(12, workspace.named("purlin-engine"), unwanted);
        found.into_iter().filter(move |fault| places.iter().any(|place| fault.place.contains(place)))
    });
    faults.collect()
}

fn nothing_is_known_by_its_address(workspace: &Workspace) -> Vec<BrokenInvariant> {
    const ADDRESSES: &[&str] = &["*const ", "*mut ", "ptr::from_ref", "ptr::from_mut", "as_ptr("];
    lines_with(13, workspace.crates.iter().filter(|one| one.folder.starts_with("host/")), ADDRESSES)
}

fn components_are_parsed_in_one_place(workspace: &Workspace) -> Vec<BrokenInvariant> {
    const PARSERS: &[&str] = &["wasmparser::", "from_binary(", "from_file(", "precompile_component("];
    let others = workspace
        .crates
        .iter()
        .filter(|one| one.folder.starts_with("host/"))
        // A tool for authors, who parse their own components.
        .filter(|one| !matches!(one.name.as_str(), "purlin-sandbox" | "purlin-component"));
    let mut faults = needs(10, others.clone(), &["wasmparser"]);
    faults.extend(lines_with(10, others, PARSERS));
    let elsewhere = lines_with(10, workspace.named("purlin-sandbox"), PARSERS);
    faults.extend(
        elsewhere.into_iter().filter(|fault| !PARSING.iter().any(|file| fault.place.ends_with(file))),
    );
    faults
}
