//! Integers and floating-point numbers.

use gotmpl::Value;

use super::{Answer, Call, Table};
use crate::MAX_ITEMS;
use crate::value::{list, string};

pub(super) const TABLE: Table = &[
    ("add", |c| fold_int(c, 0, i64::checked_add)),
    ("add1", |c| Ok(Value::Int(c.int(0)?.saturating_add(1)))),
    ("sub", |c| pair_int(c, i64::checked_sub)),
    ("mul", |c| fold_int(c, 1, i64::checked_mul)),
    ("div", |c| pair_int(c, i64::checked_div)),
    ("mod", |c| pair_int(c, i64::checked_rem)),
    ("max", |c| extreme(c, i64::max)),
    ("biggest", |c| extreme(c, i64::max)),
    ("min", |c| extreme(c, i64::min)),
    ("addf", |c| fold_float(c, |a, b| a + b)),
    ("add1f", |c| Ok(Value::Float(c.float(0)? + 1.0))),
    ("subf", |c| fold_float(c, |a, b| a - b)),
    ("mulf", |c| fold_float(c, |a, b| a * b)),
    ("divf", |c| fold_float(c, |a, b| a / b)),
    ("maxf", |c| fold_float(c, f64::max)),
    ("minf", |c| fold_float(c, f64::min)),
    ("floor", |c| Ok(Value::Float(c.float(0)?.floor()))),
    ("ceil", |c| Ok(Value::Float(c.float(0)?.ceil()))),
    ("round", round),
    ("until", |c| count(0, c.int(0)?, if c.int(0)? < 0 { -1 } else { 1 })),
    ("untilStep", |c| count(c.int(0)?, c.int(1)?, c.int(2)?)),
    ("seq", seq),
];

fn fold_int(call: &Call<'_>, start: i64, step: fn(i64, i64) -> Option<i64>) -> Answer {
    let mut sum = start;
    for index in 0..call.args.len() {
        sum = step(sum, call.int(index)?).ok_or("the number is too large")?;
    }
    Ok(Value::Int(sum))
}

fn pair_int(call: &Call<'_>, step: fn(i64, i64) -> Option<i64>) -> Answer {
    let answer = step(call.int(0)?, call.int(1)?);
    answer.map(Value::Int).ok_or_else(|| "division by zero, or the number is too large".to_owned())
}

fn extreme(call: &Call<'_>, pick: fn(i64, i64) -> i64) -> Answer {
    let mut best = call.int(0)?;
    for index in 1..call.args.len() {
        best = pick(best, call.int(index)?);
    }
    Ok(Value::Int(best))
}

fn fold_float(call: &Call<'_>, step: fn(f64, f64) -> f64) -> Answer {
    let mut sum = call.float(0)?;
    for index in 1..call.args.len() {
        sum = step(sum, call.float(index)?);
    }
    Ok(Value::Float(sum))
}

fn round(call: &Call<'_>) -> Answer {
    let digits = i32::try_from(call.int(1)?.clamp(-300, 300)).unwrap_or(0);
    let scale = 10f64.powi(digits);
    let on = if call.args.len() > 2 { call.float(2)? } else { 0.5 };
    let scaled = call.float(0)? * scale;
    let (whole, rest) = (scaled.trunc(), scaled.fract().abs());
    let rounded = if rest >= on { whole + scaled.signum() } else { whole };
    Ok(Value::Float(rounded / scale))
}

/// The numbers from `start` up or down to `stop`, which is excluded.
fn numbers(start: i64, stop: i64, step: i64) -> Result<Vec<i64>, String> {
    let mut all = Vec::new();
    let mut next = start;
    while step != 0 && if step > 0 { next < stop } else { next > stop } {
        if all.len() >= MAX_ITEMS {
            return Err(format!("more than {MAX_ITEMS} numbers"));
        }
        all.push(next);
        let Some(after) = next.checked_add(step) else { break };
        next = after;
    }
    Ok(all)
}

fn count(start: i64, stop: i64, step: i64) -> Answer {
    Ok(list(numbers(start, stop, step)?.into_iter().map(Value::Int)))
}

/// Numbers including both ends, as text, like the program of that name.
fn seq(call: &Call<'_>) -> Answer {
    let (start, step, stop) = match call.args.len() {
        0 => return Ok(string("")),
        1 => (1, if call.int(0)? < 1 { -1 } else { 1 }, call.int(0)?),
        2 => (call.int(0)?, if call.int(1)? < call.int(0)? { -1 } else { 1 }, call.int(1)?),
        _ => (call.int(0)?, call.int(1)?, call.int(2)?),
    };
    let all = numbers(start, stop.saturating_add(step.signum()), step)?;
    Ok(string(all.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")))
}
