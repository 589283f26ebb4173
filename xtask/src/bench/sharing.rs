//! `cargo xtask bench sharing`: measures the cost of finding an installation among those of many
//! other environments.
//!
//! Each of the other environments has the same number of installations, in ten sharing groups of
//! its own. The measured one has a single requirement, which an installation of the first other
//! environment satisfies.

use std::path::Path;

use super::beside::{cell, command, folder, program};
use super::process;
use super::task::write;
use crate::step::step;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Installations of each other environment.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    size: usize,
    /// How many other environments there are, one row each, in ascending order.
    #[arg(long, value_name = "COUNT", default_values_t = [0, 1, 10, 100])]
    others: Vec<usize>,
    /// Runs of each command, after one to warm up.
    #[arg(long, value_name = "N", default_value_t = 9)]
    runs: usize,
    /// Do not build; use the program of an earlier build.
    #[arg(long)]
    no_build: bool,
}

const BUNDLE: &str = "\
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: bench/db, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: db.example.com, port: 5432}}
  outputs: [{name: host, type: string}, {name: port, type: integer}]
";

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let purlin = program(arguments.no_build)?;
    let folder = folder("sharing-")?;
    let folder = folder.path();
    write(folder, "bundle.yaml", [BUNDLE.to_owned()])?;
    let workspace = "apiVersion: purlin.dev/v1\nkind: Workspace\nmetadata: {name: bench}\nspec: {}\n";
    write(folder, "purlin.yaml", [workspace.to_owned()])?;
    let named = |name: &str| {
        ["--app", "bench", "--namespace", "bench", "--env"]
            .map(str::to_owned)
            .into_iter()
            .chain([name.to_owned()])
            .collect::<Vec<String>>()
    };
    let run = |name: &str, words: &[&str]| {
        let file = format!("{name}.yaml");
        let words = [words, &["-f", "bundle.yaml", "-f", &file]].concat();
        let mut command = command(&purlin, &words);
        command.args(named(name));
        command
    };
    let up = |name: &str| {
        process::run(&mut run(name, &["up", "--yes", "--quiet", "--new-environment"]), folder).map(drop)
    };
    println!("| installations of others | plan, one is found | list of one group |");
    println!("|---|--:|--:|");
    let mut there = 0;
    for &others in &arguments.others {
        step(&format!("{others} others"), || {
            (there..others).try_for_each(|number| {
                let name = format!("other-{number}");
                deployment(
                    folder,
                    &name,
                    (0..arguments.size).map(|one| (one, format!("{number}-{}", one % 10))),
                )?;
                up(&name)
            })
        })?;
        there = there.max(others);
        let name = format!("finds-{others}");
        deployment(folder, &name, [(0, "0-3".to_owned())].into_iter())?;
        up(&name)?;
        let list = ["installations", "list", "--group", "0-3", "--format", "json"];
        let plan = cell(|| run(&name, &["plan"]), folder, arguments.runs)?;
        let list = cell(|| command(&purlin, &list), folder, arguments.runs)?;
        println!("| {} in {others} environments | {} |", others * arguments.size, [plan, list].join(" | "));
    }
    Ok(())
}

/// A deployment with requirements, each in a sharing group.
fn deployment(
    folder: &Path,
    name: &str,
    requires: impl Iterator<Item = (usize, String)>,
) -> anyhow::Result<()> {
    let head = "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: bench}\nspec:\n  requires:\n";
    let mut text = vec![head.to_owned()];
    text.extend(requires.map(|(number, group)| {
        format!("    - {{name: db-{number}, bundle: 'bench/db:v1.0.0', sharing: {{mode: group, group: {{name: '{group}'}}}}}}\n")
    }));
    write(folder, &format!("{name}.yaml"), text)
}
