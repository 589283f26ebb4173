//! What is to become of a resource that exists, once its inputs are known as far as they can be.
//!
//! Decided here and nowhere else: the planner asks with what is known before, apply asks again
//! where values became known, and then may do less than was planned, never more.

use purlin_model::Lifecycle;
use purlin_model::driver::{Impact, Inputs};
use purlin_state::{Record, Status};

use crate::driver::Driver;
use crate::plan::Change;

/// Why a resource that somebody else changed is not as wanted.
pub(crate) const DRIFTED: &str = "others changed it";
/// Why a resource is not known to be as wanted after a change that was interrupted.
pub(crate) const INTERRUPTED: &str = "it was interrupted while being changed";
/// The same after its creation was interrupted.
pub(crate) const INTERRUPTED_MAKING: &str = "it was interrupted while being made";

/// What is to become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is as wanted.
    Keep,
    /// It is changed in place.
    Update,
    /// A new one takes its place.
    Replace,
}

/// All that counts.
pub(crate) struct Case<'a> {
    pub record: &'a Record,
    pub driver: &'a dyn Driver,
    /// As the driver's `check` returned them.
    pub inputs: &'a Inputs,
    pub impact: &'a Impact,
    pub lifecycle: &'a Lifecycle,
    /// The definition that it is made by now.
    pub definition: Option<&'a str>,
    /// Why it is to be replaced, whatever its inputs say.
    pub forced: Option<String>,
    /// Why it is to be updated, whatever its inputs say.
    pub always: Option<&'a str>,
}

/// Decides, marks the changes that force a replacement, and says why.
pub(crate) fn judge(case: &Case<'_>, changes: &mut [Change]) -> (Fate, Vec<String>) {
    let mut reasons = replacement(case, changes);
    if !reasons.is_empty() {
        reasons.extend(redefined(case));
        return (Fate::Replace, reasons);
    }
    if case.always.is_none() && is_as_wanted(case.record, case.inputs, case.driver) {
        return (Fate::Keep, Vec::new());
    }
    let mut reasons = update(case, changes);
    reasons.extend(redefined(case));
    (Fate::Update, reasons)
}

/// That another definition makes it now: a letter in `criteria` is enough for that.
fn redefined(case: &Case<'_>) -> Option<String> {
    let (before, now) = (case.record.definition.as_deref()?, case.definition?);
    (before != now).then(|| format!("the definition `{now}` makes it now, and `{before}` did before"))
}

fn replacement(case: &Case<'_>, changes: &mut [Change]) -> Vec<String> {
    let (record, name) = (case.record, case.driver.known_as());
    let mut reasons: Vec<String> = case.forced.iter().cloned().collect();
    if record.tainted {
        reasons.push("it is marked to be replaced".into());
    }
    if *record.driver.name != *name {
        reasons.push(format!("its driver changes from `{}` to `{name}`", record.driver.name));
    }
    for pointer in &case.impact.replaces {
        mark(changes, |path| concerns(path, pointer));
        reasons.push(format!("`{pointer}` cannot be changed in place"));
    }
    for path in &case.lifecycle.replace_on_changes {
        if mark(changes, |changed| path.matches(changed)) {
            reasons.push(format!("a change of `{}` replaces it (`replace_on_changes`)", path.text));
        }
    }
    if reasons.is_empty() && !case.driver.manifest().implements.update {
        if !changes.is_empty() {
            mark(changes, |_| true);
            reasons.push(format!("the driver `{name}` changes nothing in place"));
        } else if let Status::Partial { message } = &record.status {
            let what = format!(
                "it was only partly made ({message}), and the driver `{name}` changes nothing in place"
            );
            reasons.push(what);
        }
    }
    reasons
}

fn update(case: &Case<'_>, changes: &[Change]) -> Vec<String> {
    let (record, driver) = (case.record, case.driver);
    let mut reasons: Vec<String> = case.always.iter().map(|why| (*why).to_owned()).collect();
    if let Status::Partial { message } = &record.status {
        reasons.push(partly(message));
    }
    let (name, version) = (driver.known_as(), driver.manifest().version.to_string());
    if *record.driver.version != *version {
        reasons.push(format!("the driver `{name}` went from {} to {version}", record.driver.version));
    } else if *record.driver.digest != *driver.digest() {
        reasons.push(format!("the driver `{name}` was built anew"));
    }
    // What was read, when it was taken over or looked at, differs from what is wanted.
    if record.digest == [0; 32] && record.status == Status::Ready && !changes.is_empty() {
        reasons.push("what was found differs".into());
    } else {
        reasons.extend(because_of(changes, reasons.is_empty()));
    }
    reasons
}

/// What an unfinished resource says for itself.
pub(crate) fn partly(message: &str) -> String {
    match message {
        DRIFTED | INTERRUPTED | INTERRUPTED_MAKING => message.to_owned(),
        failure => format!("it was only partly made: {failure}"),
    }
}

/// What changes say for themselves; `alone` where nothing else was a reason.
pub(crate) fn because_of(changes: &[Change], alone: bool) -> Option<String> {
    let known = changes.iter().any(|change| !change.is_unknown());
    match (known, changes.is_empty()) {
        (true, _) => Some("its inputs changed".into()),
        (false, false) => Some("what it reads may change".into()),
        (false, true) => alone.then(|| "its inputs changed before the driver's defaults".into()),
    }
}

/// Whether a resource is what its inputs, as its driver's `check` returned them, ask for, though
/// their digest differs: the driver normalised a difference away, or its code changed and it could
/// do nothing about the resource anyway.
fn is_as_wanted(record: &Record, inputs: &Inputs, driver: &dyn Driver) -> bool {
    record.status == Status::Ready
        && record.inputs == *inputs
        && *record.driver.name == *driver.known_as()
        && (*record.driver.digest == *driver.digest() || !driver.manifest().implements.update)
}

fn mark(changes: &mut [Change], is_meant: impl Fn(&str) -> bool) -> bool {
    let mut any = false;
    for change in changes.iter_mut().filter(|change| is_meant(&change.path)) {
        change.replaces = true;
        any = true;
    }
    any
}

/// Whether a change at one place concerns another: they are the same, or one lies in the other.
fn concerns(path: &str, pointer: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(path, pointer) || within(pointer, path)
}

#[cfg(test)]
mod tests {
    use super::concerns;

    #[test]
    fn a_change_concerns_what_lies_above_and_below_it() {
        assert!(concerns("/values/a", "/values/a"));
        assert!(concerns("/values/a/b", "/values/a"));
        assert!(concerns("/values/a", "/values/a/b"));
        assert!(!concerns("/values/ab", "/values/a"));
    }
}
