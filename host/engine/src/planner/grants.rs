//! Compares the servers and folders that the inputs make drivers use with the grants, before
//! anything is done. All missing grants are reported at once. `explain.rs` reports those that only a
//! call reveals, in the same words (`missing_grants.rs`).

use std::sync::Arc;

use purlin_graph::{Node, NodeId};
use purlin_model::driver::Inputs;
use purlin_model::grants::{InputNeed, Lack, needs_of_inputs};
use purlin_model::{Diagnostic, DirGrant, DocumentPart};

use super::Planner;
use crate::driver::Driver;
use crate::failed::Lacking;
use crate::missing_grants;
use crate::plan::Action;

/// A grant that the driver of a resource lacks.
pub(super) struct Wanted {
    node: NodeId,
    driver: Arc<dyn Driver>,
    reached: InputNeed,
    /// The HTTP methods that are not granted although the server is.
    methods: Vec<String>,
    /// The grant that allows only reading; `None` if there is no grant at all.
    read_only: Option<DirGrant>,
}

impl Planner<'_> {
    /// Compares the access that the inputs of a resource require with the driver's grants.
    pub(super) fn check_grants(&mut self, node: Node<'_>, driver: &Arc<dyn Driver>, inputs: &Inputs) {
        let Some(grants) = driver.grants() else { return };
        let Some(schema) = driver.info().schema(node.key.type_name()) else { return };
        for mut reached in needs_of_inputs(&schema.inputs, inputs) {
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
    pub(super) fn missing_grants(&self) -> (Vec<Diagnostic>, Vec<(Arc<str>, Lacking)>) {
        let mut faults: Vec<Diagnostic> = Vec::new();
        let mut all: Vec<(Arc<str>, Lacking)> = Vec::new();
        for wanted in self.wanted.iter().filter(|wanted| self.counts(wanted)) {
            let (Some(node), Some(granted)) = (self.graph.node(wanted.node), wanted.driver.grants()) else {
                continue;
            };
            let (driver, need) = (wanted.driver.known_as(), &wanted.reached.need);
            let fault = self.fault(driver, node, wanted);
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

    fn fault(&self, driver: &str, node: Node<'_>, wanted: &Wanted) -> Diagnostic {
        let reached = &wanted.reached;
        let definition = &node.recipe.location;
        if let Some(grant) = &wanted.read_only {
            let path = reached.path.as_deref().unwrap_or(&reached.need.pattern);
            return missing_grants::read_only(driver, path, grant, Some(definition));
        }
        let fault = missing_grants::not_granted(driver, &reached.need, &wanted.methods);
        self.options.rules.at(fault, DocumentPart::Definition(definition), &reached.pointer, false)
    }
}
