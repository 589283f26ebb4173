//! The rules, each with what it demands and why: the one table that the examination, the report
//! and the book are made from.

use std::fmt::Write as _;

/// Something that every driver has to keep.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Short and stable: `FUNCTION.WHAT`.
    pub id: &'static str,
    /// In a few words, for a list.
    pub title: &'static str,
    /// What it demands, in a sentence or two.
    pub demands: &'static str,
    /// What goes wrong without it.
    pub why: &'static str,
}

const fn new(id: &'static str, title: &'static str, demands: &'static str, why: &'static str) -> Rule {
    Rule { id, title, demands, why }
}

/// Every rule, in the order in which they are tried.
pub static RULES: &[Rule] = &[
    new(
        "describe.same",
        "describe always says the same",
        "`describe` gives the same answer each time.",
        "The host asks once and keeps the answer with the compiled component.",
    ),
    new(
        "describe.alone",
        "describe calls no imports",
        "`describe` calls no import. Borne is what a language's runtime does as it starts and what reaches nothing: that it asks for the time, for random numbers, or for an environment that is empty.",
        "A driver is asked what it is before anybody has decided to trust it, in an instance that reaches nothing.",
    ),
    new(
        "schema.valid",
        "schemas are valid and examples fit",
        "The schemas of inputs and outputs are JSON Schemas of 2020-12, and the `examples` and `default`s in them fit.",
        "Editors and people learn from them what to write.",
    ),
    new(
        "schema.agrees",
        "schema and check agree",
        "Inputs that `check` takes, and those that it returns, fit the schema of the inputs.",
        "A schema that refuses what works sends people to fix what is right.",
    ),
    new(
        "answers",
        "every call is answered within the contract",
        "Every call ends with an answer that the contract allows: no trap, no text that is not JSON, an id and a name of 1 to 4096 bytes, a cookie of 10 KiB at most, the id kept by `read` and `update`, nothing over the limits.",
        "After anything else of a call with effects nobody knows what happened.",
    ),
    new(
        "secrets.hidden",
        "secrets stay secret",
        "What a call was given in `secrets` stands in clear in no output, value, id, name, log line, progress or message: only in the state's `secrets` and its cookie.",
        "The host hides what it finds, and it does not find everything.",
    ),
    new(
        "check.accepts",
        "check takes the case's inputs",
        "`check` takes the inputs of each case.",
        "Without it nothing else can be tried.",
    ),
    new(
        "check.fixpoint",
        "checking the result changes nothing",
        "`check` given what it returned returns just that.",
        "The host checks what it recorded; another answer would be a change that nobody made.",
    ),
    new(
        "check.previous",
        "check answers the same, or keeps previous",
        "Asked the same, `check` answers the same; a default that is drawn at random is taken from `previous` where that has one.",
        "Otherwise every run finds a change.",
    ),
    new(
        "check.unknown",
        "check bears unknown inputs",
        "An input that is `null` and named in `unknown` is no fault, and stays `null`.",
        "While a plan is made, what other resources give is not there yet.",
    ),
    new(
        "check.faults",
        "check names every fault with its place",
        "Wrong inputs are refused as `invalid-inputs`, with every fault at once, each with a pointer to its place or to what holds it. Tried are the case's `invalid`, of which the driver has to name what its schema does not refuse, and values of another type than the schema says.",
        "People mend all of it in one go, and are shown the line.",
    ),
    new(
        "quiet",
        "check, name and update-impact have no effects",
        "`check`, `name` and `update-impact` open no file and no connection, and `check` answers the same without any grant.",
        "They are called while a plan is made, as often as the host likes, where nothing may happen.",
    ),
    new(
        "name.same",
        "the same request gives the same name",
        "`name` gives the same name for the same request.",
        "After a crash the name is what the resource is looked for by.",
    ),
    new(
        "text.any",
        "any text is borne",
        "Long, strange and foreign texts in values, params, account and context end in an answer, never in a trap.",
        "What developers write reaches the driver as it is.",
    ),
    new(
        "limits",
        "too little memory or time gives no other answer",
        "With less memory or time `check` gives the same answer, or the host ends the call; it never gives another one.",
        "A result that depends on the machine's day is found by nobody.",
    ),
    new(
        "denied",
        "a missing grant is said as denied",
        "Without the grants that it needs `create` fails as `denied`, with capability and target.",
        "The operator is told what to grant; `failed` tells him nothing.",
    ),
    new(
        "read.none",
        "read finds nothing where nothing is",
        "Before a resource was made, `read` by its name says `none`, or fails where it cannot be certain.",
        "What is found there would be taken for the result of a lost call.",
    ),
    new(
        "create.works",
        "create makes the resource",
        "`create` succeeds for the inputs of each case.",
        "Without it nothing else can be tried.",
    ),
    new(
        "create.outputs",
        "outputs fit their schema",
        "The outputs of `create` and `update` fit the schema of the outputs, and those that it marks with `writeOnly` come as secrets.",
        "Plans tell from the schema which outputs there will be, and people which are secret.",
    ),
    new(
        "outputs.once",
        "what is told once does not change",
        "Outputs that the schema marks with `x-purlin-write-once` and requires come with `create`. `read` gives what `create` gave or leaves it out.",
        "The host keeps what was told. Nothing else knows it.",
    ),
    new(
        "create.checkpoint",
        "create reports a checkpoint",
        "A driver with `read` reports the id with `checkpoint` before `create` ends, and the id is the one it returns. A missing checkpoint is advice.",
        "After a crash what was made is found by its checkpoint, for certain and at once.",
    ),
    new(
        "create.repeat",
        "the same key makes nothing twice",
        "A driver with `repeat-create` answers `create` with the key of an earlier attempt with what that made.",
        "It promises so, and after a crash the host relies on it.",
    ),
    new(
        "read.finds",
        "read finds what was made",
        "`read` of what was made finds the same id and the same outputs, each time, and without a record by id as well as by name.",
        "A refresh would see a change that nobody made, or take what is there for gone.",
    ),
    new(
        "read.values",
        "read sees no drift where there is none",
        "Where `read` tells values, they equal what `check` returned, as long as nobody touched the resource.",
        "Every other value is shown to people as drift, and repaired again and again.",
    ),
    new(
        "create.cut",
        "a create that is cut off leaves one or none",
        "A `create` that is cut off at any instant can be found out about: the checkpoint, the name, or the same key once more lead to exactly one resource, whole.",
        "Hosts are killed, and the next run has to go on.",
    ),
    new(
        "create.lost",
        "a lost answer is undecided",
        "If any answer of a server to `create` is lost, `create` succeeds all the same, fails with `partial` or `undecided`, or has made nothing. After `undecided`, the checkpoint, the name or the same key lead to exactly one resource.",
        "Connections break. The host forgets a resource that `create` says it did not make.",
    ),
    new(
        "create.clean",
        "a create that fails leaves nothing",
        "After a `create` that failed, with anything but `partial`, there is nothing.",
        "The host forgets it; nobody would delete what is left.",
    ),
    new(
        "connection.rotated",
        "another connection is no other resource",
        "With another `connection` to the same system, `check` and `name` answer as before, `update-impact` replaces nothing, `read` finds the resource as it is, and `delete` deletes it. The case gives the other connection as `rotate`. Without it, only `check` and `name` are tried, with other secrets.",
        "Credentials are rotated. Calls always get the current connection, also for resources that were made with an earlier one.",
    ),
    new(
        "cancel",
        "a cancelled call ends",
        "A `create` whose operator wants it to end does so within ten seconds, by an answer or a failure. Where a whole `create` takes longer than a second, ten times as long.",
        "Whoever presses Ctrl-C waits for that.",
    ),
    new(
        "impact.agrees",
        "update-impact and update agree",
        "What the case calls an update, `update-impact` lets be done in place; what it calls a replacement, it says so, with pointers to inputs that there are.",
        "The plan shows people what will happen.",
    ),
    new(
        "impact.stable",
        "stable outputs are stable",
        "Outputs that `update-impact` calls stable are the same after `update`.",
        "Others were planned with them.",
    ),
    new(
        "update.works",
        "update does what was asked",
        "`update` succeeds, and `read` then finds its id and outputs, and the new values.",
        "Otherwise the next run finds drift.",
    ),
    new(
        "update.repeat",
        "the same update twice is one",
        "`update` with the same key once more succeeds and changes nothing.",
        "After a crash the host asks again.",
    ),
    new(
        "update.cut",
        "an update that is cut off can be repeated",
        "After an `update` that is cut off at any instant, the same update once more succeeds, and what is there is as it was asked for.",
        "Hosts are killed, and the next run has to go on.",
    ),
    new(
        "update.lost",
        "an update can be repeated after a lost answer",
        "If any answer of a server to `update` is lost, `update` succeeds all the same, or the same update once more succeeds, and what is there is as it was asked for.",
        "Connections break, and the host asks again.",
    ),
    new(
        "replace.beside",
        "the old one and the new one do not touch each other",
        "For the change of the case that replaces, `create` is told which resource the new one replaces. It makes the new one beside the old one, with another id, and each is left as it is when the other is made or deleted. Where both cannot exist, it fails with `needs-delete-before`, and succeeds once the old one is gone.",
        "By default the old one is deleted last, and is recorded until then.",
    ),
    new(
        "delete.gone",
        "what is deleted is gone",
        "`delete` succeeds, and `read` then finds nothing, by id and by name.",
        "What is left is nobody's.",
    ),
    new(
        "delete.lost",
        "a delete can be repeated after a lost answer",
        "If any answer of a server to `delete` is lost, `delete` succeeds all the same, or deleting once more succeeds. Then nothing is left.",
        "Connections break, and the host asks again.",
    ),
    new(
        "delete.repeat",
        "deleting what is gone succeeds",
        "`delete` of what is gone already is a success.",
        "Somebody may have been quicker, and after a crash the host asks again.",
    ),
];

/// The rule of that id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The page of the book that publishes them.
pub fn rules_page() -> String {
    let mut page = String::from(
        "# Conformance\n\n\
         <!-- Made from the table in host/conformance/src/rule.rs: `PURLIN_BLESS=1 cargo test -p purlin-conformance` writes it anew. -->\n\n\
         What `purlin driver check` holds a driver to. Each rule follows from the [contract](contract.md); \
         `--rule ID` tries one alone. [Check a driver](../guides/check-a-driver.md) tells how.\n",
    );
    for Rule { id, title, demands, why } in RULES {
        let mut title = title.chars();
        let title: String = title.next().into_iter().flat_map(char::to_uppercase).chain(title).collect();
        let _ = write!(page, "\n## `{id}`\n\n{title}. {demands}\n\nWhy: {why}\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_an_id_of_its_own_and_fits_a_line() {
        let mut seen = std::collections::HashSet::new();
        for rule in RULES {
            assert!(seen.insert(rule.id), "{}", rule.id);
            assert!(rule.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'.'), "{}", rule.id);
            assert!(rule.title.len() <= 52, "{}", rule.id);
            assert!(rule.demands.ends_with('.') && rule.why.ends_with('.'), "{}", rule.id);
        }
    }

    #[test]
    fn the_book_says_what_the_table_says() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/conformance.md");
        if std::env::var_os("PURLIN_BLESS").is_some() {
            std::fs::write(&path, rules_page()).expect("written");
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            rules_page(),
            "PURLIN_BLESS=1 writes it anew"
        );
    }
}
