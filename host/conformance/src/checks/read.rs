//! Searches for missing objects.

use purlin_model::driver::Inputs;

use crate::bench::Bench;
use crate::test_case::TestCase;

/// Why a rule about `read` is skipped.
pub(crate) const NO_READ: &str = "the driver does not implement `read`";
/// Why a rule is skipped that only `read` shows.
pub(crate) const UNREADABLE: &str = "the driver does not implement `read`, so this cannot be checked";

/// Nothing exists before. Remains of an earlier examination are deleted. Returns whether to
/// continue.
pub(crate) async fn before(bench: &mut Bench, test_case: &TestCase, inputs: &Inputs, name: &str) -> bool {
    const RULE: &str = "read.none";
    if !test_case.schema.implements.read {
        bench.findings.skip(RULE, NO_READ);
        return true;
    }
    let found = bench.read(test_case, None, name, inputs, None).await.answer;
    if let Ok(Some(observed)) = found {
        // The name comes from our own URN, or from inputs for examination: the object is ours.
        let id = observed.state.id.clone();
        let deleted = bench.delete(test_case, &observed.state, inputs).await.answer;
        let again = bench.read(test_case, None, name, inputs, None).await.answer;
        if deleted.is_err() || matches!(again, Ok(Some(_))) {
            bench.findings.tried(RULE);
            if test_case.excuse(RULE).is_some() {
                return true;
            }
            let hint = "delete remains of an earlier run manually; a `read` that finds everything is wrong";
            bench.fail_with(test_case, RULE, format!("`{id}` is found, and remains"), "none", Some(hint));
            return false;
        }
        bench.cleared.push(id.to_string());
    }
    if bench.wants(test_case, RULE) {
        bench.findings.tried(RULE);
    }
    true
}
