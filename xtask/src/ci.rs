//! `cargo xtask ci`: runs all checks that a change must pass, except fuzzing, which has a workflow of its own
//! (.github/workflows/fuzz.yml): its duration is a choice, and it needs a build of its own.

use crate::step::{self, cargo, compile, step};
use crate::{deny, drivers, test, tools, workflows};

pub(crate) fn run() -> anyhow::Result<()> {
    step("format", || step::run(cargo().args(["fmt", "--all", "--check"])))?;
    step::lint_from_now_on();
    std::thread::scope(|scope| {
        // Install the tools concurrently: this uses the network, and nothing else needs them yet.
        let tools = scope.spawn(|| {
            tools::run_all(&tools::Arguments::default())?;
            deny::install()
        });
        drivers::run(&drivers::Arguments::default())?;
        step("lints, and what the tests run", || {
            step::run(&mut compile(["test", "--workspace", "--all-targets", "--no-run"]))
        })?;
        tools.join().map_err(|_| anyhow::anyhow!("installing the tools failed"))?
    })?;
    deny::run_all()?;
    workflows::run_all()?;
    test::run(&test::Arguments::default())
}
