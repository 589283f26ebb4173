//! Resolves the context of documents (SPEC §9, recorded context) from the Deployment, or else the
//! caller, or else the Workspace, first for the environment and then in general. If several sources
//! set a part of the context, they must agree.

use std::sync::Arc;

use purlin_documents::Loaded;
use purlin_expression::did_you_mean;
use purlin_model::{
    Context, ContextDefaults, ContextPlaces, DeclaredEnvironment, Diagnostic, EnvironmentId, Location,
    Workspace,
};

/// A context, with data that is needed later.
pub(crate) struct ResolvedContext {
    pub(crate) context: Context,
    /// Where documents set the type of the environment, or its namespace.
    pub(crate) kind_place: Option<Location>,
    pub(crate) namespace_place: Option<Location>,
    /// The fault of an environment that the Workspace does not declare.
    pub(crate) undeclared: Option<Box<Diagnostic>>,
}

/// One part of the context: its name, its option, and where it is stored.
struct ContextPart {
    name: &'static str,
    option: &'static str,
    field: fn(&ContextDefaults) -> &Option<Arc<str>>,
    place: fn(&ContextPlaces) -> &Option<Location>,
}

const ORG: ContextPart = ContextPart {
    name: "organisation",
    option: "--org",
    field: |context| &context.org,
    place: |places| &places.org,
};
const APP: ContextPart = ContextPart {
    name: "application",
    option: "--app",
    field: |context| &context.app,
    place: |places| &places.app,
};
const ENV: ContextPart = ContextPart {
    name: "environment",
    option: "--env",
    field: |context| &context.env,
    place: |places| &places.env,
};
const KIND: ContextPart = ContextPart {
    name: "environment type",
    option: "--env-type",
    field: |context| &context.env_type,
    place: |places| &places.env_type,
};
const NAMESPACE: ContextPart = ContextPart {
    name: "namespace",
    option: "--namespace",
    field: |context| &context.namespace,
    place: |places| &places.namespace,
};

/// The Workspace's declaration of a part for one environment.
type Declared<'a> = Option<&'a (Arc<str>, Location)>;

struct Resolver<'a> {
    loaded: &'a Loaded,
    flags: &'a ContextDefaults,
    defaults: &'a ContextDefaults,
    faults: &'a mut Vec<Diagnostic>,
}

/// A field of the Workspace's declaration of an environment, with its location.
type DeclaredField = fn(&DeclaredEnvironment) -> &Option<(Arc<str>, Location)>;

/// Resolves the context of documents.
pub(crate) fn resolve_context(
    loaded: &Loaded,
    flags: &ContextDefaults,
    workspace: Option<&Workspace>,
    deployment: &str,
    faults: &mut Vec<Diagnostic>,
) -> ResolvedContext {
    let nothing = ContextDefaults::default();
    let defaults = workspace.map_or(&nothing, |workspace| &workspace.defaults);
    let mut resolver = Resolver { loaded, flags, defaults, faults };
    let (org, _) = resolver.pick(&ORG, None, "default");
    let (app, _) = resolver.pick(&APP, None, "default");
    let (id, id_place) = resolver.pick(&ENV, None, "development");
    let declared = workspace.and_then(|workspace| workspace.environments.get(&id));
    let declared_part = |field: DeclaredField| declared.and_then(|declared| field(declared).as_ref());
    let (kind, kind_place) = resolver.pick(&KIND, declared_part(|declared| &declared.kind), "development");
    let (namespace, namespace_place) =
        resolver.pick(&NAMESPACE, declared_part(|declared| &declared.namespace), &id);
    let undeclared = workspace
        .filter(|workspace| declared.is_none() && !workspace.environments.is_empty())
        .map(|workspace| Box::new(undeclared(&id, id_place.as_ref(), workspace)));
    ResolvedContext {
        context: Context {
            org,
            app,
            env: EnvironmentId { id, kind },
            namespace,
            deployment: deployment.into(),
        },
        kind_place,
        namespace_place,
        undeclared,
    }
}

/// The rule of [`is_context_name`], for people.
pub(crate) const NAME_RULE: &str =
    "a name in the context has at least one character, and no spaces, `/` or `:`";

/// Whether this can be the name of an organisation, an application or an environment. URNs are made of
/// these names, so they must not contain its separators.
pub(crate) fn is_context_name(name: &str) -> bool {
    let separates = |c: char| matches!(c, '/' | ':') || c.is_whitespace() || c.is_control();
    !name.is_empty() && !name.contains(separates)
}

impl Resolver<'_> {
    fn pick(
        &mut self,
        part: &ContextPart,
        declared: Declared<'_>,
        fallback: &str,
    ) -> (Arc<str>, Option<Location>) {
        let written = (part.field)(&self.loaded.context).as_ref();
        let place = (part.place)(&self.loaded.places).as_ref();
        let flag = (part.field)(self.flags).as_ref();
        self.agree(part, (written, place), flag, declared);
        let chosen = written
            .or(flag)
            .or(declared.map(|(declared, _)| declared))
            .or((part.field)(self.defaults).as_ref())
            .cloned()
            .unwrap_or_else(|| fallback.into());
        let place = match (written, flag) {
            (Some(_), _) => place.cloned(),
            (None, Some(_)) => None,
            (None, None) => declared.map(|(_, place)| place.clone()),
        };
        // The empty namespace is the global one.
        let nothing = chosen.is_empty() && part.option != NAMESPACE.option;
        if nothing || !(chosen.is_empty() || is_context_name(&chosen)) {
            let message = match nothing {
                true => format!("the {} has no name", part.name),
                false => format!("`{}` cannot be the name of the {}", chosen.escape_debug(), part.name),
            };
            let fault = Diagnostic::error("context-name", message).help(NAME_RULE);
            self.faults.push(match &place {
                Some(place) => fault.at(place),
                None => fault,
            });
        }
        (chosen, place)
    }

    fn agree(
        &mut self,
        part: &ContextPart,
        (written, place): (Option<&Arc<str>>, Option<&Location>),
        flag: Option<&Arc<str>>,
        declared: Declared<'_>,
    ) {
        let ContextPart { name, option, .. } = part;
        let at = |fault: Diagnostic, place: Option<&Location>, word: &str| match place {
            Some(place) => fault.at(place).spanning(word.chars().count()),
            None => fault,
        };
        if let (Some(written), Some(flag)) = (written, flag)
            && written != flag
        {
            let message = format!(
                "the Deployment sets the {name} to `{written}`, but the command line sets `{option} {flag}`"
            );
            let fault = Diagnostic::error("context-conflict", message)
                .help(format!("leave out `{option}`, or remove the {name} from the Deployment"));
            self.faults.push(at(fault, place, written));
        }
        let Some((declared, declared_at)) = declared else { return };
        if let Some(written) = written
            && written != declared
        {
            let message = format!(
                "the Deployment sets the {name} to `{written}`, but the Workspace declares `{declared}`"
            );
            let fault = Diagnostic::error("context-conflict", message)
                .related(declared_at, "declared here")
                .help(format!("remove the {name} from the Deployment, or change one of the two"));
            self.faults.push(at(fault, place, written));
        } else if let Some(flag) = flag
            && flag != declared
        {
            let message =
                format!("the command line sets `{option} {flag}`, but the Workspace declares `{declared}`");
            let fault = Diagnostic::error("context-conflict", message)
                .help(format!("leave out `{option}`, or change the {name} here"));
            self.faults.push(at(fault, Some(declared_at), declared));
        }
    }
}

/// The fault of an environment that a workspace with environments does not declare.
pub(crate) fn undeclared(id: &Arc<str>, place: Option<&Location>, workspace: &Workspace) -> Diagnostic {
    let known = workspace.environments.keys().map(|name| &**name);
    let fault =
        Diagnostic::error("unknown-environment", format!("the Workspace declares no environment `{id}`"));
    let fault = match place {
        Some(place) => fault.at(place).spanning(id.chars().count()),
        None => fault,
    };
    let fault = match workspace.environments.values().next() {
        Some(first) => fault.related(&first.location, "the environments are declared here"),
        None => fault,
    };
    let help = did_you_mean(id, "environments", known);
    let then = if help.ends_with('?') { " " } else { "; " };
    fault.help(format!("{help}{then}`--new-environment` creates an undeclared one"))
}
