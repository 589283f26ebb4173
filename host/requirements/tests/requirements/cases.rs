//! The cases for requirements, by their row. If the published implementation departs from its own
//! design, the design decides (SPEC §6).

mod answers;
mod choices;
mod graph;
mod naming;
mod values;

use std::sync::Arc;

use purlin_model::{Answer, Choices, RequiredBy, RequirementContext, Setting};

use crate::support::{bundle, catalog, resolved};

const DB: &str =
    "parameters: [{name: size, type: string, default: small}]\noutputs: [{name: connstr, type: string}]";

fn db() -> String {
    bundle("db", "1.0.0", DB)
}

fn app(requires: &str) -> String {
    bundle("app", "1.0.0", &format!("parameters: [{{name: size, type: string}}]\nrequires:\n{requires}"))
}

fn two(first: &str, second: &str) -> String {
    app(&format!(
        "- {{name: db1, bundle: 'acme/db:v1.0.0'{first}}}\n- {{name: db2, bundle: 'acme/db:v1.0.0'{second}}}"
    ))
}

fn of(bundles: &[String]) -> purlin_requirements::Resolution {
    resolved(&catalog(bundles), "acme/app:v1.0.0", &RequirementContext::default())
}

fn by(places: &[u32]) -> Vec<RequiredBy> {
    places.iter().map(|place| RequiredBy::Installation(*place)).collect()
}

/// Parameters from a person, by full name and text.
fn context_with(answers: &[(&str, &str, bool)]) -> RequirementContext {
    let answer = |(name, text, is_text): &(&str, &str, bool)| {
        let value = if *is_text { (*text).into() } else { serde_json::from_str(text).expect("JSON") };
        Answer { part: Setting::Parameter, name: Arc::from(*name), value, is_text: *is_text }
    };
    let answers = answers.iter().map(answer).collect();
    RequirementContext { now: Choices { answers, ..Choices::default() }, ..RequirementContext::default() }
}
