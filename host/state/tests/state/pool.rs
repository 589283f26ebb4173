//! Equal parts of records are stored once, and stay unchanged.

use purlin_model::Value;
use purlin_state::{Pool, Record};
use serde_json::json;

use crate::common::record;

/// The address of the first entry of a map.
fn place(value: &Value) -> *const Value {
    let Value::Map(map) = value else { return std::ptr::null() };
    map.first().map_or(std::ptr::null(), |(_, value)| std::ptr::from_ref(value))
}

/// A record with these values, params and outputs, after a pool shared it.
fn shared(values: &Value, params: &Value, outputs: &Value) -> Record {
    let mut record = record(1);
    record.inputs.values = values.clone();
    record.inputs.params = params.clone();
    record.state.outputs = outputs.clone();
    let before = record.clone();
    Pool::default().share(&mut record);
    assert_eq!(record, before);
    record
}

/// The same value in its own memory.
fn again(value: &Value) -> Value {
    Value::from(value.reveal().expect("JSON"))
}

#[test]
fn equal_inputs_params_and_outputs_are_stored_once() {
    let values = Value::from(json!({"a": "1", "b": [1, {"c": null}]}));
    let record = shared(&values, &again(&values), &again(&values));
    assert_eq!(place(&record.inputs.params), place(&record.inputs.values));
    assert_eq!(place(&record.state.outputs), place(&record.inputs.values));
}

#[test]
fn values_that_differ_in_any_detail_are_not_shared() {
    let (one, two) = (|| Value::from("1"), || Value::from("2"));
    let values = Value::Map([("a".into(), one()), ("b".into(), two())].into());
    let turned = Value::Map([("b".into(), two()), ("a".into(), one())].into());
    let secret = Value::Map([("a".into(), one()), ("b".into(), two().into_secret())].into());
    let record = shared(&values, &turned, &secret);
    // Maps are equal regardless of the order of their entries, so `==` cannot tell.
    assert_eq!(place(&record.inputs.params), place(&turned));
    assert_eq!(place(&record.state.outputs), place(&secret));
    assert_eq!(place(&record.inputs.values), place(&values));
}
