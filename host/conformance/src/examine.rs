//! An examination from beginning to end.

use std::borrow::Cow;
use std::time::Duration;

use purlin_model::{DriverCases, FORMAT, Grants, Limits};
use purlin_sandbox::{CancelToken, DriverSetup, Sandbox, Source};

use crate::bench::Bench;
use crate::findings::Findings;
use crate::report::{Cases, ConformanceReport, Status};
use crate::rules::Rule;
use crate::test_case::{self, TestCase};
use crate::{Error, checks};

/// The subject and the settings of an examination.
#[derive(Clone, Debug)]
pub struct Examination {
    /// The component.
    pub component: Cow<'static, [u8]>,
    /// Its grants and limits.
    pub setup: DriverSetup,
    /// The cases; generated from its schema by default.
    pub cases: Option<DriverCases>,
    /// A single rule.
    pub only: Option<&'static Rule>,
    /// Stops the examination: created objects are deleted, and the report covers the completed
    /// part.
    pub stop: CancelToken,
    /// How long it waits.
    pub patience: Patience,
}

/// How long an examination waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The maximum duration of a cancelled call.
    pub cancelled: Duration,
    /// After this much time on one call and case, only a few instants at which to cut it off are
    /// tried.
    pub cuts: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { cancelled: Duration::from_secs(10), cuts: Duration::from_secs(15) }
    }
}

/// Examines a driver.
///
/// # Errors
/// If it is not a driver, or there are no cases for it.
pub async fn examine(sandbox: &Sandbox, examination: &Examination) -> Result<ConformanceReport, Error> {
    let Examination { component, setup, cases, only, stop, patience } = examination;
    let load = |setup: DriverSetup| {
        let source = Source::Bytes(component.clone());
        async move { sandbox.load(source, &setup).await }
    };
    let driver = load(setup.clone()).await?;
    let (test_cases, from) = test_case::test_cases(driver.info(), cases.as_ref())?;
    let bare = match setup.grants == Grants::default() {
        true => None,
        false => Some(load(DriverSetup { grants: Grants::default(), ..setup.clone() }).await?),
    };
    let findings = Findings::new(only.map(|rule| rule.id));
    let mut bench = Bench::new(driver.clone(), bare, findings, stop.clone(), *patience);
    checks::describe::run(&mut bench, sandbox, component, setup).await?;
    let mut small = Vec::new();
    for memory in [4 << 20, 12 << 20] {
        let memory = setup.limits.memory.map_or(memory, |limit| limit.min(memory));
        let limits = Limits { memory: Some(memory), ..setup.limits.clone() };
        // The host ends a driver that cannot even be loaded with so little.
        if let Ok(driver) = load(DriverSetup { limits, ..setup.clone() }).await {
            small.push(driver);
        }
    }
    for test_case in &test_cases {
        if !stop.is_requested() {
            case(&mut bench, test_case, &small).await;
        }
        bench.clear(test_case).await;
    }
    if test_cases.iter().all(|test_case| test_case.canaries.is_empty()) {
        bench.findings.skip("secrets.hidden", "no case has secrets of six letters or more");
    }
    let rules = bench.findings.close();
    let stopped = stop.is_requested();
    let is_broken = rules.iter().any(|outcome| outcome.status == Status::Failed);
    Ok(ConformanceReport {
        format: FORMAT,
        driver: driver.info().name.clone(),
        version: driver.info().version.to_string(),
        digest: driver.digest().to_owned(),
        cases: Cases { from, names: test_cases.iter().map(|test_case| test_case.name.clone()).collect() },
        grants: setup.grants.lines().into_iter().map(|(name, grant)| format!("{name} {grant}")).collect(),
        ok: !is_broken && bench.left.is_empty() && !stopped,
        stopped,
        rules,
        left: bench.left,
        cleared: bench.cleared,
    })
}

/// All tests of one case.
async fn case(bench: &mut Bench, test_case: &TestCase, small: &[purlin_sandbox::Driver]) {
    let Some(inputs) = checks::check::run(bench, test_case).await else { return };
    checks::check::small(bench, test_case, small).await;
    let Some(name) = checks::name::run(bench, test_case, &inputs).await else { return };
    if !checks::read::before(bench, test_case, &inputs, &name).await {
        return;
    }
    checks::denied::run(bench, test_case, &inputs, &name).await;
    let Some(life) = checks::life::run(bench, test_case, inputs, name).await else { return };
    checks::cut::create(bench, test_case, &life).await;
    checks::lost::create(bench, test_case, &life).await;
    checks::lost::delete(bench, test_case, &life).await;
    checks::connection::run(bench, test_case, &life).await;
    checks::clean::run(bench, test_case, &life).await;
    checks::cancel::run(bench, test_case, &life).await;
    checks::change::run(bench, test_case, &life).await;
}
