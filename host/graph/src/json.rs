//! How explanations of the graph appear in the published JSON (`docs/src/reference/json.md`): places
//! and criteria are texts there, as in messages.

use std::fmt::Display;

use serde::Serializer;

/// Writes a value as its text.
pub(crate) fn as_text<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// Writes a value as its text, or null if there is none.
pub(crate) fn as_text_or_null<T: Display, S: Serializer>(
    value: &Option<T>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use purlin_model::{Class, Criterion, Key, Location};
    use serde::Serialize;

    use crate::{Candidate, EdgeKind, EdgeReason, Origin, Reason, UnusedDefinition};

    fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).expect("JSON")
    }

    #[test]
    fn explanations_have_the_published_form() {
        let location = Location::new("redis.yaml", 13, 15);
        let criterion = Criterion {
            env_type: Some("production".into()),
            app_id: None,
            env_id: None,
            res_id: None,
            class: Class::new("large").expect("a class"),
            location: location.clone(),
        };
        let winner = Candidate {
            definition: "redis-large".into(),
            type_pattern: "redis".into(),
            criterion,
            specificity: 1,
            location: location.clone(),
        };
        assert_eq!(
            json(&winner),
            concat!(
                r#"{"definition":"redis-large","type":"redis","criterion":"#,
                r#""{env_type: production, class: large}","specificity":1,"at":"redis.yaml:13:15"}"#
            )
        );
        let loser = UnusedDefinition {
            definition: "redis-small".into(),
            type_pattern: "redis".into(),
            criterion: None,
            reasons: vec![Reason::NoCriteria],
            location,
        };
        assert_eq!(
            json(&loser),
            concat!(
                r#"{"definition":"redis-small","type":"redis","criterion":null,"#,
                r#""reasons":["it has no criteria, so it never matches"],"at":"redis.yaml:13:15"}"#
            )
        );
    }

    #[test]
    fn origins_and_reasons_have_the_published_form() {
        let location = Location::new("redis.yaml", 13, 15);
        let from = Key::parse("redis.large#modules.web.externals.cache").expect("a key");
        let read = Origin::Reference { from, placeholder: "${values.a}".into(), location: location.clone() };
        assert_eq!(
            json(&read),
            concat!(
                r#"{"kind":"reference","from":"redis.large#modules.web.externals.cache","#,
                r#""placeholder":"${values.a}","at":"redis.yaml:13:15"}"#
            )
        );
        let shared = Origin::Declared { workload: None, location: location.clone() };
        assert_eq!(json(&shared), r#"{"kind":"declared","workload":null,"at":"redis.yaml:13:15"}"#);
        assert_eq!(json(&Origin::Implicit), r#"{"kind":"implicit"}"#);
        let written = EdgeReason { kind: EdgeKind::Ref, placeholder: None, location: Some(location) };
        assert_eq!(json(&written), r#"{"kind":"ref","at":"redis.yaml:13:15"}"#);
        let bare = EdgeReason { kind: EdgeKind::MatchDependents, placeholder: None, location: None };
        assert_eq!(json(&bare), r#"{"kind":"match-dependents"}"#);
    }
}
