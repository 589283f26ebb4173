//! Packages for npm: one with the program for this processor, and `@purlin/cli`, which depends on those for all
//! processors, of which npm installs the one that fits, and runs it.

use std::fs;
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

use super::staging::Staging;
use super::{DESCRIPTION, HOME, LICENCE, Processor, Release, SUMMARY, VERSION};
use crate::step::run;

/// Finds the program and runs it.
const LAUNCHER: &str = include_str!("launcher.js");
/// The processors that have a package.
const PROCESSORS: [&str; 2] = ["x86_64", "aarch64"];

impl Release {
    pub(super) fn npm(&self) -> anyhow::Result<()> {
        let program = Staging::new()?;
        program.program(self, "bin/purlin")?;
        let mut manifest = manifest(&name(&self.processor));
        manifest["os"] = json!(["linux"]);
        manifest["cpu"] = json!([self.processor.npm]);
        let [program_file, launcher_file] = files(&self.processor);
        self.pack(&program, &manifest, &program_file)?;

        let launcher = Staging::new()?;
        launcher.write("bin/purlin.js", LAUNCHER)?;
        let mut manifest = self::manifest("@purlin/cli");
        manifest["bin"] = json!({"purlin": "bin/purlin.js"});
        for processor in PROCESSORS {
            manifest["optionalDependencies"][name(&Processor::find(processor)?)] = json!(VERSION);
        }
        self.pack(&launcher, &manifest, &launcher_file)
    }

    fn pack(&self, staging: &Staging, manifest: &Value, file: &str) -> anyhow::Result<()> {
        staging.licences(self, "")?;
        staging.write("README.md", format!("# Purlin\n\n{DESCRIPTION}\n\nSee <{HOME}>.\n"))?;
        staging.write("package.json", serde_json::to_string_pretty(manifest)? + "\n")?;
        let mut pack = Command::new("npm");
        run(pack.args(["pack", "--silent", "--pack-destination"]).arg(&self.folder).arg(staging.path()))?;
        // npm names the file after the package and its version only.
        let name = manifest["name"].as_str().unwrap_or_default();
        let packed = format!("{}-{VERSION}.tgz", name.trim_start_matches('@').replace('/', "-"));
        fs::rename(self.folder.join(&packed), self.folder.join(file))
            .with_context(|| format!("npm did not write {packed}"))
    }
}

/// The names of the file with the program, and of the file with `@purlin/cli`.
pub(super) fn files(processor: &Processor) -> [String; 2] {
    let processor = processor.npm;
    [
        format!("purlin-cli-linux-{processor}-{VERSION}.tgz"),
        format!("purlin-cli-{VERSION}-linux-{processor}.tgz"),
    ]
}

fn manifest(name: &str) -> Value {
    json!({
        "name": name, "version": VERSION, "description": format!("Purlin: {SUMMARY}"), "license": LICENCE,
        "homepage": HOME, "files": ["bin", super::staging::NOTICES],
        "publishConfig": {"access": "public"},
    })
}

/// The name of the package with the program for a processor.
fn name(processor: &Processor) -> String {
    format!("@purlin/cli-linux-{}", processor.npm)
}
