//! From a bundle to everything that must exist for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use purlin_model::{
    Binding, Bundle, BundleReference, Declared, Diagnostic, Key, Location, Recipe, Requirement,
    RequirementContext, Setting, Sharing, Table, Template, Urn, User, Value, ValueKind,
};

use crate::answers::Answers;
use crate::catalog::{Catalog, CatalogError};
use crate::existing::{VisibleInstallations, looked_for};
use crate::fit::{Used, used};
use crate::names::Names;
use crate::resolution::{Installation, PassedValue, Requirer, Resolution, Root, Unmapped};
use crate::reuse::ExistingMatch;
use crate::{bindings, known, same};

/// The maximum depth of requirements. A loop that repeats a reference is found earlier.
pub(crate) const DEEPEST: usize = 64;

/// The maximum number of installations for requirements. A few bundles can request an enormous
/// number.
const MOST: usize = 10_000;

/// Resolves all requirements of a bundle, at any depth.
///
/// # Errors
/// If the catalog is not available. All faults in the bundles are in [`Resolution::diagnostics`].
pub async fn resolve(
    root: Root,
    catalog: &dyn Catalog,
    context: &RequirementContext,
) -> Result<Resolution, CatalogError> {
    Ok(resolve_all(root, &[], catalog, context).await?.finished())
}

async fn resolve_all(
    root: Root,
    requirers: &[(Key, Arc<Recipe>)],
    catalog: &dyn Catalog,
    context: &RequirementContext,
) -> Result<Resolution, CatalogError> {
    let mut reserved = Reserved::new();
    // Each round reserves at least one name that the last one has given away.
    for _ in 0..MOST_ROUNDS {
        let (resolution, wanted) = resolve_with(&root, requirers, catalog, context, &reserved).await?;
        if wanted.is_subset(&reserved) {
            return Ok(resolution);
        }
        reserved.extend(wanted);
    }
    let (resolution, _) = resolve_with(&root, requirers, catalog, context, &reserved).await?;
    Ok(resolution)
}

/// The maximum number of rounds of naming.
const MOST_ROUNDS: usize = 16;

/// Names that only the same requirement gets.
type Reserved = BTreeSet<Arc<str>>;

/// Like [`resolve`]. Also returns the names that were already taken when their owners needed them.
async fn resolve_with(
    root: &Root,
    requirers: &[(Key, Arc<Recipe>)],
    catalog: &dyn Catalog,
    context: &RequirementContext,
    reserved: &Reserved,
) -> Result<(Resolution, Reserved), CatalogError> {
    let Root { bundle, name, namespace } = root.clone();
    let only = match &*bundle.requires {
        _ if !name.is_empty() => Some(Arc::clone(&name)),
        [only] => Some(Arc::clone(&only.name)),
        _ => None,
    };
    let roots = match &*name {
        "" => bundle.requires.iter().map(|one| Arc::clone(&one.name)).collect(),
        _ => [Arc::clone(&name)].into(),
    };
    let mut resolver = Resolver {
        catalog,
        answers: Answers::new(context, only),
        seen: VisibleInstallations::new(Arc::clone(&namespace), &context.existing),
        recorded: context.recorded.as_ref(),
        users: &context.users,
        handed_over: &context.handed_over,
        names: Names::new(context.installed.as_deref().unwrap_or_default(), reserved, roots),
        known: HashMap::new(),
        done: Resolution { namespace, ..Resolution::default() },
    };
    let own = Installation::root(name, Arc::clone(&bundle));
    if own.name.is_empty() {
        resolver.requirements(&own, &mut Vec::new(), &Meanings::new()).await?;
    } else {
        resolver.install(own, &mut Vec::new(), None).await?;
    }
    for (key, recipe) in requirers {
        let own = Installation::root(key.as_str().into(), Arc::new(requiring(recipe)));
        if let Some(requires) = resolver.requirements(&own, &mut Vec::new(), &Meanings::new()).await? {
            let own = Installation { requires, ..own };
            resolver.done.requirers.push(Requirer { key: key.clone(), recipe: Arc::clone(recipe), own });
        }
    }
    let Resolver { mut done, answers, names, .. } = resolver;
    let of_recipes = requirers.iter().flat_map(|(_, recipe)| &recipe.requires);
    let written = bundle.requires.iter().chain(of_recipes).map(|one| &*one.name);
    let nested = done.installations.iter().flat_map(|one| one.requires.iter().map(|(name, _)| &**name));
    let (counting, faults) = answers.finish(written.chain(nested));
    done.choices = counting;
    done.unused = faults;
    // Each resource of a definition finds the same faults in it.
    let mut seen = BTreeSet::new();
    done.diagnostics.retain(|fault| seen.insert((fault.code, fault.location.clone(), fault.message.clone())));
    Ok((done, names.wanted))
}

/// The requirements and references of a recipe, in the form of a bundle.
fn requiring(recipe: &Recipe) -> Bundle {
    let given = recipe.provision.iter().filter_map(|one| one.params.as_deref());
    let templates = recipe.templates().chain(given).cloned();
    Bundle { values: Template::List(templates.collect()), ..Bundle::requiring(recipe.requires.clone()) }
}

/// Resolves the requirements of a deployment, whose installations have the requirements' names, and
/// those of the definitions that provision its resources. If these are all, the resolution must be
/// [finished](Resolution::finished).
///
/// # Errors
/// As for [`resolve`].
pub async fn resolve_requirements(
    requires: &[Requirement],
    requirers: &[(Key, Arc<Recipe>)],
    namespace: Arc<str>,
    catalog: &dyn Catalog,
    context: &RequirementContext,
) -> Result<Resolution, CatalogError> {
    let bundle = Arc::new(Bundle::requiring(requires.to_vec()));
    // The deployment itself is not an installation.
    resolve_all(Root { bundle, name: Arc::default(), namespace }, requirers, catalog, context).await
}

/// Requirements: the name, and the index of the installation in [`Resolution::installations`].
type Places = Vec<(Arc<str>, usize)>;

type Resolved<'a, T> = Pin<Box<dyn Future<Output = Result<T, CatalogError>> + Send + 'a>>;

/// A resolution in progress.
pub(crate) struct Resolver<'a> {
    pub(crate) catalog: &'a dyn Catalog,
    pub(crate) answers: Answers<'a>,
    pub(crate) names: Names<'a>,
    pub(crate) seen: VisibleInstallations<'a>,
    /// The records of this environment's installations.
    pub(crate) recorded: Option<&'a BTreeMap<Arc<str>, Option<Urn>>>,
    /// Users in other environments of this environment's installations.
    pub(crate) users: &'a BTreeMap<Arc<str>, Vec<User>>,
    /// Installations of this environment that were handed over to them.
    pub(crate) handed_over: &'a BTreeSet<Arc<str>>,
    /// Shared installations by everything that must be the same.
    known: HashMap<String, usize>,
    pub(crate) done: Resolution,
}

/// The meanings of parameters and credentials, by part and name.
pub(crate) type Meanings = BTreeMap<(Setting, Arc<str>), String>;

/// The parent in a resolution, as its children see it.
#[derive(Clone, Copy)]
pub(crate) struct Parent<'a> {
    pub(crate) bundle: &'a Bundle,
    pub(crate) name: &'a str,
    pub(crate) root: &'a str,
    /// The outputs of requirements that it uses.
    pub(crate) used: &'a Used,
    /// The meanings of its parameters and credentials, by part and name.
    pub(crate) given: &'a Meanings,
    /// Its parameters whose values are known.
    pub(crate) known: &'a BTreeMap<Arc<str>, Value>,
}

impl Resolver<'_> {
    /// Resolves the requirements of an installation, and adds it after them. None if there is a
    /// fault in it.
    fn install<'s>(
        &'s mut self,
        mut own: Installation,
        way: &'s mut Vec<(BundleReference, Arc<str>)>,
        meaning: Option<Meanings>,
    ) -> Resolved<'s, Option<usize>> {
        Box::pin(async move {
            way.push((own.reference.clone(), Arc::clone(&own.name)));
            self.answer(&mut own);
            own.known = known::complete(&own);
            let requires = self.requirements(&own, way, &meaning.unwrap_or_default()).await?;
            way.pop();
            let Some(requires) = requires else { return Ok(None) };
            own.requires = requires;
            self.ask(&own);
            self.done.installations.push(own);
            Ok(Some(self.done.installations.len() - 1))
        })
    }

    /// Resolves the requirements of an installation or a resource: the name of each one, and its
    /// installation. None if there is a fault in it.
    fn requirements<'s>(
        &'s mut self,
        own: &'s Installation,
        way: &'s mut Vec<(BundleReference, Arc<str>)>,
        meaning: &'s Meanings,
    ) -> Resolved<'s, Option<Places>> {
        Box::pin(async move {
            let bundle = Arc::clone(&own.bundle);
            let order = match bindings::order(&bundle.requires) {
                Ok(order) => order,
                Err(fault) => {
                    self.done.diagnostics.push(*fault);
                    return Ok(None);
                }
            };
            let used = used(&bundle);
            let mut by_name: BTreeMap<Arc<str>, usize> = BTreeMap::new();
            let mut siblings = same::Siblings::new();
            let mut is_whole = bindings::check(&bundle, &mut self.done.diagnostics);
            for index in order {
                let Some(requirement) = bundle.requires.get(index) else { continue };
                let (name, root) = (&*own.name, &*own.root);
                let known = &own.known;
                let parent = Parent { bundle: &bundle, name, root, used: &used, given: meaning, known };
                let Some(place) = self.require(parent, requirement, &siblings, way).await? else {
                    is_whole = false;
                    continue;
                };
                by_name.insert(Arc::clone(&requirement.name), place);
                let identification = self.done.installations.get(place).map(Installation::identification);
                siblings.extend(identification.map(|id| (Arc::clone(&requirement.name), id)));
            }
            if !is_whole {
                return Ok(None);
            }
            let place = |one: &Requirement| Some((Arc::clone(&one.name), *by_name.get(&one.name)?));
            Ok(Some(bundle.requires.iter().filter_map(place).collect()))
        })
    }

    /// Applies a person's choices for an installation.
    fn answer(&mut self, own: &mut Installation) {
        let bundle = Arc::clone(&own.bundle);
        for (part, one) in settings(&bundle) {
            if own.gives(part, &one.name) {
                continue;
            }
            if let Some(value) = self.answers.later(part, &own.name, one, &mut self.done.diagnostics) {
                own.given.push(answered(part, one, value, &own.location));
            }
        }
    }

    /// Records the missing values of an installation.
    fn ask(&mut self, own: &Installation) {
        let table = Table::of(&own.bundle);
        for (part, one) in settings(&own.bundle) {
            if !one.is_required || own.gives(part, &one.name) {
                continue;
            }
            let row = table.named(ValueKind::Setting(part), &one.name);
            self.done.unmapped.push(Unmapped {
                installation: Arc::clone(&own.name),
                part,
                name: Arc::clone(&one.name),
                description: one.description.clone(),
                is_secret: row.is_none_or(|row| row.offered.is_sensitive),
                schema: one.schema.clone(),
            });
        }
    }

    async fn require(
        &mut self,
        parent: Parent<'_>,
        requirement: &Requirement,
        siblings: &same::Siblings,
        way: &mut Vec<(BundleReference, Arc<str>)>,
    ) -> Result<Option<usize>, CatalogError> {
        let made_for: Arc<str> = match parent.name {
            "" => Arc::clone(&requirement.name),
            parent => format!("{parent}/{}", requirement.name).into(),
        };
        // The requirements of a resource are named by its id, which may be part of an id; keys may
        // not.
        let own_name: Arc<str> = match parent.name.split_once('#') {
            Some((_, id)) => format!("{id}/{}", requirement.name).into(),
            None => Arc::clone(&made_for),
        };
        let group = match &requirement.sharing {
            Sharing::None => None,
            Sharing::Group(template) => match same::group(template, parent, &self.done.namespace) {
                Ok(group) => Some(group),
                Err(fault) => {
                    self.done.diagnostics.push(*fault);
                    return Ok(None);
                }
            },
        };
        // Requirements that are the same in every field but their name are one, wherever they are.
        // A person's choices refer to its name, which follows from this.
        let identity: Option<Arc<str>> = group.as_ref().map(|group| {
            same::identity(requirement, group, &same::meanings(requirement, parent, siblings)).into()
        });
        // A deployment reads a named requirement by that name, so it must exist.
        let is_named = parent.name.is_empty();
        let name = match is_named {
            true => self.names.take(&made_for, identity.as_ref()),
            false => self.names.of(&made_for, &own_name, identity.as_ref()),
        };
        let chosen =
            match self.existing_match(parent, requirement, (&name, group.as_deref()), is_named).await? {
                ExistingMatch::Uses(chosen) => Some(*chosen),
                ExistingMatch::Wrong => None,
                ExistingMatch::Nothing(rejected) => {
                    let chosen = self.choose(parent, requirement, &name, way).await?;
                    let looked_for = rejected.is_some().then(|| looked_for(requirement));
                    let rejected = rejected.unwrap_or_default();
                    chosen.map(|chosen| Installation { rejected, looked_for, ..chosen })
                }
            };
        let Some(chosen) = chosen else { return Ok(None) };
        if chosen.uses.is_none() && !self.suits_all(&name, &chosen, requirement) {
            return Ok(None);
        }
        let (given, meaning) = self.binding(parent, requirement, &chosen, siblings);
        let key = identity.as_ref().map(|identity| format!("{} {identity} {meaning:?}", chosen.reference));
        let known = key.as_ref().and_then(|key| self.known.get(key)).filter(|_| !is_named);
        if let Some(place) = known.copied() {
            if let Some(known) = self.done.installations.get_mut(place) {
                if let (Some(known), Some(also)) = (&mut known.uses, &chosen.uses) {
                    known.1.outputs.extend(also.1.outputs.iter().cloned());
                    known.1.outputs.sort_unstable();
                    known.1.outputs.dedup();
                }
                known.outputs.extend(chosen.outputs);
            }
            return Ok(Some(place));
        }
        let again = way.iter().position(|(reference, _)| *reference == chosen.reference);
        if let Some(at) = again.filter(|_| chosen.uses.is_none()) {
            self.done.diagnostics.push(looped(&way[at..], &chosen.reference, requirement));
            return Ok(None);
        }
        if self.done.installations.len() >= MOST {
            let is_reported = self.done.diagnostics.iter().any(|fault| fault.code == "too-many-requirements");
            if !is_reported {
                let message = format!("the requirements end in more than {MOST} installations");
                let fault = Diagnostic::error("too-many-requirements", message).at(&requirement.location);
                let help = "let some of them share an installation: `sharing: {mode: group}`";
                self.done.diagnostics.push(fault.help(help));
            }
            return Ok(None);
        }
        if way.len() >= DEEPEST {
            let message = format!("the requirements lead more than {DEEPEST} bundles deep");
            let fault = Diagnostic::error("requirement-loop", message).at(&requirement.location);
            self.done.diagnostics.push(fault.help("let one of them use an existing installation"));
            return Ok(None);
        }
        let name = if is_named { name } else { self.names.only(name, &own_name) };
        // A user of an installation does not share it with others.
        let group = group.filter(|_| chosen.uses.is_none());
        let root = if is_named { Arc::clone(&name) } else { parent.root.into() };
        let known = known::of_given(&given, parent);
        let own = Installation { name, root, made_for, identity, group, given, known, ..chosen };
        let place = self.install(own, way, Some(meaning)).await?;
        if let (Some(key), Some(place)) = (key, place) {
            self.known.entry(key).or_insert(place);
        }
        Ok(place)
    }

    /// The values of a bundle's parameters and credentials, and the meaning of each. Values for
    /// which the bundle has no declaration are omitted.
    fn binding(
        &mut self,
        parent: Parent<'_>,
        requirement: &Requirement,
        chosen: &Installation,
        siblings: &same::Siblings,
    ) -> (Vec<PassedValue>, Meanings) {
        let bundle = &*chosen.bundle;
        let (mut given, mut meaning) = (Vec::new(), BTreeMap::new());
        if chosen.uses.is_some() {
            // The owner of an existing installation gave it its values.
            return (given, meaning);
        }
        let parts = [
            (Setting::Parameter, &requirement.parameters, &bundle.parameters),
            (Setting::Credential, &requirement.credentials, &bundle.credentials),
        ];
        for (part, bindings, declared) in parts {
            let mut set: BTreeMap<&Arc<str>, &Binding> = BTreeMap::new();
            for binding in bindings {
                let name = chosen.settings.get(&(part, Arc::clone(&binding.name)));
                let Some(one) = declared.iter().find(|one| Some(&one.name) == name) else {
                    let message = format!(
                        "`{}` has no {part} `{}`, so that this is left out",
                        bundle.reference(),
                        binding.name
                    );
                    let names = declared.iter().map(|one| &*one.name);
                    let help =
                        match purlin_expression::did_you_mean(&binding.name, &format!("{part}s"), names) {
                            help if help.is_empty() => "remove it".to_owned(),
                            help => help,
                        };
                    let note = Diagnostic::warning("left-out", message).at(&binding.location).help(help);
                    self.done.diagnostics.push(note);
                    continue;
                };
                if let Some(first) = set.insert(&one.name, binding) {
                    let message = format!(
                        "`{}` and `{}` both set the {part} `{}` of `{}`",
                        first.name,
                        binding.name,
                        one.name,
                        bundle.reference()
                    );
                    let fault = Diagnostic::error("set-twice", message).at(&binding.location);
                    let fault = fault.related(&first.location, "the first is here");
                    self.done.diagnostics.push(fault.help("keep one of them"));
                    continue;
                }
                // A person's current value overrides the written one.
                let answer = self.answers.first(part, &chosen.name, one, &mut self.done.diagnostics);
                let binding = match answer {
                    Some(value) => answered(part, one, value, &binding.location).binding,
                    None => Binding { name: Arc::clone(&one.name), ..binding.clone() },
                };
                let name = Arc::clone(&binding.name);
                meaning.insert((part, name), same::short(same::meaning(&binding.value, parent, siblings)));
                given.push(PassedValue { part, binding });
            }
        }
        (given, meaning)
    }
}

/// The parameters and the credentials of a bundle.
fn settings(bundle: &Bundle) -> impl Iterator<Item = (Setting, &Declared)> {
    let parameters = bundle.parameters.iter().map(|one| (Setting::Parameter, one));
    parameters.chain(bundle.credentials.iter().map(|one| (Setting::Credential, one)))
}

/// A value from a person.
fn answered(
    part: Setting,
    declared: &Declared,
    value: serde_json::Value,
    location: &Location,
) -> PassedValue {
    let value = Template::Constant(Value::from(value));
    PassedValue {
        part,
        binding: Binding { name: Arc::clone(&declared.name), value, location: location.clone() },
    }
}

fn looped(
    way: &[(BundleReference, Arc<str>)],
    again: &BundleReference,
    requirement: &Requirement,
) -> Diagnostic {
    let way: Vec<String> =
        way.iter().map(|(one, _)| one).chain([again]).map(|one| format!("`{one}`")).collect();
    let message = format!("bundles require each other in a loop: {}", way.join(" → "));
    Diagnostic::error("requirement-loop", message)
        .at(&requirement.location)
        .help("remove one of these requirements")
}
