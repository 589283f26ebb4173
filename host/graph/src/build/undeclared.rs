//! Messages for resources of the type `workload` that no document declares: they can only be
//! mistakes, because a workload has a document (SPEC §5).

use purlin_expression::did_you_mean;
use purlin_model::{Class, Diagnostic, Key};

use super::{Builder, Spot};

impl<'a> Builder<'a> {
    /// Reports a workload that no document declares; `by` is the workload that refers to it.
    pub(super) fn undeclared_workload(&mut self, key: &Key, spot: Option<Spot<'a>>, by: Option<&str>) {
        let message = match (by, key.id().split_once('.')) {
            (Some(_), Some((_, name))) => format!("no document declares a workload `{name}`"),
            _ => format!("no document declares the workload `{key}`"),
        };
        let fault = Diagnostic::error("unknown-workload", message);
        let fault = match spot {
            Some(spot) => fault.at(spot.location).spanning(spot.length),
            None => fault,
        };
        let fault = self.nearest_workload(fault, key, by);
        self.faults.push(fault);
    }

    /// Adds the workload that the key probably means.
    fn nearest_workload(&self, fault: Diagnostic, key: &Key, by: Option<&str>) -> Diagnostic {
        let workloads = self.docs.deployment.workloads.iter().map(|workload| &*workload.name);
        // The one that refers would depend on itself.
        let declared: Vec<&str> = workloads.filter(|name| by != Some(*name)).collect();
        // A reference without an id takes that of the referring resource.
        if let Some(owner) = key.workload().filter(|owner| declared.contains(owner))
            && key.id() != format!("modules.{owner}")
        {
            return fault
                .fact(format!("the workload `{owner}` depends on the resource with this id"))
                .help(format!(
                    "remove it, because the resource cannot depend on `{owner}` in return; another workload is \
                     named by its id: `workload#modules.NAME`"
                ));
        }
        let name = ["modules.", "shared."].iter().find_map(|prefix| key.id().strip_prefix(prefix));
        let name = name.unwrap_or(key.id());
        if declared.contains(&name) {
            return fault.help(match (key.class(), by) {
                (Class::DEFAULT, Some(_)) => {
                    format!("write `{name}: {{type: workload}}`, without `id`")
                }
                (Class::DEFAULT, None) => format!(
                    "write `workload#modules.{name}`, or in a Score file `resources: {{{name}: {{type: workload}}}}`"
                ),
                (class, _) => format!("workloads have the class `default`: leave out the class `{class}`"),
            });
        }
        let help = match did_you_mean(name, "workloads", declared) {
            help if help.is_empty() => "remove it, or add the Score file of the workload".to_owned(),
            help => help,
        };
        fault.help(help)
    }
}
