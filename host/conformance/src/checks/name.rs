//! Names.

use purlin_model::driver::Inputs;
use purlin_sandbox::CallError;

use crate::bench::{Bench, CallOptions};
use crate::test_case::TestCase;

/// The name; none if there is none to continue with.
pub(crate) async fn run(bench: &mut Bench, test_case: &TestCase, inputs: &Inputs) -> Option<String> {
    const RULE: &str = "name.same";
    let name = match bench.name(test_case, CallOptions::default(), inputs).await.answer {
        Ok(name) => name,
        Err(error) => {
            if matches!(error, CallError::Failure(_)) {
                bench.fail(test_case, RULE, "it has no name for inputs that `check` accepted", "a name");
            }
            return None;
        }
    };
    if !test_case.schema.implements.name {
        bench.findings.skip(RULE, "the driver does not implement `name`: it is the guresid");
    } else if bench.wants(test_case, RULE) {
        bench.findings.tried(RULE);
        let again = bench.name(test_case, CallOptions::default(), inputs).await.answer;
        if again.is_ok_and(|again| again != name) {
            let hint = "derive it from the inputs or the guresid, without random values";
            bench.fail_with(
                test_case,
                RULE,
                format!("the same request returned `{name}` before"),
                "the same name",
                Some(hint),
            );
        }
    }
    Some(name.expose().to_owned())
}
