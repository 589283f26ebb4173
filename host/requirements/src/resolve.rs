//! From a bundle to everything that must exist for it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use purlin_model::{
    Binding, Bundle, BundleReference, Claim, Declared, Diagnostic, InstallationUse, Key, Location, Recipe,
    Requirement, RequirementContext, Setting, Sharing, Table, Template, User, Value, ValueKind,
};

use crate::answers::{Answers, Ids};
use crate::bindings::MOST_HELPED;
use crate::catalog::{Catalog, CatalogError};
use crate::existing::{VisibleInstallations, looked_for};
use crate::identity::Meant;
use crate::interface::{Used, used};
use crate::known::Surroundings;
use crate::names::{self, Asked, AssignedName, Assignments, Denied, Names, Relations};
use crate::resolution::{Installation, PassedValue, Requirer, Resolution, Root, Unmapped};
use crate::reuse::ExistingMatch;
use crate::{bindings, identity};

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
    let around = Surroundings { context: Arc::clone(&root.context), ..Surroundings::default() };
    Ok(resolve_all((&root, &around), &[], catalog, context).await?.finished())
}

async fn resolve_all(
    (root, around): (&Root, &Surroundings),
    requirers: &[(Key, Arc<Recipe>)],
    catalog: &dyn Catalog,
    context: &RequirementContext,
) -> Result<Resolution, CatalogError> {
    let (mut assigned, mut last, mut relations) = (Assignments::new(), Vec::new(), Relations::default());
    let installed = context.installed.as_deref().unwrap_or_default();
    let mut denied = Denied::default();
    let choices = [&context.now, &context.before];
    let has_choices = choices.iter().any(|one| !one.with.is_empty() || !one.answers.is_empty());
    // Each round settles at least the names one level further down.
    let mut round = 0;
    loop {
        round += 1;
        let (resolution, asked) =
            resolve_with((root, around), requirers, catalog, context, (&assigned, &last, &relations)).await?;
        if round <= FREE_ROUNDS {
            denied = Denied::default();
        }
        let next = names::assign(&asked, installed, &mut denied);
        let now = if has_choices { names::relations(&asked) } else { Relations::default() };
        let is_settled = |one: &Asked| one.is_settled && next.get(&one.claim.made_for) == Some(&one.got);
        if round == MOST_ROUNDS || (asked.iter().all(is_settled) && now == relations) {
            return Ok(resolution);
        }
        (assigned, last, relations) = (next, asked, now);
    }
}

/// The maximum number of rounds of naming. Few need more than two: a name matters below it only
/// where a bundle passes it on.
const MOST_ROUNDS: usize = 64;

/// After how many rounds a name that was denied to a requirement stays so.
const FREE_ROUNDS: usize = 8;

/// One round of [`resolve`]. Also returns what it found out about each requirement.
async fn resolve_with(
    (root, around): (&Root, &Surroundings),
    requirers: &[(Key, Arc<Recipe>)],
    catalog: &dyn Catalog,
    context: &RequirementContext,
    (assigned, last, relations): (&Assignments, &[Asked], &Relations),
) -> Result<(Resolution, Vec<Asked>), CatalogError> {
    let Root { bundle, name, .. } = root.clone();
    let only = match &*bundle.requires {
        _ if !name.is_empty() => Some(Arc::clone(&name)),
        [only] => Some(Arc::clone(&only.name)),
        _ => None,
    };
    let own_names = match &*name {
        "" => bundle.requires.iter().map(|one| Arc::clone(&one.name)).collect(),
        _ => [Arc::clone(&name)].into(),
    };
    let namespace = &around.context.namespace;
    let mut resolver = Resolver {
        catalog,
        around,
        answers: Answers::new(context, only, relations),
        seen: VisibleInstallations::new(Arc::clone(namespace), &context.existing),
        recorded: context.recorded.as_ref(),
        users: &context.users,
        handed_over: &context.handed_over,
        names: Names::new(context.installed.as_deref().unwrap_or_default(), (assigned, last), own_names),
        known: HashMap::new(),
        by_outcome: HashMap::new(),
        asked: Vec::new(),
        done: Resolution { context: Arc::clone(&around.context), ..Resolution::default() },
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
    let Resolver { mut done, answers, asked, .. } = resolver;
    let of_recipes = requirers.iter().flat_map(|(_, recipe)| &recipe.requires);
    let written = bundle.requires.iter().chain(of_recipes).map(|one| &*one.name);
    let nested = done.installations.iter().flat_map(|one| one.requires.iter().map(|(name, _)| &**name));
    let (counting, faults) = answers.finish(written.chain(nested));
    done.choices = counting;
    done.unused = faults;
    // Each resource of a definition finds the same faults in it.
    let mut seen = BTreeSet::new();
    done.diagnostics.retain(|fault| seen.insert((fault.code, fault.location.clone(), fault.message.clone())));
    Ok((done, asked))
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
    around: &Surroundings,
    catalog: &dyn Catalog,
    context: &RequirementContext,
) -> Result<Resolution, CatalogError> {
    let bundle = Arc::new(Bundle::requiring(requires.to_vec()));
    // The deployment itself is not an installation.
    let root = Root { bundle, name: Arc::default(), context: Arc::clone(&around.context) };
    resolve_all((&root, around), requirers, catalog, context).await
}

/// A requirement, and what its values refer to.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) parent: Parent<'a>,
    pub(crate) requirement: &'a Requirement,
    pub(crate) siblings: &'a identity::Siblings,
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
    pub(crate) recorded: Option<&'a BTreeMap<Arc<str>, Option<InstallationUse>>>,
    /// Users in other environments of this environment's installations.
    pub(crate) users: &'a BTreeMap<Arc<str>, Vec<User>>,
    /// Installations of this environment that were handed over to them.
    pub(crate) handed_over: &'a BTreeSet<Arc<str>>,
    /// Where it is deployed.
    pub(crate) around: &'a Surroundings,
    /// The installations by name and outcome.
    known: HashMap<(Arc<str>, Arc<str>), usize>,
    /// The first one of each outcome, for requirements about which nothing is decided.
    by_outcome: HashMap<Arc<str>, usize>,
    /// What was found out about the requirements.
    asked: Vec<Asked>,
    pub(crate) done: Resolution,
}

/// The meanings of parameters and credentials, by part and name.
pub(crate) type Meanings = BTreeMap<(Setting, Arc<str>), Meant>;

/// The parent in a resolution, as its children see it.
#[derive(Clone, Copy)]
pub(crate) struct Parent<'a> {
    pub(crate) bundle: &'a Bundle,
    /// The table of the bundle.
    pub(crate) table: &'a Table,
    pub(crate) name: &'a str,
    pub(crate) root: &'a str,
    /// The outputs of requirements that it uses.
    pub(crate) used: &'a Used,
    /// The meanings of its parameters and credentials, by part and name.
    pub(crate) given: &'a Meanings,
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
            let mut meaning = meaning.unwrap_or_default();
            self.answer(&mut own, &mut meaning);
            let requires = self.requirements(&own, way, &meaning).await?;
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
            let (table, used) = (Table::of(&bundle), used(&bundle));
            let mut by_name: BTreeMap<Arc<str>, usize> = BTreeMap::new();
            let mut siblings = identity::Siblings::new();
            let mut is_whole = bindings::check(&bundle, &table, &mut self.done.diagnostics);
            for index in order {
                let Some(requirement) = bundle.requires.get(index) else { continue };
                let (name, root) = (&*own.name, &*own.root);
                let parent =
                    Parent { bundle: &bundle, table: &table, name, root, used: &used, given: meaning };
                let Some(place) = self.require(parent, requirement, &siblings, way).await? else {
                    is_whole = false;
                    continue;
                };
                by_name.insert(Arc::clone(&requirement.name), place);
                let outcome = self.done.installations.get(place).map(|one| Arc::clone(&one.outcome));
                siblings.extend(outcome.map(|outcome| (Arc::clone(&requirement.name), outcome)));
            }
            if !is_whole {
                return Ok(None);
            }
            let place = |one: &Requirement| Some((Arc::clone(&one.name), *by_name.get(&one.name)?));
            Ok(Some(bundle.requires.iter().filter_map(place).collect()))
        })
    }

    /// Applies a person's choices for a root. Those of a requirement were found when its values were.
    fn answer(&mut self, own: &mut Installation, meaning: &mut Meanings) {
        if !own.claims.is_empty() {
            return;
        }
        let (bundle, name) = (Arc::clone(&own.bundle), Arc::clone(&own.name));
        let mut given: HashSet<(Setting, &str)> = HashSet::new();
        for (part, one) in settings(&bundle) {
            if !given.insert((part, &one.name)) {
                continue;
            }
            let ids = Ids::of_root(&name);
            let answer = self.answers.later(part, &ids, one, &mut self.done.diagnostics);
            let Some(value) = answer else { continue };
            meaning.insert((part, Arc::clone(&one.name)), Meant::answered(&value));
            own.given.push(answered(part, one, value, &own.location));
        }
    }

    /// Records the missing values of an installation.
    fn ask(&mut self, own: &Installation) {
        let (table, given) = (Table::of(&own.bundle), own.given_by_name());
        for (part, one) in settings(&own.bundle) {
            if !one.is_required || given.contains_key(&(part, &*one.name)) {
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
        siblings: &identity::Siblings,
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
            Sharing::Group(template) => match identity::group(template, parent, self.around) {
                Ok(group) => Some(group),
                Err(fault) => {
                    self.done.diagnostics.push(*fault);
                    return Ok(None);
                }
            },
        };
        let identity: Option<Arc<str>> = group.as_ref().map(|group| {
            let meanings = identity::meanings(requirement, parent, siblings, self.around);
            identity::identity(requirement, group, &meanings).into()
        });
        let claim = Claim { made_for, identity };
        let is_own = parent.name.is_empty();
        let (name, root) = self.names.of(&claim, &own_name);
        // The bare name of a deployment's own requirement means only that one.
        let may_be_bare = is_own || !self.names.is_own(&requirement.name);
        let ids = Ids { name: &name, own: &own_name, claim: Some(&claim), is_own, may_be_bare };
        let values = Values { parent, requirement, siblings };
        let chosen = match self.existing_match(values, &ids, group.as_deref()).await? {
            ExistingMatch::Uses(chosen) => Some(*chosen),
            ExistingMatch::Wrong => None,
            ExistingMatch::Nothing(rejected) => {
                let chosen = self.choose(parent, requirement, &ids, way).await?;
                let looked_for = rejected.is_some().then(|| looked_for(requirement));
                let rejected = rejected.unwrap_or_default();
                chosen.map(|chosen| Installation { rejected, looked_for, ..chosen })
            }
        };
        let Some(chosen) = chosen else { return Ok(None) };
        let Bound { given, meaning, unanswered } = self.binding(values, &ids, &chosen);
        let outcome = identity::outcome(&chosen, group.as_deref(), &meaning, &claim);
        let unanswered = identity::outcome(&chosen, group.as_deref(), &unanswered, &claim);
        let repository = Arc::clone(&chosen.reference.repository);
        let key = (Arc::clone(&name), Arc::clone(&outcome));
        let same = || self.by_outcome.get(&outcome).filter(|_| root.is_none());
        let place = match self.known.get(&key).or_else(same).copied() {
            Some(place) => {
                self.join(place, &claim, &own_name, chosen);
                place
            }
            None => {
                if !self.has_room(requirement, &chosen, way) {
                    return Ok(None);
                }
                let name = self.names.only(&name);
                // A user of an installation does not share it with others.
                let group = group.filter(|_| chosen.uses.is_none());
                let root = match root {
                    Some(root) => root,
                    None if is_own => Arc::clone(&name),
                    None => parent.root.into(),
                };
                let made_for = Arc::clone(&claim.made_for);
                let claims = [(claim.clone(), Arc::clone(&own_name))].into();
                let outcome = Arc::clone(&outcome);
                let own = Installation { name, root, made_for, claims, outcome, group, given, ..chosen };
                let Some(place) = self.install(own, way, Some(meaning)).await? else { return Ok(None) };
                self.known.entry(key).or_insert(place);
                place
            }
        };
        self.by_outcome.entry(Arc::clone(&outcome)).or_insert(place);
        if let Some(got) = self.done.installations.get(place) {
            let got = AssignedName { name: Arc::clone(&got.name), root: Arc::clone(&got.root) };
            let root = parent.root.into();
            let is_recorded = || self.recorded.is_some_and(|recorded| recorded.contains_key(&name));
            let is_settled = got.name == name || (self.names.installed(&name).is_none() && !is_recorded());
            let asked =
                Asked { claim, own_name, is_own, repository, outcome, unanswered, root, got, is_settled };
            self.asked.push(asked);
        }
        Ok(Some(place))
    }

    /// Adds a requirement to the installation that satisfies it.
    fn join(&mut self, place: usize, claim: &Claim, own_name: &Arc<str>, chosen: Installation) {
        let Some(one) = self.done.installations.get_mut(place) else { return };
        if let (Some(known), Some(also)) = (&mut one.uses, &chosen.uses) {
            known.1.outputs.extend(also.1.outputs.iter().cloned());
            known.1.outputs.sort_unstable();
            known.1.outputs.dedup();
        }
        one.outputs.extend(chosen.outputs);
        one.claims.insert(claim.clone(), Arc::clone(own_name));
    }

    /// Whether one more installation may be created below others. A loop is reported with its path.
    fn has_room(
        &mut self,
        requirement: &Requirement,
        chosen: &Installation,
        way: &[(BundleReference, Arc<str>)],
    ) -> bool {
        let again = way.iter().position(|(reference, _)| *reference == chosen.reference);
        let fault = if let Some(at) = again.filter(|_| chosen.uses.is_none()) {
            looped(&way[at..], &chosen.reference, requirement)
        } else if self.done.installations.len() >= MOST {
            if self.done.diagnostics.iter().any(|fault| fault.code == "too-many-requirements") {
                return false;
            }
            let message = format!("the requirements end in more than {MOST} installations");
            let fault = Diagnostic::error("too-many-requirements", message).at(&requirement.location);
            fault.help("let some of them share an installation: `sharing: {mode: group}`")
        } else if way.len() >= DEEPEST {
            let message = format!("the requirements lead more than {DEEPEST} bundles deep");
            let fault = Diagnostic::error("requirements-too-deep", message).at(&requirement.location);
            fault.help(format!(
                "use an existing installation for it: `--with {}=INSTALLATION`",
                requirement.name
            ))
        } else {
            return true;
        };
        self.done.diagnostics.push(fault);
        false
    }

    /// The values of a bundle's parameters and credentials, and the meaning of each. Values for
    /// which the bundle has no declaration are omitted.
    fn binding(&mut self, values: Values<'_>, ids: &Ids<'_>, chosen: &Installation) -> Bound {
        let Values { parent, requirement, siblings } = values;
        let bundle = &*chosen.bundle;
        let mut bound = Bound::default();
        if chosen.uses.is_some() {
            // The owner of an existing installation gave it its values.
            return bound;
        }
        let Bound { given, meaning, unanswered } = &mut bound;
        let table = Table::of(bundle);
        let parts = [
            (Setting::Parameter, &requirement.parameters, &bundle.parameters),
            (Setting::Credential, &requirement.credentials, &bundle.credentials),
        ];
        for (part, bindings, declared) in parts {
            let mut set: BTreeMap<&Arc<str>, &Binding> = BTreeMap::new();
            let mut helped = MOST_HELPED;
            for binding in bindings {
                let name = chosen.settings.get(&(part, Arc::clone(&binding.name)));
                let Some(one) = name.and_then(|name| table.declared(bundle, part, name)) else {
                    let known = if helped > 0 { &**declared } else { &[] };
                    let note = left_out(part, binding, &bundle.reference().to_string(), known);
                    helped = helped.saturating_sub(1);
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
                let written = Meant::new(&binding.value, parent, siblings, self.around);
                unanswered.insert((part, Arc::clone(&one.name)), written.clone());
                // A person's current value overrides the written one.
                let answer = self.answers.first(part, ids, one, &mut self.done.diagnostics);
                let (passed, meant) = match answer {
                    Some(value) => {
                        let meant = Meant::answered(&value);
                        (answered(part, one, value, &binding.location), meant)
                    }
                    None => {
                        let binding = Binding { name: Arc::clone(&one.name), ..binding.clone() };
                        (PassedValue { part, binding }, written)
                    }
                };
                meaning.insert((part, Arc::clone(&one.name)), meant);
                given.push(passed);
            }
            for one in declared.iter().filter(|one| !set.contains_key(&one.name)) {
                let answer = self.answers.later(part, ids, one, &mut self.done.diagnostics);
                let Some(value) = answer else { continue };
                meaning.insert((part, Arc::clone(&one.name)), Meant::answered(&value));
                given.push(answered(part, one, value, &requirement.location));
            }
        }
        bound
    }
}

/// The values that a requirement gives a bundle.
#[derive(Default)]
struct Bound {
    given: Vec<PassedValue>,
    /// What each of them means.
    meaning: Meanings,
    /// What they would mean without a person's choices.
    unanswered: Meanings,
}

/// The parameters and the credentials of a bundle.
fn settings(bundle: &Bundle) -> impl Iterator<Item = (Setting, &Declared)> {
    let parameters = bundle.parameters.iter().map(|one| (Setting::Parameter, one));
    parameters.chain(bundle.credentials.iter().map(|one| (Setting::Credential, one)))
}

/// A remark about a value for which a bundle has no declaration.
pub(crate) fn left_out(part: Setting, binding: &Binding, bundle: &str, declared: &[Declared]) -> Diagnostic {
    let message = format!("`{bundle}` has no {part} `{}`, so that this is left out", binding.name);
    let names = declared.iter().map(|one| &*one.name);
    let help = match purlin_expression::did_you_mean(&binding.name, &format!("{part}s"), names) {
        help if help.is_empty() => "remove it".to_owned(),
        help => help,
    };
    Diagnostic::warning("left-out", message).at(&binding.location).help(help)
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
