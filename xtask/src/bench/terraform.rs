//! Measures a peer: Terraform with its built-in `terraform_data`, which needs no provider.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use serde_json::json;

use super::process::{self, STDOUT};
use super::shape::Shape;
use super::task::{Act, Sample, Task, Tool, write};

const STATE: &str = "terraform.tfstate";

/// Terraform, found in the path.
pub(crate) struct Terraform {
    version: String,
    /// An empty file, so that the user's settings do not apply.
    settings: PathBuf,
}

impl Terraform {
    /// Finds Terraform if it is installed. `folder` is for the settings file.
    pub(crate) fn find(folder: &Path) -> anyhow::Result<Option<Self>> {
        write(folder, "terraform.rc", [])?;
        let mut found = Self { version: String::new(), settings: folder.join("terraform.rc") };
        let Ok(output) = found.command(&["version", "-json"]).output() else { return Ok(None) };
        let version: serde_json::Value = match serde_json::from_slice(&output.stdout) {
            Ok(version) if output.status.success() => version,
            _ => return Ok(None),
        };
        found.version = version["terraform_version"].as_str().unwrap_or("of unknown version").to_owned();
        Ok(Some(found))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("terraform");
        command.args(words).env("TF_CLI_CONFIG_FILE", &self.settings).env("CHECKPOINT_DISABLE", "1");
        command.env_remove("TF_LOG").env_remove("TF_CLI_ARGS");
        command
    }
}

/// Writes an environment as a configuration.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_configuration(shape: Shape, count: usize, folder: &Path) -> anyhow::Result<()> {
    let resources = (0..count).map(|index| {
        let name = shape.name(index, count);
        let reads = shape.reads(index, count);
        let read = |nth: usize, otherwise: &str| match reads.get(nth) {
            Some(read) => format!("terraform_data.{}.output.v", shape.name(*read, count)),
            None => format!("\"{otherwise}\""),
        };
        format!(
            "resource \"terraform_data\" \"{name}\" {{\n  input = {{ v = \"{name}\", a = {}, b = {} }}\n}}\n",
            read(0, "a"),
            read(1, "b"),
        )
    });
    write(folder, "main.tf", resources)
}

/// Writes the state that an apply would leave, since an apply itself takes quadratic time, which
/// would be hours.
fn write_state(version: &str, shape: Shape, count: usize, folder: &Path) -> anyhow::Result<()> {
    let begin = format!(
        "{{\"version\": 4, \"terraform_version\": \"{version}\", \"serial\": 1, \
         \"lineage\": \"00000000-0000-4000-8000-000000000000\", \"outputs\": {{}}, \"check_results\": null, \
         \"resources\": [\n"
    );
    let resources = (0..count).map(|index| {
        let reads = shape.reads(index, count);
        let read = |nth: usize, otherwise: &str| {
            reads.get(nth).map_or_else(|| otherwise.to_owned(), |read| shape.name(*read, count))
        };
        let value = json!({
            "value": {"a": read(0, "a"), "b": read(1, "b"), "v": shape.name(index, count)},
            "type": ["object", {"a": "string", "b": "string", "v": "string"}],
        });
        let dependencies: Vec<String> = behind(shape, index, count)
            .into_iter()
            .map(|index| format!("terraform_data.{}", shape.name(index, count)))
            .collect();
        let resource = json!({
            "mode": "managed", "type": "terraform_data", "name": shape.name(index, count),
            "provider": "provider[\"terraform.io/builtin/terraform\"]",
            "instances": [{
                "schema_version": 0,
                "attributes": {
                    "id": format!("00000000-0000-4000-8000-{index:012x}"),
                    "input": value, "output": value, "triggers_replace": null,
                },
                "sensitive_attributes": [],
                "dependencies": dependencies,
            }],
        });
        format!("{}{resource}", if index == 0 { "" } else { ",\n" })
    });
    write(folder, STATE, std::iter::once(begin).chain(resources).chain(["\n]}\n".to_owned()]))
}

/// All direct and indirect dependencies of a resource, as Terraform records them.
fn behind(shape: Shape, index: usize, count: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = shape.reads(index, count);
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(shape.reads(next, count));
        }
    }
    found
}

impl Tool for Terraform {
    fn name(&self) -> String {
        format!("Terraform {}", self.version)
    }

    fn prepare(&self, task: Task, folder: &Path) -> anyhow::Result<()> {
        write_configuration(task.shape, task.count, folder)?;
        process::run(&mut self.command(&["init", "-input=false", "-no-color"]), folder)?;
        if matches!(task.act, Act::PlanSame | Act::Destroy) {
            write_state(&self.version, task.shape, task.count, folder)?;
        }
        Ok(())
    }

    fn perform(&self, task: Task, folder: &Path) -> anyhow::Result<Sample> {
        let Task { act, count, .. } = task;
        let (words, expected): (&[&str], String) = match act {
            Act::Validate => (&["validate"], "Success! The configuration is valid.".into()),
            Act::PlanNew => (&["plan"], format!("Plan: {count} to add, 0 to change, 0 to destroy.")),
            Act::PlanSame => (&["plan"], "No changes. Your infrastructure matches the configuration.".into()),
            Act::Apply | Act::Start => {
                let added = format!("Apply complete! Resources: {count} added, 0 changed, 0 destroyed.");
                (&["apply", "-auto-approve"], added)
            }
            Act::Destroy => {
                (&["destroy", "-auto-approve"], format!("Destroy complete! Resources: {count} destroyed."))
            }
        };
        let mut command = self.command(words);
        command.arg("-no-color");
        if act != Act::Validate {
            command.arg("-input=false");
        }
        let usage = match act {
            Act::Start => process::run_until(&mut command, folder, "Creating...")?,
            _ => process::run(&mut command, folder)?,
        };
        let lines = process::last_lines(folder, STDOUT, 16)?;
        ensure!(lines.contains(&expected), "Terraform did not say `{expected}` but:\n{}", lines.join("\n"));
        let mut sample = Sample::of(usage);
        match act {
            Act::Apply => {
                let state = folder.join(STATE).metadata()?.len();
                sample.facts.insert("bytes of state", state as f64);
            }
            Act::Start => {
                sample.facts.insert("seconds of the whole process", usage.wall.as_secs_f64());
            }
            _ => {}
        }
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_json_and_names_dependencies() {
        let folder = tempfile::tempdir().expect("a folder");
        write_state("1.11.4", Shape::Chain, 3, folder.path()).expect("writes");
        let text = std::fs::read_to_string(folder.path().join(STATE)).expect("there");
        let state: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(state["resources"].as_array().map(Vec::len), Some(3));
        assert_eq!(
            state["resources"][2]["instances"][0]["dependencies"],
            json!(["terraform_data.r0", "terraform_data.r1"])
        );
        assert_eq!(super::super::task::size(folder.path()).expect("there"), text.len() as u64);
    }
}
