//! Packages for npm: one with the program for this processor, and `@purlin/cli`, which depends on those for all
//! processors, of which npm installs the one that fits, and runs it.

use std::process::Command;

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
        self.pack(&program, manifest)?;

        let launcher = Staging::new()?;
        launcher.write("bin/purlin.js", LAUNCHER)?;
        let mut manifest = self::manifest("@purlin/cli");
        manifest["bin"] = json!({"purlin": "bin/purlin.js"});
        for processor in PROCESSORS {
            manifest["optionalDependencies"][name(&Processor::find(processor)?)] = json!(VERSION);
        }
        self.pack(&launcher, manifest)
    }

    fn pack(&self, staging: &Staging, manifest: Value) -> anyhow::Result<()> {
        staging.licences(self, "")?;
        staging.write("README.md", format!("# Purlin\n\n{DESCRIPTION}\n\nSee <{HOME}>.\n"))?;
        staging.write("package.json", serde_json::to_string_pretty(&manifest)? + "\n")?;
        let mut pack = Command::new("npm");
        run(pack.args(["pack", "--silent", "--pack-destination"]).arg(&self.folder).arg(staging.path()))
    }
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
