//! More memory and stack than allowed.

use crate::harness::{attack, by_hand};

const MEMORY: &str = "needs more than 64 MiB, its memory limit; `drivers.acme/bad.limits.memory`";

#[test]
fn memory_by_the_page_ends_at_its_limit() {
    attack("grow-by-page").harmless();
    attack("hoard").fails(MEMORY);
    attack("hoard").set(|setup| setup.limits.memory = Some(8 << 20)).fails("needs more than 8 MiB");
    by_hand("memories-that-grow").briefly().harmless();
}

#[test]
fn memory_by_the_gigabyte_ends_at_its_limit() {
    attack("grow-by-4-gib").answers(r#"{"refused":true}"#);
    by_hand("memory-without-limit").answers("id {}");
    by_hand("memory-64").harmless();
}

#[test]
fn memory_before_the_first_call_is_limited() {
    by_hand("memory-large").refused("cannot call `describe`");
    by_hand("memories-many").refused("a module in it has several memories");
    by_hand("memory-shared").refused("");
}

#[test]
fn tables_are_limited() {
    by_hand("table-large").refused("");
    by_hand("tables-many").refused("");
    by_hand("table-that-grows").fails("it wanted a table larger than 100000 elements");
}

#[test]
fn stacks_are_limited() {
    attack("stack").fails("its stack is exhausted");
    attack("stack-frames").fails("its stack is exhausted");
    by_hand("stack-recursion").fails("its stack is exhausted");
}

#[test]
fn instances_are_limited() {
    by_hand("instances-of-instances").refused("it consists of more than 1000 instances");
    by_hand("components-for-components").refused("it hands components to components");
    // It is compiled, and then found not to be a driver.
    by_hand("components-that-talk").refused("that does not export");
}
