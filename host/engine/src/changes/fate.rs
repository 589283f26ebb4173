//! Decides what happens to an existing resource once its inputs are known as far as possible.
//!
//! This is the only place that decides it. The planner decides with the values known beforehand;
//! apply decides again once more values are known, and may then do less than planned, but never
//! more.

use std::borrow::Cow;
use std::sync::Arc;

use purlin_model::driver::{Impact, Inputs};
use purlin_model::{Lifecycle, Reason, Unfinished};
use purlin_state::{Record, Status};

use crate::driver::Driver;
use crate::plan::ValueChange;
use crate::values::evaluate::is_known;
use crate::values::rules::connection;

/// What happens to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays as it is.
    Keep,
    /// It is updated in place.
    Update,
    /// It is replaced with a new one.
    Replace {
        /// Whether that is decided. Otherwise it depends on a value that is not known yet, and that
        /// may turn out to be the same.
        decided: bool,
    },
}

/// Everything that the decision depends on.
pub(crate) struct Case<'a> {
    pub record: &'a Record,
    pub driver: &'a dyn Driver,
    /// As the driver's `check` returned them.
    pub inputs: &'a Inputs,
    pub impact: &'a Impact,
    pub lifecycle: &'a Lifecycle,
    /// The definition that provisions the resource now.
    pub definition: Option<&'a str>,
    /// Why the resource must be replaced regardless of its inputs.
    pub forced: Option<Reason>,
    /// Whether the resource must be updated regardless of its inputs.
    pub always: bool,
}

/// Whether the driver already provisioned a resource with just these inputs, of which `digest` is the
/// digest, in the same system. It need not be called then.
pub(crate) fn is_unchanged(record: &Record, driver: &dyn Driver, inputs: &Inputs, digest: &[u8; 32]) -> bool {
    record.digest == *digest
        && record.status == Status::Ready
        && !(record.tainted || record.external)
        && connection::is_same_system(driver.info(), record, &inputs.connection)
}

/// Decides, marks the changes that force a replacement, and gives the reasons.
pub(crate) fn decide(case: &Case<'_>, changes: &mut [ValueChange]) -> (Fate, Vec<Reason>) {
    let (mut reasons, decided) = replacement(case, changes);
    if !reasons.is_empty() {
        reasons.extend(redefined(case));
        return (Fate::Replace { decided }, reasons);
    }
    if !case.always && is_as_wanted(case.record, case.inputs, case.driver) {
        return (Fate::Keep, Vec::new());
    }
    let mut reasons = update(case, changes);
    reasons.extend(redefined(case));
    (Fate::Update, reasons)
}

/// Whether a resource is replaced although none of its inputs changed. The driver then still
/// decides whether the old copy must be deleted first.
pub(crate) fn is_replaced_unchanged(record: &Record, driver: &dyn Driver, forced: bool) -> bool {
    let cannot_be_finished = !driver.implements_for(record).update && !is_finished(record);
    forced || record.tainted || cannot_be_finished || is_going(record)
}

/// Whether a resource is in progress: it needs time before anything else.
pub(crate) fn is_on_its_way(record: &Record) -> bool {
    matches!(record.status, Status::Partial(Unfinished::InProgress { deletes: false, .. }))
}

/// Whether a resource needs no update to be complete, and at most time.
pub(crate) fn is_finished(record: &Record) -> bool {
    match &record.status {
        Status::Ready => true,
        Status::Partial(Unfinished::InProgress { deletes, in_doubt, .. }) => !(*deletes || *in_doubt),
        _ => false,
    }
}

/// Whether a resource is going away, so that only another one can take its place.
pub(crate) fn is_going(record: &Record) -> bool {
    matches!(record.status, Status::Partial(Unfinished::InProgress { deletes: true, .. }))
}

/// The recorded inputs with which new ones are compared. The secrets of an adopted resource are not
/// known to be set. The next update sets them, and they are no reason for a replacement.
pub(crate) fn compared<'a>(record: &'a Record, inputs: &Inputs) -> Cow<'a, Inputs> {
    match record.status {
        Status::Partial(Unfinished::Unconfirmed) => {
            Cow::Owned(Inputs { secrets: inputs.secrets.clone(), ..record.inputs.clone() })
        }
        _ => Cow::Borrowed(&record.inputs),
    }
}

/// What the driver promises about an update. The outputs of an adopted resource may have been read
/// with other secrets, and those of one in progress are not complete, so none of them is sure to stay.
/// One that is going away goes first.
pub(crate) fn promised(record: &Record, impact: Impact) -> Impact {
    match record.status {
        Status::Partial(Unfinished::Unconfirmed) => Impact { stable_outputs: Vec::new(), ..impact },
        Status::Partial(Unfinished::InProgress { deletes, .. }) => Impact {
            stable_outputs: Vec::new(),
            delete_before_replace: impact.delete_before_replace || deletes,
            ..impact
        },
        _ => impact,
    }
}

/// Whether this driver made the recorded resource. A driver is never called about a change to
/// another driver's resource: that is always a replacement, and only the documents decide its
/// order.
pub(crate) fn made_it(driver: &dyn Driver, record: &Record) -> bool {
    *record.driver.name == *driver.known_as()
}

/// The reason if another definition applies now, which a small edit of `criteria` can cause.
fn redefined(case: &Case<'_>) -> Option<Reason> {
    let (before, now) = (case.record.definition.as_ref()?, case.definition?);
    (**before != *now).then(|| Reason::DefinitionChanged { before: Arc::clone(before), now: now.into() })
}

/// The reasons to replace, and whether they are decided: a value that is not known yet counts only
/// if nothing else decides it.
fn replacement(case: &Case<'_>, changes: &mut [ValueChange]) -> (Vec<Reason>, bool) {
    let (record, name) = (case.record, case.driver.known_as());
    let mut reasons: Vec<Reason> = case.forced.iter().cloned().collect();
    if record.tainted {
        reasons.push(Reason::Tainted);
    }
    if let (true, Status::Partial(unfinished)) = (is_going(record), &record.status) {
        reasons.push(unfinished.clone().into());
    }
    if !made_it(case.driver, record) {
        reasons.push(Reason::DriverChanged { before: Arc::clone(&record.driver.name), now: name.into() });
    }
    let mut possible = Vec::new();
    for pointer in &case.impact.replaces {
        let is_decided = match mark(changes, |path| concerns(path, pointer)) {
            Marked::Known => true,
            Marked::Unknown { .. } => false,
            // The driver names another input than the one that changes.
            Marked::Nothing => is_known(case.inputs),
        };
        let path: Arc<str> = pointer.as_str().into();
        match is_decided {
            true => reasons.push(Reason::CannotChangeInPlace { path }),
            false => possible.push(Reason::ReplacedIfDiffers { path }),
        }
    }
    for path in &case.lifecycle.replace_on_changes {
        match mark(changes, |changed| path.matches(changed)) {
            Marked::Known => reasons.push(Reason::ReplaceOnChanges { path: Arc::clone(&path.text) }),
            Marked::Unknown { path } => possible.push(Reason::ReplacedIfDiffers { path }),
            Marked::Nothing => {}
        }
    }
    if reasons.is_empty() && !case.driver.implements_for(record).update {
        let cannot = || Reason::DriverCannotUpdate { driver: name.into() };
        match mark(changes, |_| true) {
            Marked::Known => reasons.push(cannot()),
            Marked::Unknown { path } => possible.push(Reason::ReplacedIfDiffers { path }),
            Marked::Nothing => {}
        }
        if let (true, Status::Partial(unfinished)) =
            (changes.is_empty() && !is_finished(record), &record.status)
        {
            reasons.extend([unfinished.clone().into(), cannot()]);
        }
    }
    let decided = !reasons.is_empty();
    (if decided { reasons } else { possible }, decided)
}

fn update(case: &Case<'_>, changes: &[ValueChange]) -> Vec<Reason> {
    let (record, driver) = (case.record, case.driver);
    let mut reasons: Vec<Reason> = case.always.then_some(Reason::Full).into_iter().collect();
    if let Status::Partial(unfinished) = &record.status {
        reasons.push(unfinished.clone().into());
    }
    let version = driver.info().version.to_string();
    if *record.driver.version != *version {
        reasons.push(Reason::DriverVersionChanged {
            driver: driver.known_as().into(),
            before: Arc::clone(&record.driver.version),
            now: version.into(),
        });
    } else if *record.driver.digest != *driver.digest() {
        reasons.push(Reason::DriverRebuilt { driver: driver.known_as().into() });
    }
    // The resource was different from the documents when it was adopted or read.
    let is_as_found = matches!(record.status, Status::Ready | Status::Partial(Unfinished::Unconfirmed));
    if record.digest == [0; 32] && is_as_found && !changes.is_empty() {
        reasons.push(Reason::FoundDifferent);
    } else {
        reasons.extend(because_of(changes, reasons.is_empty()));
    }
    reasons
}

/// The reason that the changes give; `alone` if there is no other reason.
pub(crate) fn because_of(changes: &[ValueChange], alone: bool) -> Option<Reason> {
    let known = changes.iter().any(|change| !change.is_unknown());
    match (known, changes.is_empty()) {
        (true, _) => Some(Reason::InputsChanged),
        (false, false) => Some(Reason::InputsMayChange),
        (false, true) => alone.then_some(Reason::InputsChangedBeforeCheck),
    }
}

/// Whether a resource matches its inputs, as the driver's `check` returned them, although their
/// digest differs: the driver normalised the difference away, or its code changed but it cannot
/// update.
fn is_as_wanted(record: &Record, inputs: &Inputs, driver: &dyn Driver) -> bool {
    record.status == Status::Ready
        && record.inputs == *inputs
        && made_it(driver, record)
        && (*record.driver.digest == *driver.digest() || !driver.implements_for(record).update)
}

/// The changes that were marked.
enum Marked {
    Nothing,
    /// Only values that are not known yet; the first of them.
    Unknown {
        path: Arc<str>,
    },
    /// At least one known value.
    Known,
}

/// Marks the changes that force a replacement.
fn mark(changes: &mut [ValueChange], is_meant: impl Fn(&str) -> bool) -> Marked {
    let mut marked = Marked::Nothing;
    for change in changes.iter_mut().filter(|change| is_meant(&change.path)) {
        change.replaces = true;
        match (&marked, change.is_unknown()) {
            (_, false) => marked = Marked::Known,
            (Marked::Nothing, true) => marked = Marked::Unknown { path: change.path.as_str().into() },
            _ => {}
        }
    }
    marked
}

/// Whether a change at one path affects another path: they are equal, or one contains the other.
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
    fn a_change_concerns_parents_and_children() {
        assert!(concerns("/values/a", "/values/a"));
        assert!(concerns("/values/a/b", "/values/a"));
        assert!(concerns("/values/a", "/values/a/b"));
        assert!(!concerns("/values/ab", "/values/a"));
    }
}
