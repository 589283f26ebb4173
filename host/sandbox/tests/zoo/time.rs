//! More time than allowed, and calls that do not end when asked to.

use crate::harness::{Call, attack, by_hand};

const STOPPED: &str = "was stopped after 400ms, its time limit; `drivers.acme/bad.limits.time`";

#[test]
fn loops_of_every_kind_are_stopped() {
    for name in ["loop", "loop-of-calls", "loop-of-questions", "wait-for-nothing"] {
        attack(name).briefly().fails(STOPPED);
    }
}

#[test]
fn loops_are_stopped_in_every_function() {
    for (name, call) in [
        ("loop-in-check", Call::Check),
        ("loop-in-name", Call::Name),
        ("loop-in-create", Call::Create),
        ("loop-in-read", Call::Read),
        ("loop-in-update-impact", Call::Impact),
        ("loop-in-update", Call::Update),
        ("loop-in-delete", Call::Delete),
        ("loop-in-post-return", Call::Create),
    ] {
        by_hand(name).called(call).briefly().fails(STOPPED);
    }
    by_hand("loop-in-realloc").called(Call::Name).briefly().fails(STOPPED);
    for name in ["loop-in-start", "loop-in-describe"] {
        by_hand(name).with_a_brief_limit().refused(STOPPED);
    }
}

#[test]
fn traps_are_reported_in_every_function() {
    for (name, call) in [
        ("trap-in-check", Call::Check),
        ("trap-in-name", Call::Name),
        ("trap-in-create", Call::Create),
        ("trap-in-read", Call::Read),
        ("trap-in-update-impact", Call::Impact),
        ("trap-in-update", Call::Update),
        ("trap-in-delete", Call::Delete),
        ("trap-in-post-return", Call::Create),
    ] {
        by_hand(name).called(call).fails("the driver `acme/bad` crashed: it panicked or aborted");
    }
    for name in ["trap-in-start", "trap-in-describe"] {
        by_hand(name).refused("it panicked or aborted");
    }
    by_hand("recursion-in-post-return").fails("its stack is exhausted");
}

#[test]
fn waits_that_never_end_are_stopped() {
    for name in ["sleep-for-ever", "wait-for-the-end-of-time"] {
        attack(name).briefly().fails(STOPPED);
    }
}

#[test]
fn a_cancelled_call_may_answer_and_is_cut_off_otherwise() {
    attack("ignore-cancellation").cut_off().fails("interrupted");
    attack("answer-after-cancellation").cancelled().answers("made");
    attack("fail-after-cancellation").cancelled().fails("I was told to stop");
}
