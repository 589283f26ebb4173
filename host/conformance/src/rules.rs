//! The table of rules, with their requirements and reasons. The check, its report and the page of
//! the book are all based on it.

use std::fmt::Write as _;

use serde::Serialize;

/// A rule that every driver must obey.
///
/// It serialises in the published, versioned form: `driver check --rules` in
/// `docs/src/reference/json.md`.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// A short and stable id, `FUNCTION.WHAT`.
    pub id: &'static str,
    /// A few words for a list.
    pub title: &'static str,
    /// The requirement, in a few sentences.
    pub requirement: &'static str,
    /// The reason for the rule.
    pub why: &'static str,
}

const fn new(id: &'static str, title: &'static str, requirement: &'static str, why: &'static str) -> Rule {
    Rule { id, title, requirement, why }
}

/// The help for the id of a rule that does not exist.
pub const LIST_OF_RULES: &str = "`purlin driver check --rules` lists them";

/// All rules, in the order in which they are checked.
pub static RULES: &[Rule] = &[
    new(
        "describe.same",
        "describe always gives the same answer",
        "Every call of `describe` returns the same description.",
        "The host asks once and caches the answer with the compiled component.",
    ),
    new(
        "describe.alone",
        "describe calls no imports",
        "`describe` calls no import. Two kinds of calls are allowed, which language runtimes make at startup: for the time or random numbers, and for an empty environment.",
        "The host calls `describe` before anyone has decided to trust the driver, in an instance without access to anything.",
    ),
    new(
        "schema.valid",
        "schemas and their examples are valid",
        "The schemas of inputs and outputs are valid JSON Schemas of 2020-12 with the [keywords](contract.md#keywords) of the contract, and their `examples` and `default`s are valid against them.",
        "Editors and users learn from them what to write. A keyword that the host does not know, such as a misspelt `x-purlin-holds-data`, makes the type unusable.",
    ),
    new(
        "schema.agrees",
        "schema and check agree",
        "Inputs that `check` accepts, and those that it returns, are valid against the schema of the inputs.",
        "A schema that rejects working inputs makes users change something that is right.",
    ),
    new(
        "answers",
        "every answer conforms to the contract",
        "Every call ends with an answer that the contract allows. There is no trap and no invalid JSON. Ids and names have 1 to 4096 bytes, and cookies keep the limit. `read` and `update` keep the id, and no limit is exceeded.",
        "After any other answer of a call with effects, its outcome is unknown.",
    ),
    new(
        "secrets.hidden",
        "secrets stay secret",
        "Values given in `secrets` never appear in plain text in an output, value, id, name, log line, progress or message. They may appear only in the state's `secrets` and in its cookie.",
        "The host masks the secrets that it finds, but it cannot find all of them.",
    ),
    new(
        "check.accepts",
        "check accepts the case's inputs",
        "`check` accepts the inputs of each case.",
        "All further rules depend on it.",
    ),
    new(
        "check.fixpoint",
        "checking the result changes nothing",
        "If `check` gets its own result as input, it returns the same result.",
        "The host checks recorded inputs again. A different result would appear as a change that no one made.",
    ),
    new(
        "check.previous",
        "check repeats its answer, or keeps previous",
        "The same request to `check` gives the same answer. A random default is taken from `previous` if that contains it.",
        "Otherwise every run finds a change.",
    ),
    new(
        "check.unknown",
        "check accepts unknown inputs",
        "An input that is `null` and listed in `unknown` is not a fault, and stays `null`.",
        "The outputs of other resources are not known during planning.",
    ),
    new(
        "check.faults",
        "check reports every fault with its place",
        "`check` rejects wrong inputs with `invalid-inputs`. It reports all faults at once, each with a pointer to the input or to an object that contains it. The rule tests the `invalid` inputs of the case, of which the driver must report those that its schema does not reject, and values of a type that the schema does not allow.",
        "Users can correct all faults at once, and see the line of each.",
    ),
    new(
        "quiet",
        "check, name and update-impact have no effects",
        "`check`, `name` and `update-impact` open no files and no connections, and `check` gives the same answer without any grants.",
        "The host calls them during planning, as often as it likes, and planning must not have effects.",
    ),
    new(
        "name.same",
        "the same request gives the same name",
        "`name` returns the same name for the same request.",
        "After a crash, the host looks for the resource by its name.",
    ),
    new(
        "text.any",
        "any text is accepted",
        "Long, unusual or non-ASCII text in values, params, account and context leads to an answer, never to a trap.",
        "Text from developers reaches the driver unchanged.",
    ),
    new(
        "limits",
        "limits on memory and time change no answer",
        "With less memory or time, `check` gives the same answer, or the host ends the call. It never gives a different answer.",
        "A result that depends on the load of the machine is very hard to diagnose.",
    ),
    new(
        "denied",
        "a missing grant is reported as denied",
        "Without the grants that it needs, `create` fails with `denied`, with the capability and the target.",
        "The operator then learns what to grant; `failed` does not say that.",
    ),
    new(
        "read.none",
        "read finds nothing before create",
        "Before a resource is created, `read` by its name returns `none`, or fails if the driver cannot be certain.",
        "The host would take the object that it finds for the result of a lost call.",
    ),
    new(
        "preview.keeps",
        "previews have no effects and come true",
        "If the driver exports `preview`, the same request gives the same forecast, apart from its token, and `read` finds the same before and after it, also for a deletion. An output that is certain while inputs are unknown stays as it was once they are known, and is what `create` or `update` returns.",
        "Plans for other resources use these outputs. The host fails a resource whose driver broke such a promise.",
    ),
    new(
        "create.works",
        "create succeeds",
        "`create` succeeds for the inputs of each case.",
        "All further rules depend on it.",
    ),
    new(
        "create.outputs",
        "outputs are valid against their schema",
        "The outputs of `create` and `update` are valid against the schema of the outputs. Outputs marked with `writeOnly` are returned as secrets.",
        "The schema tells plans which outputs there will be, and which of them are secret.",
    ),
    new(
        "outputs.once",
        "write-once outputs do not change",
        "`create` returns the outputs that the schema requires and marks with `x-purlin-write-once`. `read` returns the same value as `create` or leaves it out.",
        "The host keeps these values, since no other call can return them.",
    ),
    new(
        "create.pending",
        "what is pending is found",
        "After a `create` that answers `pending`, `read` finds the resource, ready or `pending`, with the same id. This holds by id and, without a record, also by name.",
        "A later run would otherwise consider it deleted, or create it again if the answer of `create` was lost.",
    ),
    new(
        "create.checkpoint",
        "create reports a checkpoint",
        "A driver with `read` reports the id with `checkpoint` before `create` ends, and `create` returns the same id. A missing checkpoint is only advice.",
        "After a crash, the checkpoint identifies the created object immediately and with certainty.",
    ),
    new(
        "create.repeat",
        "the same key creates nothing twice",
        "If `create` gets the key of an earlier attempt, a driver with `repeat-create` returns the result of that attempt.",
        "The driver promises this, and the host relies on it after a crash.",
    ),
    new(
        "read.finds",
        "read finds the created resource",
        "`read` of a created resource always returns the same id and the same outputs. This holds by id and, without a record, also by name. A system that shows it late has the grace of the driver for that.",
        "Otherwise a refresh would report a change that no one made, or consider an existing resource deleted.",
    ),
    new(
        "read.values",
        "read reports no drift without a change",
        "If `read` returns values, they equal those that `check` returned, as long as the resource has not been changed.",
        "Any other value is shown as drift, and repaired again and again.",
    ),
    new(
        "create.cut",
        "an interrupted create leaves at most one resource",
        "A `create` can be interrupted at any time, and its outcome can still be determined. The checkpoint, the name, or a repetition with the same key lead to exactly one complete resource.",
        "Hosts are killed, and the next run must be able to continue.",
    ),
    new(
        "create.lost",
        "a lost answer is undecided",
        "If any answer of a server to `create` is lost, `create` still succeeds, fails with `pending`, `partial` or `undecided`, or has created nothing. After `undecided`, the checkpoint, the name or the same key lead to exactly one resource.",
        "Connections break, and the host forgets a resource if `create` reports that it was not created.",
    ),
    new(
        "create.clean",
        "a create that fails leaves nothing",
        "After a `create` that failed with anything but `pending`, `partial` or `undecided`, there is no object.",
        "The host keeps no record of it, so the remains would never be deleted.",
    ),
    new(
        "connection.rotated",
        "another connection means the same resource",
        "With another `connection` to the same system, `check` and `name` give the same answers, `update-impact` replaces nothing, `read` finds the resource unchanged, and `delete` deletes it. The case gives the other connection as `rotate`. Without it, the rule tests only `check` and `name`, with other secrets.",
        "Credentials are rotated. Calls always get the current connection, even for resources that were created with an earlier one.",
    ),
    new(
        "cancel",
        "a cancelled call ends",
        "When the operator cancels a `create`, it ends within ten seconds, with an answer or a failure. If an undisturbed `create` takes longer than a second, the limit is ten times its duration.",
        "A user who presses Ctrl-C waits for it.",
    ),
    new(
        "impact.agrees",
        "update-impact and update agree",
        "`update-impact` allows an update for each change that the case calls an update. For each change that the case calls a replacement, it reports a replacement, with pointers to existing inputs.",
        "The plan shows users what will happen.",
    ),
    new(
        "impact.stable",
        "stable outputs are stable",
        "Outputs that `update-impact` calls stable are the same after `update`.",
        "Plans for other resources used these outputs.",
    ),
    new(
        "update.works",
        "update applies the change",
        "`update` succeeds, and `read` then returns the id and outputs of `update`, and the new values.",
        "Otherwise the next run finds drift.",
    ),
    new(
        "update.repeat",
        "a repeated update changes nothing",
        "A second `update` with the same key succeeds and changes nothing.",
        "After a crash, the host repeats the call.",
    ),
    new(
        "update.cut",
        "an interrupted update can be repeated",
        "After an `update` is interrupted at any time, the same update succeeds when repeated, and the resource is as requested.",
        "Hosts are killed, and the next run must be able to continue.",
    ),
    new(
        "update.lost",
        "an update can be repeated after a lost answer",
        "If any answer of a server to `update` is lost, `update` still succeeds, or the same update succeeds when repeated, and the resource is as requested.",
        "Connections break, and the host repeats the call.",
    ),
    new(
        "replace.beside",
        "the old and the new resource are independent",
        "For the replacing change of the case, `create` gets the id of the resource that the new one replaces. It creates the new one next to the old one, with another id. Creating or deleting one does not change the other. If both cannot exist at once, `create` fails with `needs-delete-before`, and succeeds once the old one is deleted.",
        "By default, the old resource is deleted last, and stays recorded until then.",
    ),
    new(
        "delete.gone",
        "a deleted resource is gone",
        "`delete` succeeds, and `read` then finds nothing, by id and by name.",
        "No one would manage what remains.",
    ),
    new(
        "delete.lost",
        "a delete can be repeated after a lost answer",
        "If any answer of a server to `delete` is lost, `delete` still succeeds, or succeeds when repeated. Afterwards, nothing remains.",
        "Connections break, and the host repeats the call.",
    ),
    new(
        "delete.repeat",
        "deleting a deleted resource succeeds",
        "`delete` of a resource that no longer exists succeeds.",
        "Others may have deleted it first, and after a crash the host repeats the call.",
    ),
];

/// The rule with this id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The page of the book with all rules.
pub fn rules_page() -> String {
    let mut page = String::from(
        "# Conformance\n\n\
         <!-- Generated from the table in host/conformance/src/rules.rs: `cargo xtask bless -E 'package(purlin-conformance)'` updates it. -->\n\n\
         `purlin driver check` checks these rules. Each of them follows from the [contract](contract.md). \
         `--rule ID` checks a single rule. [Check a driver](../guides/check-a-driver.md) shows how.\n",
    );
    for Rule { id, title, requirement, why } in RULES {
        let _ = write!(page, "\n## `{id}`: {title}\n\n{requirement}\n\nReason: {why}\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_unique_id_and_fits_a_line() {
        let mut seen = std::collections::HashSet::new();
        for rule in RULES {
            assert!(seen.insert(rule.id), "{}", rule.id);
            assert!(rule.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'.'), "{}", rule.id);
            assert!(rule.title.len() <= 52, "{}", rule.id);
            assert!(rule.requirement.ends_with('.') && rule.why.ends_with('.'), "{}", rule.id);
        }
    }

    #[test]
    fn the_page_matches_the_table() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/conformance.md");
        if std::env::var_os("PURLIN_BLESS").is_some() {
            std::fs::write(&path, rules_page()).expect("written");
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            rules_page(),
            "PURLIN_BLESS=1 updates it"
        );
    }
}
