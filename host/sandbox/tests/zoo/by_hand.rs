//! Handwritten components: answers and imports that break the rules of components.

use crate::harness::{Call, by_hand};

#[test]
fn the_honest_driver_works() {
    by_hand("honest").answers("id {}");
    by_hand("honest").called(Call::Check).answers("checked");
    by_hand("honest").called(Call::Read).answers("none");
    by_hand("honest").called(Call::Impact).answers("false 0");
    by_hand("honest").called(Call::Update).answers("id {}");
    by_hand("honest").called(Call::Delete).answers("deleted");
    by_hand("honest").called(Call::Name).answers("id");
}

#[test]
fn invalid_memory_for_the_host_harms_nothing() {
    for name in ["realloc-null", "realloc-overlapping"] {
        by_hand(name).harmless();
    }
    for name in ["realloc-outside", "realloc-at-the-end", "realloc-unaligned"] {
        by_hand(name).fails("the driver `acme/bad` crashed: ");
    }
    by_hand("realloc-traps").fails("it panicked or aborted");
    by_hand("reentrance").fails("the driver `acme/bad` crashed: ");
}

#[test]
fn texts_and_lists_that_lie_are_rejected() {
    for name in [
        "text-outside",
        "text-too-long",
        "text-over-the-end",
        "text-wraps",
        "text-not-utf8",
        "text-surrogate",
        "text-overlong",
        "list-too-long",
        "list-wraps",
        "list-unaligned",
        "cookie-of-all-memory",
        "cookie-outside",
    ] {
        by_hand(name).fails("the driver `acme/bad` ");
    }
}

#[test]
fn invalid_answers_harm_nothing() {
    for name in [
        "variant-out-of-range",
        "failure-out-of-range",
        "result-unaligned",
        "result-outside",
        "result-over-the-end",
    ] {
        by_hand(name).fails("the driver `acme/bad` crashed: ");
    }
    by_hand("bool-out-of-range").called(Call::Impact).answers("true 0");
    by_hand("option-out-of-range").called(Call::Read).fails("the driver `acme/bad` crashed: ");
    by_hand("cookie-out-of-range").fails("the driver `acme/bad` crashed: ");
}

#[test]
fn imports_at_the_wrong_time_are_rejected() {
    by_hand("import-in-post-return").fails("the driver `acme/bad` crashed: ");
    by_hand("import-in-start").refused("cannot call `describe`");
    by_hand("import-in-describe").refused("outside `create` and `update`");
    by_hand("level-out-of-range").fails("the driver `acme/bad` crashed: ");
    by_hand("log-outside").fails("the driver `acme/bad` ");
}

#[test]
fn invalid_handles_are_rejected() {
    for name in ["handle-unknown", "handle-dropped-twice", "handle-of-another-kind", "poll-outside"] {
        by_hand(name).fails("the driver `acme/bad` ");
    }
}

#[test]
fn escapes_in_a_description_are_harmless() {
    by_hand("escapes-in-driver-info").harmless();
}

#[test]
fn escapes_in_names_are_shown_in_plain() {
    by_hand("escapes-in-names").refused("\\u{1b}[2J");
}
