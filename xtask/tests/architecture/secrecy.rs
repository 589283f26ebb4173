//! Checks invariant 8 with the compiler: neither a value nor a secret can be written by accident. A
//! text search could miss an implementation; the type system does not.

use std::fmt::Display;
use std::marker::PhantomData;

use purlin_model::{Secret, Value};
use serde::Serialize;

struct Probe<T>(PhantomData<T>);

trait No {
    const DISPLAY: bool = false;
    const SERIALIZE: bool = false;
}
impl<T> No for Probe<T> {}

// An inherent constant takes precedence over that of a trait, but only where its bounds hold.
#[allow(dead_code, reason = "read only for types that have the trait")]
impl<T: Display> Probe<T> {
    const DISPLAY: bool = true;
}
#[allow(dead_code, reason = "read only for types that have the trait")]
impl<T: Serialize> Probe<T> {
    const SERIALIZE: bool = true;
}

#[test]
fn neither_a_value_nor_a_secret_is_written_out_by_accident() {
    let of_values = [Probe::<Value>::DISPLAY, Probe::<Value>::SERIALIZE];
    let of_secrets = [Probe::<Secret>::DISPLAY, Probe::<Secret>::SERIALIZE];
    assert_eq!((of_values, of_secrets), ([false; 2], [false; 2]));
    // The probe does recognise types with the traits.
    assert_eq!([Probe::<String>::DISPLAY, Probe::<String>::SERIALIZE], [true; 2]);
}
