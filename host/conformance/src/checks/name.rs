//! Names.

use purlin_model::driver::Inputs;
use purlin_sandbox::CallError;

use crate::bench::{Bench, How};
use crate::trial::Trial;

/// The name; none if there is none to continue with.
pub(crate) async fn run(bench: &mut Bench, trial: &Trial, inputs: &Inputs) -> Option<String> {
    const RULE: &str = "name.same";
    let name = match bench.name(trial, How::default(), inputs).await.answer {
        Ok(name) => name,
        Err(error) => {
            if matches!(error, CallError::Failure(_)) {
                bench.fail(trial, RULE, "it has no name for inputs that `check` accepted", "a name");
            }
            return None;
        }
    };
    if !bench.driver.manifest().implements.name {
        bench.book.skip(RULE, "the driver does not implement `name`: it is the guresid");
    } else if bench.wants(trial, RULE) {
        bench.book.tried(RULE);
        let again = bench.name(trial, How::default(), inputs).await.answer;
        if again.is_ok_and(|again| again != name) {
            let hint = "derive it from the inputs or the guresid, without random values";
            bench.fail_with(
                trial,
                RULE,
                format!("the same request returned `{name}` before"),
                "the same name",
                Some(hint),
            );
        }
    }
    Some(name.expose().to_owned())
}
