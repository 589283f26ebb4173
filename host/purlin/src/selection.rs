//! A choice of environments by name and by type, and the order in which lists name them.

use std::sync::Arc;

use futures::StreamExt as _;
use purlin_model::matches_pattern;
use purlin_state::{Environment, EnvironmentSummary};

use crate::{Error, Purlin};

/// How many environments are read at once.
const AT_ONCE: usize = 16;
/// The type whose environments come first in every list, and last in a roll-out.
pub(crate) const PRODUCTION: &str = "production";

/// A choice of environments. The default selects all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    patterns: Vec<String>,
    types: Vec<String>,
}

/// An environment that is recorded, with its type.
#[derive(Clone, Debug)]
pub struct SelectedEnvironment {
    /// Its entry in the list of environments.
    pub known: EnvironmentSummary,
    /// The type in its last deployment, or else the declared one; `None` if there is neither.
    pub kind: Option<Arc<str>>,
}

impl Selection {
    /// Selects the environments that match one of `patterns`, and have one of `types`. An empty list
    /// selects all. In a pattern, `*` stands for any text. A pattern with a `/` is compared with
    /// `ORG/APP/ENV` and with `APP/ENV`, any other with the name of the environment.
    pub fn new(patterns: Vec<String>, types: Vec<String>) -> Self {
        Self { patterns, types }
    }

    /// Whether it selects every environment.
    pub fn is_all(&self) -> bool {
        self.patterns.is_empty() && self.types.is_empty()
    }

    /// Whether it selects environments with this name, if the type is right.
    pub fn names(&self, environment: &Environment) -> bool {
        let Environment { org, app, env } = environment;
        let is_like = |pattern: &String| match pattern.contains('/') {
            true => {
                matches_pattern(pattern, &format!("{org}/{app}/{env}"))
                    || matches_pattern(pattern, &format!("{app}/{env}"))
            }
            false => matches_pattern(pattern, env),
        };
        self.patterns.is_empty() || self.patterns.iter().any(is_like)
    }

    /// Whether it selects environments of this type, if the name is right.
    pub fn has_type(&self, kind: Option<&str>) -> bool {
        self.types.is_empty() || kind.is_some_and(|kind| self.types.iter().any(|one| one == kind))
    }
}

impl SelectedEnvironment {
    /// Where it comes in a list: environments of the type `production` first, then the others, each by
    /// organisation, application and name.
    pub fn order(&self) -> (bool, &Environment) {
        (self.kind.as_deref() != Some(PRODUCTION), &self.known.environment)
    }
}

impl Purlin {
    /// The recorded environments of a selection, in the order of lists. Leaves out those of which only
    /// the history is left. One whose documents cannot be read and that declares no type is selected by
    /// every type, so that whoever reads it reports the fault.
    ///
    /// # Errors
    /// [`Error::State`] if the environments cannot be listed.
    pub async fn select(&self, selection: &Selection) -> Result<Vec<SelectedEnvironment>, Error> {
        let known = self.known_environments().await?.into_iter();
        let named = known.filter(|known| !known.is_destroyed() && selection.names(&known.environment));
        let typed = named.map(async |known| {
            let declared = self.workspace().environments.get(&known.environment.env);
            let declared = declared.and_then(|declared| Some(declared.kind.as_ref()?.0.clone()));
            let recorded = self.recorded_type(&known).await;
            let is_selected = |kind: Option<&str>| selection.has_type(kind);
            let (kind, is_selected) = match (recorded, declared) {
                (Ok(Some(kind)), _) | (_, Some(kind)) => (Some(kind.clone()), is_selected(Some(&kind))),
                (Ok(None), None) => (None, is_selected(None)),
                (Err(_), None) => (None, true),
            };
            is_selected.then_some(SelectedEnvironment { known, kind })
        });
        let mut selected: Vec<SelectedEnvironment> = futures::stream::iter(typed)
            .buffer_unordered(AT_ONCE)
            .filter_map(std::future::ready)
            .collect()
            .await;
        selected.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok(selected)
    }

    async fn recorded_type(&self, known: &EnvironmentSummary) -> Result<Option<Arc<str>>, Error> {
        let last = self.last_deployed_of(known).await?;
        Ok(last.map(|last| last.context()).transpose()?.map(|context| context.env.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_select_by_name_and_types_by_type() {
        let environment = |org: &str, app: &str, env: &str| Environment {
            org: org.into(),
            app: app.into(),
            env: env.into(),
        };
        let dev = environment("default", "shop", "dev");
        for (pattern, expected) in [
            ("dev", true),
            ("d*", true),
            ("shop", false),
            ("shop/*", true),
            ("shop/dev", true),
            ("default/shop/dev", true),
            ("default/*", true),
            ("*/dev", true),
            ("other/*", false),
            ("hop/dev", false),
        ] {
            let selection = Selection::new(vec![pattern.into()], Vec::new());
            assert_eq!(selection.names(&dev), expected, "{pattern}");
            assert!(selection.has_type(None), "{pattern}");
        }
        let selection =
            Selection::new(vec!["x".into(), "dev".into()], vec!["production".into(), "staging".into()]);
        assert!(selection.names(&dev) && !selection.is_all() && Selection::default().is_all());
        assert!(selection.has_type(Some("staging")) && !selection.has_type(Some("development")));
        assert!(!selection.has_type(None));
    }

    #[test]
    fn production_comes_first() {
        let selected = |env: &str, kind: Option<&str>| SelectedEnvironment {
            known: EnvironmentSummary {
                environment: Environment { org: "o".into(), app: "a".into(), env: env.into() },
                records: 0,
                installations: 0,
                last: None,
                unready: Default::default(),
                closed_by: None,
                holder: None,
            },
            kind: kind.map(Into::into),
        };
        let mut all = [
            selected("b", Some("development")),
            selected("z", Some("production")),
            selected("a", None),
            selected("y", Some("production")),
        ];
        all.sort_by(|a, b| a.order().cmp(&b.order()));
        assert_eq!(all.map(|one| one.known.environment.env.to_string()), ["y", "z", "a", "b"]);
    }
}
