//! The words for reasons, obstacles, findings and departures, for every program that shows them to
//! people. No other place repeats them. They are main clauses about a resource, usually "it …",
//! without a full stop. There are two exceptions: [`Awaited`] is a noun, which completes "it waits
//! for …", and a failed [`Obstacle`] is the message of the failure.
//!
//! They are here, below all crates that show them: diagnostics, the command line, and programs that embed
//! Purlin. Only why a definition or a bundle was not chosen is worded elsewhere, next to the choice.

use std::fmt;

use crate::{
    Awaited, DeclaredBy, Departure, FileNow, Finding, Key, Obstacle, Reason, ReferenceField, Unfinished, Urn,
    Wait,
};

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::New => "it does not exist yet",
            Self::Gone => "it no longer exists",
            Self::InputsChanged => "its inputs changed",
            Self::InputsMayChange => "its inputs may change",
            Self::InputsChangedBeforeCheck => "its inputs changed before the driver fills in defaults",
            Self::FoundDifferent => "it differs from the documents",
            Self::DefinitionChanged { before, now } => {
                return write!(f, "its definition changes from `{before}` to `{now}`");
            }
            Self::DriverChanged { before, now } => {
                return write!(f, "its driver changes from `{before}` to `{now}`");
            }
            Self::DriverVersionChanged { driver, before, now } => {
                return write!(f, "its driver `{driver}` changes from version {before} to {now}");
            }
            Self::DriverRebuilt { driver } => return write!(f, "its driver `{driver}` was rebuilt"),
            Self::CannotChangeInPlace { path } => return write!(f, "`{path}` cannot be changed in place"),
            Self::ReplacedIfDiffers { path } => {
                return write!(f, "only if `{path}` differs once it is known");
            }
            Self::PartNotPlanned { part, action, loses } => {
                write!(f, "the plan did not show `{}` of its part `{part}`", action.as_str())?;
                return match loses {
                    Some(data) => write!(f, ", which loses data: {data}"),
                    None => Ok(()),
                };
            }
            Self::DriverCannotUpdate { driver } => {
                return write!(f, "the driver `{driver}` cannot change it in place");
            }
            Self::ReplaceOnChanges { path } => {
                return write!(f, "a change of `{path}` replaces it (`replace_on_changes`)");
            }
            Self::Tainted => "it is marked for replacement",
            Self::ReplaceRequested => "its replacement was requested",
            Self::ReplacedWith { other } => return write!(f, "it is replaced together with `{other}`"),
            Self::GoesWith { other } => return write!(f, "it is deleted together with `{other}`"),
            Self::Full => "every resource is provisioned",
            Self::Unfinished(unfinished) => return unfinished.fmt(f),
            Self::Adopted { id, named: None } => return write!(f, "it exists as `{id}`"),
            Self::Adopted { id, named: Some(named) } => {
                return write!(f, "it exists as `{id}`, which is what its driver found for `{named}`");
            }
            Self::NoLongerObserved => "it was only observed until now",
            Self::Observed { id } => return write!(f, "it is only observed, as `{id}`"),
            Self::Uses { other } => return write!(f, "it uses {}", elsewhere(other)),
            Self::UsesInstead { other } => {
                return write!(f, "it uses {} in place of its own", elsewhere(other));
            }
            Self::LetsGo { other } => {
                return write!(f, "it no longer uses {}, which stays", elsewhere(other));
            }
            Self::NoLongerManaged => "it is only observed from now on; others manage it",
            Self::LeftDocuments { departure: None } => "it is no longer in the documents",
            Self::LeftDocuments { departure: Some(departure) } => return departure.fmt(f),
            Self::Destroyed => "its deletion was requested",
            Self::Replaced => "it was replaced, and the old one still exists",
            Self::ForgottenExternal => "others manage it: only removed from the state, not deleted",
            Self::ForgottenGone => "it is gone already: only removed from the state",
            Self::ForgottenRetained => "it is retained: only removed from the state, not deleted",
            Self::OldOneRetained => "the old one is retained: only removed from the state, not deleted",
            Self::OldOneNotRetained { other } => {
                return write!(
                    f,
                    "the existing one cannot be retained: it is deleted together with `{other}`"
                );
            }
            Self::Refreshed => "its driver reads it",
            Self::InterruptedDelete => "its deletion was interrupted",
            Self::MayExist => "its creation was interrupted, and it may exist",
            Self::NewOneMayExist => "its replacement was interrupted, and a new one may exist",
            Self::MayBeGone => "its deletion was interrupted, and it may be gone",
            Self::Paused => "it is paused",
            Self::Waits(wait) => return wait.fmt(f),
            Self::BackedOff { message } => return write!(f, "it is tried again later: {message}"),
            Self::Refused { message } => return write!(f, "nothing can be done with it: {message}"),
            Self::DriftReported => "it was changed outside of Purlin, and is not repaired (`drift: report`)",
            Self::NeedsConsent { action } => {
                return write!(f, "{}, which needs consent: run `purlin up`", to_be(action));
            }
        };
        f.write_str(words)
    }
}

/// A resource of another environment.
fn elsewhere(urn: &Urn) -> String {
    let key = urn.key().map(|key| key.to_string()).unwrap_or_default();
    let (env, org, app) = urn.place().unwrap_or_default();
    format!("`{key}` of {env} of {org}/{app}")
}

/// A future operation.
fn to_be(action: &str) -> &'static str {
    match action {
        "delete" => "it would be deleted",
        "replace" => "it would be replaced",
        _ => "it would be changed",
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it waits for ")?;
        self.through.iter().try_for_each(|key| write!(f, "`{}`, which waits for ", key.short()))?;
        if self.left_out > 0 {
            write!(f, "{} more, the last of which waits for ", self.left_out)?;
        }
        self.what.fmt(f)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { message, .. } => f.write_str(message),
            Self::Waits { waits } | Self::Beside { waits } => {
                waits.iter().enumerate().try_for_each(|(index, wait)| {
                    let between = if index > 0 { "; " } else { "" };
                    write!(f, "{between}{wait}")
                })
            }
            Self::NeedsConsent { action } => Reason::NeedsConsent { action: action.clone() }.fmt(f),
            Self::Paused => Reason::Paused.fmt(f),
            Self::Drifted => Unfinished::Drifted.fmt(f),
        }
    }
}

/// The place of a field as people write it: `spec.forProvider.vpcIdRef`.
fn dotted(pointer: &str) -> String {
    let segments = pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~"));
    segments.collect::<Vec<_>>().join(".")
}

impl fmt::Display for ReferenceField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = dotted(&self.field);
        match self.fills.as_ref().and_then(|fills| fills.rfind('/').and_then(|at| fills.get(at..))) {
            Some(name) => write!(f, "{field} is a reference and fills {}", dotted(name)),
            None => write!(f, "{field} is read by Purlin and left out"),
        }
    }
}

/// The name of a manifest, without its namespace.
fn name_of(key: &Key) -> &str {
    key.id().rsplit('/').next().unwrap_or_default()
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { target, field, at, near } => {
                write!(f, "{target}, which no document declares (`{field}`, {at}")?;
                if let Some(near) = near {
                    write!(f, "; did you mean `{}`?", name_of(near))?;
                }
                f.write_str(")")
            }
            Self::Ambiguous { field, at, candidates } => {
                const SHOWN: usize = 5;
                f.write_str("the one that is meant of")?;
                for (number, key) in candidates.iter().take(SHOWN).enumerate() {
                    write!(f, "{} `{}`", if number > 0 { "," } else { "" }, key.short())?;
                }
                if candidates.len() > SHOWN {
                    write!(f, " and {} more", candidates.len() - SHOWN)?;
                }
                write!(f, " (`{field}`, {at})")
            }
            Self::Dependent { key } => {
                write!(f, "`{}`, which is left alone and depends on the old one", key.short())
            }
            Self::Empty { key, path, at } => {
                write!(f, "`{}`, which has no `{path}` yet ({at})", key.short())
            }
            Self::Paused { key } => write!(f, "`{}`, which is paused", key.short()),
            Self::Failed { key, message } => write!(f, "`{}`, which failed: {message}", key.short()),
            Self::NeedsConsent { key } => {
                write!(f, "`{}`, which would be replaced and needs consent", key.short())
            }
        }
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Drifted => "it was changed outside of Purlin",
            Self::InterruptedUpdate => "its update was interrupted",
            Self::InterruptedCreate => "its creation was interrupted",
            Self::Unconfirmed => "not all of its inputs could be compared with the documents",
            Self::InProgress { message, deletes: false, .. } => {
                return write!(f, "it is in progress: {message}");
            }
            Self::InProgress { message, deletes: true, .. } => {
                return write!(f, "its deletion is in progress: {message}");
            }
            Self::Failed { message } => return write!(f, "it exists only in part: {message}"),
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "it was changed",
            Self::Gone => "it no longer exists",
            Self::NotVisible { seconds } => {
                return write!(f, "its system does not show it yet; it counts as gone in {seconds} s");
            }
            Self::Created => "it was created",
            Self::NotCreated => "it was not created",
            Self::MayExist => "it may have been created",
            Self::MayAppear { seconds } => {
                return write!(
                    f,
                    "it may have been created, and its system may not show it yet; that is decided in {seconds} s"
                );
            }
            Self::CreateRepeated => "its creation is repeated",
            Self::MayBeUpdated => "it may have been updated",
            Self::NotDeleted => "it was not deleted",
            Self::MayDisappear { seconds } => {
                return write!(
                    f,
                    "it may have been deleted, and its system may still show it; that is decided in {seconds} s"
                );
            }
            Self::Forgotten => "it was removed from the state, not deleted",
            Self::ForgottenShared => {
                "it was removed from the state, not deleted: another resource is the same object"
            }
            Self::CurrentInputs => {
                "the call failed with the recorded inputs, and succeeded with those of the current documents"
            }
            Self::FoundByName => "it exists and was not recorded",
        })
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deployment, by, file, now } = self;
        let file = match &**file {
            "-" => "standard input".to_owned(),
            file => format!("`{}`", file.escape_debug()),
        };
        let did = match by {
            DeclaredBy::Declaration => "declared it".to_owned(),
            DeclaredBy::Workload { workload } => format!("declared its workload `{workload}`"),
            DeclaredBy::Definition { of: None } => "provisioned it".to_owned(),
            DeclaredBy::Reference { of: None } => "referred to it".to_owned(),
            DeclaredBy::Definition { of: Some(other) } | DeclaredBy::Reference { of: Some(other) } => {
                return write!(f, "`{}`, which requested it, is no longer in the documents", other.short());
            }
        };
        match now {
            FileNow::Changed => write!(f, "{file} {did} in deployment {deployment}, and no longer does"),
            FileNow::Removed => write!(f, "{file}, which {did} in deployment {deployment}, was removed"),
            FileNow::Empty => {
                write!(f, "{file}, which {did} in deployment {deployment}, no longer contains a document")
            }
            FileNow::Unread => write!(f, "{file}, which {did} in deployment {deployment}, was not read"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Urn;
    use serde_json::json;

    use super::*;
    use crate::Label;
    use crate::driver::PartAction;

    fn departures() -> Vec<Departure> {
        let key = Key::parse("s3.default#shared.a").expect("a key");
        let of = |by, now| Departure { deployment: 12, by, file: "apps/web.yaml".into(), now };
        let web = || DeclaredBy::Workload { workload: "web".into() };
        vec![
            of(DeclaredBy::Declaration, FileNow::Removed),
            of(DeclaredBy::Declaration, FileNow::Changed),
            of(web(), FileNow::Removed),
            of(web(), FileNow::Empty),
            of(DeclaredBy::Definition { of: None }, FileNow::Changed),
            of(DeclaredBy::Definition { of: Some(key) }, FileNow::Changed),
            of(DeclaredBy::Reference { of: None }, FileNow::Unread),
        ]
    }

    #[test]
    fn departures_name_the_file_and_the_deployment() {
        let rendered: Vec<String> = departures().iter().map(ToString::to_string).collect();
        assert_eq!(
            rendered,
            [
                "`apps/web.yaml`, which declared it in deployment 12, was removed",
                "`apps/web.yaml` declared it in deployment 12, and no longer does",
                "`apps/web.yaml`, which declared its workload `web` in deployment 12, was removed",
                "`apps/web.yaml`, which declared its workload `web` in deployment 12, no longer contains a document",
                "`apps/web.yaml` provisioned it in deployment 12, and no longer does",
                "`s3#shared.a`, which requested it, is no longer in the documents",
                "`apps/web.yaml`, which referred to it in deployment 12, was not read",
            ]
        );
    }

    /// One of each, so that a code cannot differ from the serialised form.
    fn reasons() -> Vec<Reason> {
        use Reason::*;
        let other = Key::parse("s3.default#shared.a").expect("a key");
        let (before, now, driver) = ("1".into(), "2".into(), "acme/db".into());
        let departure = departures().pop().map(Box::new);
        vec![
            New,
            Gone,
            InputsChanged,
            InputsMayChange,
            InputsChangedBeforeCheck,
            FoundDifferent,
            DefinitionChanged { before: "a".into(), now: "b".into() },
            DriverChanged { before: "a".into(), now: "b".into() },
            DriverVersionChanged { driver, before, now },
            DriverRebuilt { driver: "acme/db".into() },
            CannotChangeInPlace { path: "/values/a".into() },
            ReplacedIfDiffers { path: "/values/a".into() },
            PartNotPlanned {
                part: "db.main".into(),
                action: PartAction::Delete,
                loses: Some("its rows".into()),
            },
            DriverCannotUpdate { driver: "acme/db".into() },
            ReplaceOnChanges { path: "values.a".into() },
            Tainted,
            ReplaceRequested,
            ReplacedWith { other: other.clone() },
            GoesWith { other: other.clone() },
            Full,
            Unfinished(super::Unfinished::Drifted),
            Unfinished(super::Unfinished::InterruptedUpdate),
            Unfinished(super::Unfinished::InterruptedCreate),
            Unfinished(super::Unfinished::Unconfirmed),
            Unfinished(super::Unfinished::Failed { message: "half way".into() }),
            Unfinished(super::Unfinished::InProgress {
                message: "half way".into(),
                deletes: false,
                in_doubt: false,
            }),
            Adopted { id: "db-1".into(), named: None },
            Adopted { id: "db-1".into(), named: Some("./db-1".into()) },
            NoLongerObserved,
            Observed { id: Label::new("hidden", true) },
            Uses {
                other: Urn::parse("urn:purlin:dev/acme::shop::shared::installation.default::db")
                    .expect("a URN"),
            },
            UsesInstead {
                other: Urn::parse("urn:purlin:dev/acme::shop::shared::installation.default::db")
                    .expect("a URN"),
            },
            LetsGo {
                other: Urn::parse("urn:purlin:dev/acme::shop::shared::installation.default::db")
                    .expect("a URN"),
            },
            NoLongerManaged,
            LeftDocuments { departure: None },
            LeftDocuments { departure },
            Destroyed,
            Replaced,
            ForgottenExternal,
            ForgottenGone,
            ForgottenRetained,
            OldOneRetained,
            OldOneNotRetained { other },
            Refreshed,
            InterruptedDelete,
            MayExist,
            NewOneMayExist,
            MayBeGone,
            Paused,
            BackedOff { message: "no route".into() },
            Refused { message: "there is no `vpc-1`".into() },
            DriftReported,
            NeedsConsent { action: "replace".into() },
            Waits(Wait {
                through: vec![Key::parse("db.default#db").expect("a key")],
                left_out: 0,
                what: Awaited::Missing {
                    target: "vpc `net`".into(),
                    field: "vpcIdRef: net".into(),
                    at: "net.yaml:12:5".into(),
                    near: None,
                },
            }),
        ]
    }

    #[test]
    fn the_whole_chain_of_waits_is_reported() {
        let words = reasons().last().map(ToString::to_string);
        assert_eq!(
            words.as_deref(),
            Some(
                "it waits for `db#db`, which waits for vpc `net`, which no document declares (`vpcIdRef: net`, \
                 net.yaml:12:5)"
            )
        );
    }

    #[test]
    fn a_long_path_is_shortened() {
        let key = |index: usize| Key::parse(&format!("t.default#k{index}")).expect("a key");
        let mut wait = Wait::directly(Awaited::Paused { key: key(0) });
        (1..=100).for_each(|index| wait = wait.via(&key(index)));
        assert_eq!((wait.through.len(), wait.left_out), (32, 68));
        let words = wait.to_string();
        assert!(words.starts_with("it waits for `t#k100`, which waits for `t#k99`"), "{words}");
        assert!(words.ends_with("68 more, the last of which waits for `t#k0`, which is paused"));
    }

    #[test]
    fn a_reason_serialises_as_its_code_and_its_data() {
        for reason in reasons() {
            let json = serde_json::to_value(&reason).expect("JSON");
            assert_eq!(json["reason"], reason.code(), "{json}");
            assert!(!json.to_string().contains("hidden") && !reason.to_string().contains("hidden"));
        }
        let json = |reason: &Reason| serde_json::to_value(reason).expect("JSON");
        let all = reasons();
        let of = |code: &str| all.iter().rfind(|reason| reason.code() == code).map(json);
        assert_eq!(
            of("definition-changed"),
            Some(json!({"reason": "definition-changed", "before": "a", "now": "b"}))
        );
        assert_eq!(of("failed"), Some(json!({"reason": "failed", "error": "half way"})));
        assert_eq!(of("observed"), Some(json!({"reason": "observed", "id": "[secret]"})));
        assert_eq!(
            of("left-documents"),
            Some(json!({"reason": "left-documents", "deployment": 12, "by": "reference", "of": null,
                        "file": "apps/web.yaml", "now": "unread"}))
        );
        assert_eq!(json(&Reason::LeftDocuments { departure: None }), json!({"reason": "left-documents"}));
    }

    #[test]
    fn a_finding_serialises_as_its_code() {
        use Finding::*;
        for finding in [
            Changed,
            Gone,
            Created,
            NotCreated,
            MayExist,
            CreateRepeated,
            MayBeUpdated,
            NotDeleted,
            Forgotten,
            ForgottenShared,
            CurrentInputs,
            FoundByName,
        ] {
            assert_eq!(serde_json::to_value(finding).expect("JSON"), json!({"finding": finding.code()}));
        }
    }
}
