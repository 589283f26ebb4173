//! The environment that locks and snapshots refer to.

use std::fmt;
use std::sync::Arc;

use purlin_model::{Context, Urn};
use serde::Serialize;

/// An environment of an application of an organisation: the common part of the URNs of everything
/// in it.
///
/// It serialises in the published, versioned form: `org`, `app` and `env` in
/// `docs/src/reference/json.md`. The state records it in another form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Environment {
    /// Organisation.
    pub org: Arc<str>,
    /// Application.
    pub app: Arc<str>,
    /// Id of the environment.
    pub env: Arc<str>,
}

impl Environment {
    /// The environment of a context.
    pub fn of(context: &Context) -> Self {
        Self { org: context.org.clone(), app: context.app.clone(), env: context.env.id.clone() }
    }

    /// The environment of a URN; `None` for text that is not a URN of Purlin.
    pub fn of_urn(urn: &Urn) -> Option<Self> {
        let (env, org, app) = urn.place()?;
        Some(Self { org: org.into(), app: app.into(), env: env.into() })
    }

    /// Where a state keeps what concerns all of its environments: roll-outs, and the audit of what was done to
    /// the whole state. It is none itself: it
    /// has no resources, and no list names it. No other environment has empty names.
    pub fn fleet() -> Self {
        let empty: Arc<str> = "".into();
        Self { org: Arc::clone(&empty), app: Arc::clone(&empty), env: empty }
    }

    /// The prefix of the URNs of everything in it.
    pub fn urn_prefix(&self) -> String {
        format!("urn:purlin:{}/{}::{}::", self.env, self.org, self.app)
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.env.is_empty() {
            return f.write_str("the state as a whole");
        }
        write!(f, "{} of {}/{}", self.env, self.org, self.app)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_urn_lies_in_its_environment() {
        let environment = Environment { org: "acme".into(), app: "shop".into(), env: "dev".into() };
        let urn = Urn::parse("urn:purlin:dev/acme::shop::web::dns.default::modules.web").expect("a URN");
        assert!(urn.as_str().starts_with(&environment.urn_prefix()));
        assert_eq!(Environment::of_urn(&urn), Some(environment));
    }

    #[test]
    fn an_environment_has_the_published_form() {
        let environment = Environment { org: "acme".into(), app: "shop".into(), env: "dev".into() };
        let json = serde_json::to_string(&environment).expect("JSON");
        assert_eq!(json, r#"{"org":"acme","app":"shop","env":"dev"}"#);
    }
}
