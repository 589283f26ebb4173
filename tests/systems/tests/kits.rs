//! A driver in every language, as a beginner would write it: `driver new`, `driver build`, the
//! language's own tests, `driver check`, and then a life in a workspace.
#![allow(clippy::expect_used, clippy::panic, missing_docs)]

use std::path::{Path, PathBuf};

use purlin_systems::Project;
use purlin_systems::kit::{self, Language};
use purlin_systems::values::{Random, same};
use serde_json::json;

fn begins(language: &Language) {
    if !language.is_installed() {
        return;
    }
    let workspace = Project::empty();
    workspace.purlin(&["driver", "new", "kit", "--lang", language.name, "--name", "shop/memo"]);
    let folder = workspace.path().join("kit");
    let purlin = |arguments: &[&str]| kit::run(workspace.command(arguments), &folder);

    let built = purlin(&["driver", "build"]);
    assert!(built.contains("memo.wasm: shop/memo 0.1.0"), "{built}");
    language.test(&folder);
    purlin(&["driver", "check", "memo.wasm"]);
    let inspected = purlin(&["driver", "inspect", "memo.wasm"]);
    assert!(!inspected.contains("purlin:preview"), "it has no preview: {inspected}");

    // And it works.
    purlin(&["up", "app.yaml", "--yes"]);
    let notes = || {
        let files = std::fs::read_dir(folder.join("notes")).expect("notes").flatten();
        let mut notes =
            files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|e| e == "md"));
        let note = notes.next();
        assert_eq!(notes.next(), None, "one note");
        note
    };
    let note = notes().expect("a note");
    assert_eq!(std::fs::read_to_string(&note).expect("there"), "Hello, world.\n");
    assert!(purlin(&["up", "app.yaml", "--yes"]).contains("Nothing to change"));
    std::fs::write(&note, "Somebody was here.\n").expect("written");
    let repaired = purlin(&["up", "app.yaml", "--yes", "--refresh"]);
    assert!(repaired.contains("values.text"), "{repaired}");
    assert_eq!(std::fs::read_to_string(&note).expect("there"), "Hello, world.\n");
    purlin(&["destroy", "--yes"]);
    assert_eq!(notes(), None);
}

#[test]
fn rust_project_works_as_written() {
    begins(&kit::RUST);
}

#[test]
fn rust_builds_without_wasi() {
    let workspace = Project::empty();
    workspace.purlin(&["driver", "new", "kit", "--lang", "rust"]);
    let target = ["driver", "build", "kit", "--target", "wasm32-unknown-unknown", "-o", "plain.wasm"];
    kit::run(workspace.command(&target), workspace.path());
    let done = workspace.purlin(&["driver", "inspect", "plain.wasm"]).prints("acme/kit 0.1.0");
    assert!(!done.out.contains("wasi:"), "{done}");
}

#[test]
fn c_project_works_as_written() {
    begins(&kit::C);
}

#[test]
fn go_project_works_as_written() {
    begins(&kit::GO);
}

#[test]
fn js_project_works_as_written() {
    begins(&kit::JS);
}

#[test]
fn python_project_works_as_written() {
    begins(&kit::PYTHON);
}

/// `driver build --dev` uses one component for many edits, and builds another one when it has to.
#[test]
fn python_edits_reuse_a_component_where_possible() {
    if !kit::PYTHON.is_installed() {
        return;
    }
    let workspace = Project::empty();
    workspace.purlin(&["driver", "new", "kit", "--lang", "python", "--name", "shop/memo"]);
    let folder = workspace.path().join("kit");
    let purlin = |arguments: &[&str]| kit::run(workspace.command(arguments), &folder);
    let edit = |file: &str, from: &str, to: &str| {
        let file = folder.join(file);
        let text = std::fs::read_to_string(&file).expect("there");
        assert!(text.contains(from), "{text}");
        std::fs::write(&file, text.replace(from, to)).expect("written");
    };
    let built = |output: &str| output.contains("Component built successfully");
    let dev = || purlin(&["driver", "build", "--dev"]);

    assert!(built(&dev()), "there is no component yet");
    edit("note.py", "VERSION = \"0.1.0\"", "VERSION = \"0.2.0\"");
    let output = dev();
    assert!(output.contains("shop/memo 0.2.0") && !built(&output), "{output}");
    purlin(&["up", "app.yaml", "--yes"]);
    purlin(&["destroy", "--yes"]);

    // A new module of the project needs no other component, but a new one of Python does.
    std::fs::write(folder.join("version.py"), "VERSION = '0.3.0'\n").expect("written");
    edit("note.py", "import inputs\n", "import inputs\nimport version\n");
    edit("note.py", "VERSION = \"0.2.0\"", "VERSION = version.VERSION");
    let output = dev();
    assert!(output.contains("shop/memo 0.3.0") && !built(&output), "{output}");
    edit("version.py", "VERSION = '0.3.0'", "def later():\n    import colorsys\n\nVERSION = '0.4.0'");
    let output = dev();
    assert!(output.contains("shop/memo 0.4.0") && built(&output), "{output}");

    // A module that reads a file when it is imported needs an ordinary build.
    std::fs::write(folder.join("version.txt"), "0.5.0").expect("written");
    edit("version.py", "VERSION = '0.4.0'", "VERSION = open(__file__[:-2] + 'txt').read()");
    let output = dev();
    assert!(output.contains("shop/memo 0.5.0") && built(&output), "{output}");

    edit("version.py", "VERSION = open", "VERSION = = open");
    let mut command = workspace.command(&["driver", "build", "--dev"]);
    kit::environment(&mut command);
    let done = command.current_dir(&folder).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && stderr.contains("SyntaxError"), "{stderr}");
}

/// Values of an ordinary run; `PURLIN_ROUND_TRIPS` sets another number.
const VALUES: usize = 1_000;
/// Values of one deployment, and of one of its resources.
const PER_RUN: usize = 4_000;
const PER_RESOURCE: usize = 250;

const KEPT: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: kept}
spec:
  type: kept
  driver: shop/memo
  inputs: {values: {all: '${params.all}'}, secrets: {all: '${params.all}'}}
  criteria: [{}]
";

/// A project with a driver that returns its inputs: `source` takes the place of the project's file of that name.
fn echo(workspace: &Project, language: &Language, name: &str, source: &str) -> PathBuf {
    workspace.purlin(&["driver", "new", "kit", "--lang", language.name, "--name", "shop/memo"]);
    let folder = workspace.path().join("kit");
    // The other files of the driver would not compile without the original one.
    for file in std::fs::read_dir(&folder).expect("a folder").flatten() {
        let other = file.file_name().into_string().expect("a name");
        let is_source = [".go", ".c", ".py", ".js"].iter().any(|ending| other.ends_with(ending));
        if is_source && other != "app.py" {
            std::fs::remove_file(file.path()).expect("removed");
        }
    }
    std::fs::write(folder.join(name), source).expect("written");
    if let Ok(makefile) = std::fs::read_to_string(folder.join("Makefile")) {
        let makefile = makefile.replace("note.c files.c", "note.c").replace("note.h ", "");
        std::fs::write(folder.join("Makefile"), makefile).expect("written");
    }
    folder
}

/// Lets the build of a project export previews, in a language whose projects have to say it.
fn export_preview(folder: &Path) {
    for (file, from, to) in [
        (
            "app.py",
            "import export\n\nLifecycle = export(",
            "import export_with_preview\n\nLifecycle, Preview = export_with_preview(",
        ),
        ("package.json", ".wasm\"", ".wasm --preview\""),
        (
            "main.go",
            "\t\"purlin.dev/purlin\"\n",
            "\t\"purlin.dev/purlin\"\n\t_ \"purlin.dev/purlin/preview\"\n",
        ),
        ("note.c", "\nconst purlin_driver the_driver", "\nPURLIN_PREVIEW;\n\nconst purlin_driver the_driver"),
    ] {
        if let Ok(text) = std::fs::read_to_string(folder.join(file)) {
            assert!(text.contains(from), "{text}");
            std::fs::write(folder.join(file), text.replace(from, to)).expect("written");
        }
    }
}

/// Each value comes back unchanged from such a driver, also where it foresees them.
fn returns_its_inputs(language: &Language, name: &str, source: &str) {
    if !language.is_installed() {
        return;
    }
    let workspace = Project::empty();
    let folder = echo(&workspace, language, name, source);
    let purlin = |arguments: &[&str]| kit::run(workspace.command(arguments), &folder);
    export_preview(&folder);
    purlin(&["driver", "build"]);
    std::fs::write(folder.join("platform.yaml"), KEPT).expect("written");
    let total = std::env::var("PURLIN_ROUND_TRIPS").ok().and_then(|number| number.parse().ok());
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let mut left: usize = total.unwrap_or(VALUES);
    while left > 0 {
        let values = left.min(PER_RUN);
        left -= values;
        let (mut shared, mut expected) = (Vec::new(), Vec::new());
        for number in 0..values.div_ceil(PER_RESOURCE) {
            let all: Vec<_> = (0..PER_RESOURCE).map(|_| random.value(0)).collect();
            let texts: Vec<_> = all.iter().map(|(text, _)| text.as_str()).collect();
            shared.push(format!(r#""k{number}":{{"type":"kept","params":{{"all":[{}]}}}}"#, texts.join(",")));
            expected.push(all.into_iter().map(|(_, value)| value).collect::<Vec<_>>());
        }
        let head = r#"{"apiVersion":"purlin.dev/v1","kind":"Deployment","spec":{"app":"shop","env":"dev","shared":{"#;
        let deployment = format!("{head}{}}}}}}}", shared.join(",\n"));
        std::fs::write(folder.join("values.yaml"), deployment).expect("written");
        let documents = ["platform.yaml", "values.yaml"];
        purlin(&[&["up", "--yes"][..], &documents].concat());
        let outputs =
            purlin(&["outputs", "--app", "shop", "--env", "dev", "--format", "json", "--show-secrets"]);
        let outputs: serde_json::Value = serde_json::from_str(&outputs).expect("JSON");
        for (number, values) in expected.iter().enumerate() {
            for output in ["all", "sealed"] {
                let found = &outputs["resources"][format!("kept.default#shared.k{number}")][output];
                let found = found.as_array().expect("a list");
                assert_eq!(found.len(), values.len(), "k{number} {output}");
                for (found, value) in found.iter().zip(values) {
                    assert!(same(found, value), "k{number} {output}: {value} became {found}");
                }
            }
        }
    }
}

#[test]
fn c_values_come_back_unchanged() {
    returns_its_inputs(&kit::C, "note.c", include_str!("kits_echo/note.c"));
}

#[test]
fn go_values_come_back_unchanged() {
    returns_its_inputs(&kit::GO, "main.go", include_str!("kits_echo/main.go"));
}

#[test]
fn js_values_come_back_unchanged() {
    returns_its_inputs(&kit::JS, "note.js", include_str!("kits_echo/note.js"));
}

#[test]
fn python_values_come_back_unchanged() {
    returns_its_inputs(&kit::PYTHON, "note.py", include_str!("kits_echo/note.py"));
}

/// The other documents of a deployment of `kept`: of the first, all is known; the second repeats what the first
/// returns; the third has an id that nobody knows before it is made.
const FORESEEN: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: seed}
spec:
  type: seed
  driver: purlin/random
  inputs: {values: {kind: id}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  app: shop
  env: dev
  shared:
    seed: {type: seed}
    first: {type: kept, params: {all: [1, 2]}}
    second: {type: kept, params: {all: [\"${resources['kept#shared.first'].outputs.all}\"]}}
    third: {type: kept, params: {all: [\"${resources['seed#shared.seed'].outputs.value}\"]}}
";

/// A forecast goes through the whole program: into the plan, and with its token to the effect.
fn foresees(language: &Language, name: &str, source: &str, missing: &str) {
    if !language.is_installed() {
        return;
    }
    let workspace = Project::empty();
    let folder = echo(&workspace, language, name, source);
    let purlin = |arguments: &[&str]| kit::run(workspace.command(arguments), &folder);
    let mut command = workspace.command(&["driver", "build"]);
    kit::environment(&mut command);
    let done = command.current_dir(&folder).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && stderr.contains(missing), "{stderr}");

    export_preview(&folder);
    purlin(&["driver", "build"]);
    let exported = "previews  its effects: purlin:preview@0.1.0";
    let inspected = purlin(&["driver", "inspect", "memo.wasm"]);
    assert!(inspected.contains(exported), "{inspected}");
    let case = "{name: plain, inputs: {values: {all: [1]}, secrets: {all: [a-secret-of-the-check]}}, update: {values: {all: [1, 2]}}}";
    std::fs::write(folder.join("check.yaml"), format!("cases: [{case}]\n")).expect("written");
    let checked = purlin(&["driver", "check", "memo.wasm"]);
    let keeps = checked.lines().find(|line| line.contains("preview.keeps"));
    assert!(keeps.is_some_and(|line| line.trim_start().starts_with("ok")), "{checked}");

    std::fs::write(folder.join("platform.yaml"), KEPT).expect("written");
    std::fs::write(folder.join("foreseen.yaml"), FORESEEN).expect("written");
    let documents = ["platform.yaml", "foreseen.yaml"];
    let plan = || {
        let plan = purlin(&[&["plan", "--format", "json"][..], &documents].concat());
        let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
        let steps = plan["steps"].as_array().expect("steps").clone();
        move |name: &str| steps.iter().find(|step| step["key"] == key(name)).expect("a step").clone()
    };
    let agreed = |name: &str| {
        let outputs = purlin(&["outputs", "--app", "shop", "--env", "dev", "--format", "json"]);
        let outputs: serde_json::Value = serde_json::from_str(&outputs).expect("JSON");
        outputs["resources"][key(name)]["agreed"].clone()
    };
    let part = |action: &str, size: serde_json::Value| json!([{"address": "list", "type": "list", "action": action, "after": {"size": size}}]);

    assert!(purlin(&[&["plan"][..], &documents].concat()).contains("+ create list"));
    let step = plan();
    assert_eq!(step("first")["parts"], part("create", json!(2)));
    // What the first will return is known.
    let changes = step("second")["changes"].as_array().expect("changes").clone();
    let values = changes.iter().find(|change| change["path"] == "/values/all").expect("a change");
    assert_eq!((&values["after"], &values["unknown"]), (&json!([[1, 2]]), &json!(false)));
    assert_eq!(step("third")["parts"], part("create", json!("[unknown]")));
    purlin(&[&["up", "--yes"][..], &documents].concat());
    assert_eq!(agreed("first"), "create 2");
    // Only a second forecast, just before the effect, can have had this token.
    assert_eq!(agreed("third"), "create 1");

    purlin(&["driver", "build", "--dev"]);
    let inspected = purlin(&["driver", "inspect", "memo.wasm"]);
    assert!(inspected.contains(exported), "{inspected}");
    std::fs::write(folder.join("foreseen.yaml"), FORESEEN.replace("[1, 2]", "[1, 2, 3]")).expect("written");
    let step = plan();
    assert_eq!(step("first")["parts"], part("update", json!(3)));
    assert_eq!(step("second")["parts"], part("update", json!(1)));
    purlin(&[&["up", "--yes"][..], &documents].concat());
    assert_eq!(agreed("first"), "update 3");
    purlin(&["destroy", "--app", "shop", "--env", "dev", "--yes"]);
}

fn key(name: &str) -> String {
    format!("kept.default#shared.{name}")
}

#[test]
fn c_forecasts_reach_the_plan_and_the_effect() {
    let missing = "a type has a `.preview`, which nothing exports: write `PURLIN_PREVIEW;`";
    foresees(&kit::C, "note.c", include_str!("kits_echo/note.c"), missing);
}

#[test]
fn go_forecasts_reach_the_plan_and_the_effect() {
    let missing =
        "a type has a method Preview, which nothing exports: write import _ \"purlin.dev/purlin/preview\"";
    foresees(&kit::GO, "main.go", include_str!("kits_echo/main.go"), missing);
}

#[test]
fn js_forecasts_reach_the_plan_and_the_effect() {
    let missing = "resource `kept`: `preview` is not exported; the build needs the option `--preview`";
    foresees(&kit::JS, "note.js", include_str!("kits_echo/note.js"), missing);
}

#[test]
fn python_forecasts_reach_the_plan_and_the_effect() {
    let missing = "`Note.preview`: is not exported: write `Lifecycle, Preview = export_with_preview(…)`";
    foresees(&kit::PYTHON, "note.py", include_str!("kits_echo/note.py"), missing);
}

/// The contract as WIT is enough: the tools of the language make the bindings, and no SDK is there.
#[test]
fn python_driver_without_an_sdk_keeps_the_contract() {
    if !kit::PYTHON.is_installed() {
        return;
    }
    let workspace = Project::empty();
    let folder = workspace.path();
    workspace.purlin(&["driver", "wit"]);
    workspace.write("app.py", include_str!("kits_echo/by_hand.py"));
    let mut tool = std::process::Command::new("componentize-py");
    tool.args(["-d", "wit", "-w", "driver-with-wasi", "componentize", "app", "-o", "hand.wasm"]);
    kit::run(tool, folder);
    workspace.write(
        "purlin.yaml",
        "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  drivers:
    acme/by-hand: {source: hand.wasm, grants: {dirs: [{host: ./notes, guest: /notes, mode: rw}]}}
",
    );
    workspace.write("notes/.keep", "");
    let case = "{name: plain, inputs: {values: {text: hello}}, update: {values: {text: good bye}}}";
    workspace.write("check.yaml", format!("cases: [{case}]\n"));
    let checked = workspace.purlin(&["driver", "check", "acme/by-hand"]);
    checked.prints("create.repeat").prints("update.cut").prints("delete.gone");
}
