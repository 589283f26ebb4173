//! Compares the servers and folders that the inputs make drivers use with the grants, before
//! anything is done. All missing grants are reported at once. `explain.rs` reports those that only a
//! call reveals.

use std::sync::Arc;

use purlin_graph::{Node, NodeId};
use purlin_model::driver::Inputs;
use purlin_model::grants::{Lack, Reached, reached};
use purlin_model::{Diagnostic, DirGrant, Within};

use super::Planner;
use crate::driver::Driver;
use crate::failed::Lacking;
use crate::plan::Action;

/// A grant that the driver of a resource lacks.
pub(super) struct Wanted {
    node: NodeId,
    driver: Arc<dyn Driver>,
    reached: Reached,
    /// The HTTP methods that are not granted although the server is.
    methods: Vec<String>,
    /// The grant that allows only reading; `None` if there is no grant at all.
    read_only: Option<DirGrant>,
}

impl Planner<'_> {
    /// Compares the access that the inputs of a resource require with the driver's grants.
    pub(super) fn hold_against_grants(&mut self, node: Node<'_>, driver: &Arc<dyn Driver>, inputs: &Inputs) {
        let Some(grants) = driver.grants() else { return };
        let Some(schema) = driver.manifest().schema(node.key.type_name()) else { return };
        for mut reached in reached(&schema.inputs, inputs) {
            let (mut read_only, mut methods) = (None, Vec::new());
            match grants.lacks(&reached.need) {
                None => {
                    let lacking = grants.lacks_methods(&reached.need, &reached.methods);
                    if lacking.is_empty() {
                        continue;
                    }
                    methods = lacking.into_iter().map(str::to_owned).collect();
                    // Methods that are sent later are suggested in the same grant.
                    let later = grants.lacks_methods(&reached.need, &reached.later);
                    let all: Vec<&str> = methods.iter().map(String::as_str).chain(later).collect();
                    reached.need.pattern = format!("{} {}", all.join(","), reached.need.pattern);
                }
                Some(Lack::Missing) => {}
                Some(Lack::ReadOnly(dir)) => read_only = Some(dir.clone()),
            }
            let driver = Arc::clone(driver);
            self.wanted.push(Wanted { node: node.id, driver, reached, methods, read_only });
        }
    }

    /// A fault for each definition and missing grant, and the list of missing grants for each
    /// driver.
    pub(super) fn lacking(&self) -> (Vec<Diagnostic>, Vec<(Arc<str>, Lacking)>) {
        let mut faults: Vec<Diagnostic> = Vec::new();
        let mut all: Vec<(Arc<str>, Lacking)> = Vec::new();
        for wanted in self.wanted.iter().filter(|wanted| self.counts(wanted)) {
            let (Some(node), Some(granted)) = (self.graph.node(wanted.node), wanted.driver.grants()) else {
                continue;
            };
            let (driver, need) = (wanted.driver.known_as(), &wanted.reached.need);
            let fault = self.lack(driver, node, wanted);
            // Many resources of one definition share one fault.
            if !faults.contains(&fault) {
                faults.push(fault);
            }
            let known = all.iter().position(|(name, _)| **name == *driver);
            let at = known.unwrap_or_else(|| {
                all.push((driver.into(), Lacking { needs: Vec::new(), granted: granted.clone() }));
                all.len() - 1
            });
            if let Some((_, lacking)) = all.get_mut(at)
                && !lacking.needs.contains(need)
            {
                lacking.needs.push(need.clone());
            }
        }
        (faults, all)
    }

    /// Whether the driver is called for this resource at all. The methods that it sends are certain
    /// only for a creation; an observed resource, for example, is only read.
    fn counts(&self, wanted: &Wanted) -> bool {
        let step = self.step_of.get(wanted.node.index());
        let step = step.and_then(|step| self.decided.steps.get(*step as usize));
        step.is_some_and(|step| match step.action {
            Action::None => false,
            Action::Create | Action::Replace => true,
            _ => wanted.methods.is_empty(),
        })
    }

    fn lack(&self, driver: &str, node: Node<'_>, wanted: &Wanted) -> Diagnostic {
        let need = &wanted.reached.need;
        if let Some(dir) = &wanted.read_only {
            let path = wanted.reached.path.as_deref().unwrap_or(&need.pattern);
            let message = format!(
                "`{driver}` may not write `{path}`: `{}` is granted read-only (`mode: ro`)",
                dir.guest
            );
            return Diagnostic::error("read-only-grant", message)
                .at(&dir.location)
                .related(&node.recipe.location, "this definition writes there")
                .help("set `mode: rw` there");
        }
        let message = match need.capability.as_str() {
            "http" if wanted.methods.is_empty() => {
                format!("`{driver}` is not granted requests to `{}`", need.pattern)
            }
            // The pattern begins with the methods.
            "http" => {
                let url = need.pattern.split_once(' ').map_or(&*need.pattern, |(_, url)| url);
                format!("`{driver}` is not granted {} requests to `{url}`", wanted.methods.join(" and "))
            }
            "tcp" => format!("`{driver}` is not granted connections to `{}`", need.pattern),
            _ => format!("`{driver}` is not granted the folder `{}`", need.pattern),
        };
        let fault = Diagnostic::error("not-granted", message);
        let within = Within::Definition(&node.recipe.location);
        self.options.rules.at(fault, within, &wanted.reached.pointer, false)
    }
}
