//! The consequences of recipes and params: references, co-provisioned resources, and every fault
//! that shows before anything runs (SPEC §4).

use std::collections::HashSet;
use std::sync::Arc;

use purlin_expression::{did_you_mean, nearest};
use purlin_model::{
    Absent, Access, ContextField, Descriptor, Diagnostic, Key, ManifestPart, Path, Placeholder, Reference,
    Template, Value,
};

use super::{Builder, Pending, Spot};
use crate::docs::{self, Match, Params, Scope, Source};
use crate::nested_text::{self, Place, Root};
use crate::node::{EdgeKind, NodeId};

impl<'a> Builder<'a> {
    /// Analyses until nothing new is found.
    pub(super) fn expand(&mut self) {
        loop {
            while let Some(work) = self.queue.pop() {
                match work {
                    Pending::Recipe(node) => self.recipe(node),
                    Pending::Params(node) => self.params(node),
                }
            }
            // Params of params can be followed once they exist; a node's params never change.
            let (ready, waiting): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.links).into_iter().partition(|(_, giver, _)| {
                    self.nodes.get(*giver).is_some_and(|(_, data)| data.params.is_some())
                });
            self.links = waiting;
            if ready.is_empty() {
                break;
            }
            for (node, giver, reference) in ready {
                for text in nested_text::behind(self.docs, &self.nodes, Scope::Recipe(giver), reference) {
                    self.walk(node, text.template, text.scope);
                }
            }
        }
    }

    fn recipe(&mut self, node: NodeId) {
        let Some(recipe) = self.docs.recipe(&self.nodes, node) else { return };
        for template in recipe.templates() {
            self.walk(node, template, Scope::Recipe(node));
        }
        for (index, provision) in (0_u32..).zip(&recipe.provision) {
            let Some(here) = self.nodes.key(node) else { return };
            let key = Key::relative(&provision.descriptor, here);
            let spot = Spot { location: &provision.location, length: 0 };
            self.second_implicit(&provision.descriptor, &key, spot);
            let added = self.node(key, Some(spot));
            if provision.is_dependent {
                self.edge(added, node, EdgeKind::CoProvision);
            }
            self.ask(added, Source::Provision { by: node, index });
        }
    }

    fn params(&mut self, node: NodeId) {
        match self.docs.params(&self.nodes, node) {
            Params::None => {}
            Params::Given(template, scope) => self.walk(node, template, scope),
            Params::Workload(index, workload) => {
                self.walk(node, &workload.metadata, Scope::Workload(index));
                self.walk(node, &workload.spec, Scope::Workload(index));
            }
        }
    }

    /// Adds every placeholder that `owner` needs to fill in a template.
    fn walk(&mut self, owner: NodeId, template: &'a Template, scope: Scope) {
        let mut seen: HashSet<Place> = HashSet::new();
        let mut pending = vec![(template, scope)];
        while let Some((template, scope)) = pending.pop() {
            template.placeholders(&mut |placeholder| {
                self.placeholder(owner, scope, placeholder);
                // Params are followed by their own work and by links, once they exist.
                if matches!(placeholder.reference, Reference::Param(_) | Reference::Manifest(_)) {
                    return;
                }
                for text in nested_text::behind(self.docs, &self.nodes, scope, &placeholder.reference) {
                    if seen.insert(text.place) {
                        pending.push((text.template, text.scope));
                    }
                }
            });
        }
    }

    fn placeholder(&mut self, owner: NodeId, scope: Scope, placeholder: &'a Placeholder) {
        match (&placeholder.reference, scope) {
            (Reference::Context(field), _) => self.context(*field, scope, placeholder),
            (Reference::Resource(descriptor, access), _) => {
                self.resource(owner, scope, placeholder, descriptor, access);
            }
            (Reference::Field(_), _) => self.fields.push((owner, scope, placeholder)),
            (Reference::Selected(..), _) => self.selectors.push((owner, scope, placeholder)),
            (Reference::Value(path), _) => {
                if let Err((names, index)) = nested_text::find(self.docs, &self.nodes, Root::Values, path) {
                    self.missing("unknown-value", "value", path, index, names, placeholder);
                }
            }
            (Reference::Param(_), Scope::Recipe(giver)) => {
                self.params_read.push((giver, placeholder));
                self.link(owner, giver, &placeholder.reference);
            }
            (Reference::Manifest(path), Scope::Recipe(giver)) => {
                self.manifest(giver, path, placeholder);
                self.link(owner, giver, &placeholder.reference);
            }
            (Reference::Metadata(path), Scope::Workload(index)) => {
                let root = Root::Metadata(index);
                if let Err((names, index)) = nested_text::find(self.docs, &self.nodes, root, path) {
                    self.missing("unknown-metadata", "metadata", path, index, names, placeholder);
                }
            }
            (Reference::Named(name, path), Scope::Workload(index)) => {
                match self.docs.named(&self.nodes, scope, name) {
                    Some(target) => self.called(owner, target, path, placeholder),
                    None => {
                        let workload = self.docs.workload(index);
                        let names = workload.iter().flat_map(|w| &w.resources).map(|request| &*request.name);
                        let message = format!("the workload declares no resource `{name}`");
                        let help = did_you_mean(name, "resources", names);
                        self.wrong(placeholder, "unknown-resource", message, help);
                    }
                }
            }
            (Reference::Shared(name, path), Scope::Workload(_)) => {
                match self.docs.shared(&self.nodes, name) {
                    Some(target) => self.called(owner, target, path, placeholder),
                    None => {
                        let names = self.docs.deployment.shared.iter().map(|request| &*request.name);
                        let message = format!("there is no shared resource `{name}`");
                        let help = did_you_mean(name, "shared resources", names);
                        self.wrong(placeholder, "unknown-resource", message, help);
                    }
                }
            }
            (Reference::Param(_), _) => {
                let help = "only recipes read `params`; deployments read `values`";
                self.wrong(placeholder, "unknown-root", "there are no `params` here", help);
            }
            (Reference::Manifest(_), _) => {
                let help = "only recipes read `manifest`";
                self.wrong(placeholder, "unknown-root", "there is no `manifest` here", help);
            }
            (Reference::Installation(_) | Reference::Bundle(_), _) => {
                let help = "only bundles read `installation`";
                self.wrong(placeholder, "unknown-root", "there is no `installation` here", help);
            }
            // `requirers` finds the owners of such a recipe, and `build` accepts it only once it is
            // filled in.
            (Reference::Named(..), Scope::Recipe(_)) => {}
            (Reference::Metadata(_) | Reference::Named(..) | Reference::Shared(..), _) => {
                let help = "name the resource by its descriptor";
                self.wrong(placeholder, "unknown-root", "only a workload's own document can read this", help);
            }
        }
    }

    fn wrong(
        &mut self,
        placeholder: &Placeholder,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.faults.push(docs::at(placeholder, Diagnostic::error(code, message).help(help)));
    }

    /// Adds the resource that a placeholder reads, and the edge to it.
    fn resource(
        &mut self,
        owner: NodeId,
        scope: Scope,
        placeholder: &'a Placeholder,
        descriptor: &'a Descriptor,
        access: &'a Access,
    ) {
        let mut key = std::mem::take(&mut self.scratch);
        let of_requirement = placeholder.is_of_requirement;
        match self.docs.resource(&self.nodes, scope, descriptor, of_requirement, &mut key) {
            Ok(named) => {
                // It was written from parts that are names, so it can always be parsed again.
                let target = named.or_else(|| {
                    let key = Key::parse(&key).ok()?;
                    self.second_implicit(descriptor, &key, placeholder.into());
                    Some(self.node(key, Some(placeholder.into())))
                });
                if let Some(target) = target {
                    self.edge(owner, target, EdgeKind::Reference);
                    self.access(target, access, placeholder);
                }
            }
            Err(fault) => self.faults.push(docs::at(placeholder, fault.diagnose(descriptor))),
        }
        self.scratch = key;
    }

    /// Records once that `owner` depends on the params of `giver`: for texts that use each other
    /// twice, the number of links would explode.
    fn link(&mut self, owner: NodeId, giver: NodeId, reference: &'a Reference) {
        if giver != owner && self.linked.insert((owner, giver, reference)) {
            self.links.push((owner, giver, reference));
        }
    }

    /// Checks that a resource was written as a manifest, and that its head has the requested field.
    /// Its params are known only at evaluation.
    fn manifest(&mut self, node: NodeId, path: &Path, placeholder: &Placeholder) {
        if may_be_absent(placeholder) {
            return;
        }
        match self.docs.manifest_of(&self.nodes, node).map(|manifest| manifest.part(path)) {
            None => {
                let fault = docs::no_manifest(self.nodes.key(node));
                self.faults.push(docs::at(placeholder, fault));
            }
            Some(ManifestPart::Nothing(names)) => {
                let fault =
                    docs::not_in_manifest(self.nodes.key(node), path, names.iter().map(|name| &**name));
                self.faults.push(docs::at(placeholder, fault));
            }
            Some(_) => {}
        }
    }

    /// A resource read by a workload's name for it. A resource that the workload's own document
    /// reads is a dependency of the workload [G].
    fn called(&mut self, owner: NodeId, target: NodeId, path: &Path, placeholder: &Placeholder) {
        let given = self.nodes.get(owner).and_then(|(_, data)| data.params);
        let own = matches!(given, Some(Source::Workload(_)));
        let kind = if own { EdgeKind::Dependency } else { EdgeKind::Reference };
        self.edge(owner, target, kind);
        self.output(target, path, placeholder);
    }

    fn context(&mut self, field: ContextField, scope: Scope, placeholder: &Placeholder) {
        if scope == Scope::Values && field.path().starts_with("res.") {
            let fault = Diagnostic::error(
                "unknown-context",
                "the deployment's `values` belong to no resource, so there is no `context.res`",
            )
            .help("read it where the value is used");
            self.faults.push(docs::at(placeholder, fault));
        }
    }

    /// Checks an access to a resource as far as it is known.
    pub(super) fn access(&mut self, target: NodeId, access: &Access, placeholder: &Placeholder) {
        match access {
            Access::Guresid => {}
            Access::Outputs(path) => self.output(target, path, placeholder),
            Access::Account => {
                let Some(recipe) = self.docs.recipe(&self.nodes, target) else { return };
                if recipe.account.is_none() {
                    let who = recipe.name.as_deref().unwrap_or("the built-in echo");
                    let key = self.nodes.key(target).map_or("", Key::as_str);
                    let fault = Diagnostic::error("unknown-account", format!("`{key}` has no account"))
                        .help(format!("give the definition `{who}` a `driver_account`"));
                    self.faults.push(docs::at(placeholder, fault));
                }
            }
            Access::Values(path) => {
                let Some(recipe) = self.docs.recipe(&self.nodes, target) else { return };
                if let Err((names, index)) = nested_text::below(&recipe.values, path, 0) {
                    self.missing("unknown-input", "input value", path, index, names, placeholder);
                }
            }
        }
    }

    pub(super) fn output(&mut self, target: NodeId, path: &Path, placeholder: &Placeholder) {
        let Some(name) = path.0.first().filter(|_| !may_be_absent(placeholder)) else { return };
        let Some((key, data)) = self.nodes.get(target) else { return };
        let number = match data.found {
            Match::Missing => return,
            // All outputs of a bundle are declared.
            Match::Bundle(index) => {
                let known = self.docs.installation(index).map(|one| &*one.outputs).unwrap_or_default();
                if !known.contains(name) {
                    let fault =
                        Diagnostic::error("unknown-output", format!("`{key}` has no output `{name}`"))
                            .help(did_you_mean(name, "outputs", known.iter().map(|known| &**known)));
                    self.faults.push(docs::at(placeholder, fault));
                }
                return;
            }
            Match::Echo => u32::MAX,
            Match::Definition(row) => row.definition,
        };
        // A definition has one type; the echo and patterns can have many.
        let several = self.docs.definition_index.definition(number).is_none_or(|found| found.is_pattern());
        let cached = (number, Box::from(if several { key.type_name() } else { "" }));
        let known = match self.known_outputs.get(&cached) {
            Some(known) => known,
            None => {
                let Some(recipe) = self.docs.recipe(&self.nodes, target) else { return };
                let names = self.outputs.outputs(key.type_name(), recipe);
                self.known_outputs.entry(cached).or_insert(names)
            }
        };
        let Some(known) = known else { return };
        if !known.iter().any(|known| **known == **name) {
            let fault = Diagnostic::error("unknown-output", format!("`{key}` has no output `{name}`"));
            let fault = match without_outputs(placeholder) {
                _ if data.found == Match::Echo => self.echo_has_none(key, fault),
                Some(written) => {
                    fault.help(format!("leave `.outputs` out, as Score does: write `{written}`"))
                }
                None => fault.help(did_you_mean(name, "outputs", known.iter().map(String::as_str))),
            };
            self.faults.push(docs::at(placeholder, fault));
        }
    }

    fn missing(
        &mut self,
        code: &'static str,
        what: &str,
        path: &Path,
        index: usize,
        names: Vec<&str>,
        placeholder: &Placeholder,
    ) {
        if may_be_absent(placeholder) {
            return;
        }
        let name = path.0.get(index).map_or("", |name| name);
        let plural = match code {
            "unknown-value" => "values",
            "unknown-param" => "params",
            "unknown-input" => "input values",
            _ => "names",
        };
        let place = match index {
            0 => String::new(),
            _ => format!(" in `{}`", Path(path.0.get(..index).unwrap_or(&[]).into())),
        };
        let help = if code == "unknown-value" && index == 0 && nearest(name, names.iter().copied()).is_none()
        {
            format!(
                "write `values: {{{name}: …}}` into a Deployment or the environment in purlin.yaml, or add `--set {name}=VALUE`"
            )
        } else {
            did_you_mean(name, if index == 0 { plural } else { "names" }, names)
        };
        let fault = Diagnostic::error(code, format!("there is no {what} `{name}`{place}")).help(help);
        self.faults.push(docs::at(placeholder, fault));
    }

    /// The params that developers give resources and that no placeholder reads, given those that are
    /// read, in order of the resources.
    fn not_named(&self, mut read: &[(NodeId, &'a Placeholder)]) -> Vec<(NodeId, Box<[Arc<str>]>)> {
        let mut found = Vec::new();
        for (node, data) in self.nodes.ids().zip(self.nodes.map.values()) {
            read = read.get(read.partition_point(|(giver, _)| *giver < node)..).unwrap_or_default();
            let (Some(Source::Request { .. } | Source::Shared(_)), Params::Given(template, _)) =
                (data.params, self.docs.params(&self.nodes, node))
            else {
                continue;
            };
            let named = read.iter().take_while(|(giver, _)| *giver == node);
            let is_named = |name: &Arc<str>| {
                named.clone().any(|(_, placeholder)| match &placeholder.reference {
                    Reference::Param(path) => path.0.first().is_none_or(|read| read == name),
                    _ => true,
                })
            };
            let names: Box<[Arc<str>]> = match template {
                Template::Map(entries) => entries.keys().filter(|name| !is_named(name)).cloned().collect(),
                Template::Constant(Value::Map(map)) => {
                    map.keys().filter(|name| !is_named(name)).cloned().collect()
                }
                _ => continue,
            };
            if !names.is_empty() {
                found.push((node, names));
            }
        }
        found
    }

    /// Checks that need all params: that the params that are read exist, and that no text refers to
    /// itself.
    pub(super) fn check_text(&mut self) {
        let mut read = std::mem::take(&mut self.params_read);
        read.sort_by_key(|(giver, _)| *giver);
        self.params_not_named = self.not_named(&read);
        for (giver, placeholder) in read.into_iter().filter(|(_, placeholder)| !may_be_absent(placeholder)) {
            let Reference::Param(path) = &placeholder.reference else { continue };
            let Err((names, index)) = nested_text::find(self.docs, &self.nodes, Root::Params(giver), path)
            else {
                continue;
            };
            let is_of_workload = match (self.docs.params(&self.nodes, giver), &*path.0) {
                (Params::Workload(_, workload), [name]) => {
                    **name == *"id" || (**name == *"profile" && workload.profile.is_some())
                }
                _ => false,
            };
            if is_of_workload {
                continue;
            }
            let before = self.faults.len();
            self.missing("unknown-param", "param", path, index, names, placeholder);
            let given = self.nodes.get(giver).and_then(|(_, data)| data.params);
            let params_location = given.and_then(|source| self.docs.location(&self.nodes, source));
            let key = self.nodes.key(giver).map_or("", Key::as_str);
            if let Some(fault) = self.faults.get_mut(before) {
                match params_location {
                    Some(location) => {
                        fault.related.push((location.clone(), format!("`{key}` is used here")));
                    }
                    None => fault.notes.push(format!("`{key}` has no params")),
                }
            }
        }
        self.check_endless();
    }

    fn check_endless(&mut self) {
        let workloads = (0_u32..).zip(&self.docs.deployment.workloads);
        let metadata = workloads.map(|(index, _)| Root::Metadata(index));
        // Only params from a recipe can read other params.
        let is_from_recipe = |node: &NodeId| {
            matches!(self.docs.params(&self.nodes, *node), Params::Given(_, Scope::Recipe(_)))
        };
        let params = self.nodes.ids().filter(is_from_recipe).map(Root::Params);
        let roots = std::iter::once(Root::Values).chain(metadata).chain(params);
        let roots = roots.flat_map(|root| nested_text::texts(self.docs, &self.nodes, root, &Path::default()));
        if let Some(way) = nested_text::endless(self.docs, &self.nodes, roots) {
            let mut fault = Diagnostic::error(
                "loop",
                "the placeholder refers to itself, or too many placeholders refer to one another",
            );
            if let Some(last) = way.last() {
                fault = docs::at(last, fault);
            }
            for step in way {
                fault.related.push((step.location.clone(), format!("by {}", step.source())));
            }
            self.faults.push(fault.help("replace one of them with its value"));
        }
    }
}

/// Whether a placeholder is optional or has a default.
pub(crate) fn may_be_absent(placeholder: &Placeholder) -> bool {
    placeholder.modifiers.as_ref().is_some_and(|modifiers| modifiers.absent != Absent::Fault)
}

/// A placeholder of a workload's own document without the `.outputs` that definitions write and
/// Score omits.
fn without_outputs(placeholder: &Placeholder) -> Option<String> {
    let (Reference::Named(_, path) | Reference::Shared(_, path)) = &placeholder.reference else {
        return None;
    };
    let (first, rest) = path.0.split_first()?;
    let source = placeholder.source();
    let shorter = source.replacen(".outputs", "", 1);
    (&**first == "outputs" && !rest.is_empty() && shorter != *source).then_some(shorter)
}
