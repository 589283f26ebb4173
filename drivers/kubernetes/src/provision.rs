//! Applies the objects of a resource one after the other, and reports any failure in between with
//! everything that exists by then, or that they are not ready yet.

use std::cell::Cell;
use std::time::{Duration, Instant};

use purlin_sdk::{Call, Failure, Json, Problem, State, log, operation};

use crate::api::{Api, Apply, Trouble};
use crate::discovery::{ObjectLocation, ResourceKind};
use crate::inputs::{KubernetesInputs, SplitManifest, WaitFor};
use crate::live::{self, Cookie, Known, Whose};
use crate::object::{self, Identity};
use crate::{observe, remove, wait};

/// The longest wait for what the cluster completes in a moment before an object can be applied: a kind
/// that was just defined, an object of that name that is being deleted.
const PATIENCE: Duration = Duration::from_secs(25);

/// The work on a resource.
pub(crate) struct Task<'a> {
    pub(crate) inputs: &'a KubernetesInputs,
    pub(crate) guresid: &'a str,
    /// The recorded id and objects; none during creation.
    pub(crate) recorded: Option<(&'a str, Vec<Known>)>,
    /// The inputs as reality had them when it was last seen.
    pub(crate) before: Option<&'a Json>,
    /// Whether the secret parts are as they were last seen, by their digest.
    pub(crate) secrets_seen: Cell<bool>,
    /// The digest of the secret parts as they were last seen.
    pub(crate) digest: Option<&'a str>,
    /// The life of its objects.
    pub(crate) cookie: Cookie,
    pub(crate) call: &'a Call,
}

/// An object to apply.
struct Item<'a> {
    given: SplitManifest<'a>,
    place: ObjectLocation,
    /// Another object of the list defines its kind.
    kind_to_come: bool,
    /// Another object of the list creates its namespace, which does not exist yet.
    namespace_to_come: bool,
    live: Option<Json>,
    applied: bool,
}

impl Task<'_> {
    /// Brings the objects to the state of the inputs, and waits as they say.
    pub(crate) fn run(&self) -> Result<State, Failure> {
        self.inputs.validate()?;
        let api = Api::new(self.inputs, self.call);
        let mut items = self.items(&api)?;
        for item in &mut items {
            self.look(&api, item)?;
        }
        let live: Vec<Option<Json>> = items.iter().map(|item| item.live.clone()).collect();
        let digest = live::digest(&self.inputs.manifests(), &live);
        self.secrets_seen.set(self.digest.is_some_and(|seen| seen == digest));
        let id = match &self.recorded {
            Some((id, _)) => (*id).to_owned(),
            None => {
                let identities = items.iter().map(|item| &item.place.identity);
                object::resource_id(identities, self.guresid, self.cookie.life.as_deref())
            }
        };
        // Applied in the order of kinds; reported in the order of the inputs.
        let mut order: Vec<usize> = (0..items.len()).collect();
        order
            .sort_by_key(|index| items.get(*index).map_or(0, |item| object::rank(&item.place.identity.kind)));
        let result = self.keeps_data(&items).and_then(|()| self.rehearse(&api, &mut items, &order));
        if let Err(failure) = result {
            return Err(self.partly(&id, &items, failure));
        }
        // Do not begin if the call is cancelled or its time is over.
        api.client.pause(Duration::ZERO).map_err(|failure| self.partly(&id, &items, failure))?;
        if self.recorded.is_none() {
            operation::checkpoint(&id);
        }
        for index in order {
            let result = match items.get_mut(index) {
                Some(item) => self.apply(&api, item),
                None => continue,
            };
            if let Err(failure) = result {
                return Err(self.partly(&id, &items, failure));
            }
        }
        match self.finish(&api, &mut items) {
            Ok(None) => self.state(&id, &items, false, &[]),
            Ok(Some(why)) => {
                Err(self.state(&id, &items, true, &self.unpruned(&items))?.pending(wait::AGAIN, why))
            }
            Err(failure) => Err(self.partly(&id, &items, failure)),
        }
    }

    /// Someone who removes an object from a list may not know that its data is deleted with it.
    fn keeps_data(&self, items: &[Item<'_>]) -> Result<(), Failure> {
        let values = &self.inputs.values;
        if !values.prune || values.force_destroy {
            return Ok(());
        }
        let holds = |known: &&Known| {
            let kind = known.identity.kind.as_str();
            object::VOLUMES.contains(&kind) || object::CONTAINERS.contains(&kind)
        };
        let left = self.left(items);
        let names: Vec<String> = left.iter().filter(holds).map(|known| known.identity.short()).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(Failure::conflict(format!(
            "{} is no longer in `manifests`, and would be deleted with all data: put it back, or set \
             `force_destroy: true` to delete it, or `prune: false` to leave it in the cluster",
            names.join(", ")
        )))
    }

    /// An earlier attempt at the same creation created it.
    fn is_of_this_life(&self, live: &Json) -> bool {
        object::life(live) == self.cookie.life.as_deref()
    }

    fn namespace(&self) -> &str {
        &self.inputs.values.namespace
    }

    fn recorded(&self) -> &[Known] {
        self.recorded.as_ref().map_or(&[], |(_, known)| known)
    }

    /// The objects and their paths. A kind that another object of the list defines is accepted.
    fn items(&self, api: &Api) -> Result<Vec<Item<'_>>, Failure> {
        let given = self.inputs.manifests();
        let defined: Vec<(String, ResourceKind)> =
            given.iter().flat_map(|given| ResourceKind::defined_by(given.manifest)).collect();
        let mut items = Vec::with_capacity(given.len());
        for given in given {
            let Some(identity) = Identity::of(given.manifest) else {
                return Err(Failure::input(given.pointer, "is not a manifest"));
            };
            let to_come =
                defined.iter().find(|(version, kind)| *version == identity.api_version && kind.is(&identity));
            let (place, kind_to_come) = match to_come {
                Some((_, kind)) => match api.place(&identity, self.namespace()) {
                    Ok(Some(place)) => (place, false),
                    Ok(None) => (kind.place(&identity, self.namespace()), true),
                    Err(trouble) => return Err(trouble.failure(&identity.short(), &given.pointer)),
                },
                None => (api.must_place(&identity, self.namespace(), &given.pointer)?, false),
            };
            let item =
                Item { given, place, kind_to_come, namespace_to_come: false, live: None, applied: false };
            items.push(item);
        }
        let namespaces: Vec<String> = items
            .iter()
            .filter(|item| item.place.identity.group().is_empty() && item.place.identity.kind == "Namespace")
            .map(|item| item.place.identity.name.clone())
            .collect();
        for item in &mut items {
            let namespace = item.place.identity.namespace.as_ref();
            item.namespace_to_come = namespace.is_some_and(|namespace| namespaces.contains(namespace));
        }
        Ok(items)
    }

    /// Reads the live object, and rejects one of another owner. Waits for an object that is being
    /// deleted.
    fn look(&self, api: &Api, item: &mut Item<'_>) -> Result<(), Failure> {
        if item.kind_to_come {
            return Ok(());
        }
        let what = item.place.identity.short();
        let begun = Instant::now();
        loop {
            item.live =
                api.get(&item.place.path).map_err(|trouble| trouble.failure(&what, &item.given.pointer))?;
            let Some(live) = &item.live else { return Ok(()) };
            let whose = live::whose(live, self.guresid, self.recorded());
            if !object::is_terminating(live) {
                return match whose {
                    Whose::Ours if self.recorded.is_none() && !self.is_of_this_life(live) => {
                        Err(Failure::conflict(format!(
                            "{what} already exists, created by this resource earlier: import it to adopt it, with the \
                             id `{}`; or, to replace it, set `delete_before_replace: true` in the lifecycle, because \
                             two objects cannot have the same name",
                            item.place.identity
                        )))
                    }
                    Whose::Ours => Ok(()),
                    Whose::Another(mark) => Err(live::of_another(&item.place.identity, &mark)),
                    Whose::Nobodys => Err(Failure::conflict(format!(
                        "{what} already exists and does not belong to this resource; import it to adopt it, with the id `{}`",
                        item.place.identity
                    ))),
                };
            }
            let message = format!("{what} is being deleted{}", wait::finalizers(live));
            operation::progress(&message, None);
            let after = Duration::from_secs(1);
            if begun.elapsed() > PATIENCE || api.client.pause(after).is_err() {
                return Err(Failure::retry_after(Duration::from_secs(2), message));
            }
        }
    }

    /// If there are several objects, rehearses each one on the server, so that rejections show
    /// before anything is created. An object that has to wait for another one cannot be rehearsed.
    fn rehearse(&self, api: &Api, items: &mut [Item<'_>], order: &[usize]) -> Result<(), Failure> {
        if items.len() < 2 {
            return Ok(());
        }
        for index in order {
            let Some(item) = items.get(*index) else { continue };
            if item.kind_to_come || (item.namespace_to_come && item.live.is_none()) {
                continue;
            }
            match self.send(api, item, true) {
                Ok(_) => {}
                Err(trouble) if is_no_rehearsal(&trouble) => {}
                Err(trouble) => {
                    return Err(trouble.failure(&item.place.identity.short(), &item.given.pointer));
                }
            }
        }
        Ok(())
    }

    /// Applies one object. Waits for changes that the cluster completes in a moment: a kind that
    /// was just defined, the account of a new namespace, a concurrent change.
    fn apply(&self, api: &Api, item: &mut Item<'_>) -> Result<(), Failure> {
        let was_to_come = item.kind_to_come;
        if was_to_come {
            self.kind_came(api, item)?;
            self.look(api, item)?;
        }
        let what = item.place.identity.short();
        let begun = Instant::now();
        loop {
            log::debug(format!("applying {what}"));
            let trouble = match self.send(api, item, false) {
                Ok(live) => {
                    (item.live, item.applied) = (Some(live), true);
                    return Ok(());
                }
                Err(trouble) => trouble,
            };
            let passing = trouble.is_passing() || (was_to_come && trouble.is_no_path());
            let over = begun.elapsed() > PATIENCE;
            if !passing || over || api.client.pause(Duration::from_millis(300)).is_err() {
                // It may exist; its deletion will find out.
                item.applied = trouble.is_undecided();
                return Err(trouble.failure(&what, &item.given.pointer));
            }
        }
    }

    fn send(&self, api: &Api, item: &Item<'_>, rehearse: bool) -> Result<Json, Trouble> {
        let wire = object::wire(
            &item.given,
            item.place.identity.namespace.as_deref(),
            self.guresid,
            self.cookie.life.as_deref(),
        );
        let mut how = Apply { force: self.inputs.values.force_conflicts, rehearse, ..Apply::default() };
        match api.apply(&item.place.path, &wire, how) {
            Err(trouble) if trouble.refusal().is_some_and(|refusal| self.was_seen(item, refusal)) => {
                how.force = true;
                api.apply(&item.place.path, &wire, how)
            }
            result => result,
        }
    }

    /// Whether everything that other managers own now was seen and shown before this change was
    /// decided: then it is drift to repair. Anything unseen is a conflict.
    fn was_seen(&self, item: &Item<'_>, refusal: &crate::api::Refusal) -> bool {
        let (Some(before), Some(live)) = (self.before, &item.live) else { return false };
        if !refusal.is_conflict_of_managers() {
            return false;
        }
        let single = before.pointer("/values/manifest").filter(|manifest| manifest.is_object());
        let list = before.pointer("/values/manifests").and_then(Json::as_array);
        let mut manifests = single.into_iter().chain(list.into_iter().flatten());
        let is_it = |seen: &&Json| {
            let identity = seen.as_object().and_then(Identity::of);
            identity.is_some_and(|identity| identity.may_be(&item.place.identity))
        };
        let Some(seen) = manifests.find(is_it) else { return false };
        let seen = observe::comparable(seen);
        refusal.contested().all(|cause| {
            // The marks belong to this driver alone.
            let ours = cause.field == format!(".metadata.labels.{}", object::MARK)
                || cause.field == format!(".metadata.annotations.{}", object::LIFE);
            let (was, is) = (observe::field(&seen, &cause.field), observe::field(live, &cause.field));
            let secret = item.given.secret.is_some_and(|secret| {
                let part = observe::comparable(&Json::Object(secret.clone()));
                self.secrets_seen.get() && observe::field(&part, &cause.field).is_some()
            });
            ours || secret || was.is_some_and(|was| observe::is_seen(was, is))
        })
    }

    /// Waits until the cluster knows a kind that was just defined.
    fn kind_came(&self, api: &Api, item: &mut Item<'_>) -> Result<(), Failure> {
        let begun = Instant::now();
        loop {
            api.forget(&item.place.identity.api_version);
            let identity = Identity::of(item.given.manifest).unwrap_or_else(|| item.place.identity.clone());
            match api.place(&identity, self.namespace()) {
                Ok(Some(place)) => {
                    (item.place, item.kind_to_come) = (place, false);
                    return Ok(());
                }
                Ok(None) if begun.elapsed() < PATIENCE => {
                    api.client.pause(Duration::from_millis(200))?;
                }
                Ok(None) => {
                    let message = format!("the cluster does not have the kind `{}` yet", identity.kind);
                    return Err(Failure::retry_after(Duration::from_secs(2), message));
                }
                Err(trouble) => return Err(trouble.failure(&identity.short(), &item.given.pointer)),
            }
        }
    }

    /// Removes objects that left the list and fields under another manager's name, then waits for a
    /// moment. Returns what is not done yet.
    fn finish(&self, api: &Api, items: &mut [Item<'_>]) -> Result<Option<String>, Failure> {
        self.leave_former_manager(api, items)?;
        let left: Vec<Known> = self.left(items);
        let mut going = None;
        if self.inputs.values.prune {
            let owner = remove::Owner { guresid: self.guresid, cookie: &self.cookie };
            let delete = &self.inputs.values.delete;
            match remove::all(api, &left, owner, self.namespace(), delete, Duration::MAX)? {
                // Only another update deletes the others.
                Some(first) if first.others_wait => return Err(Failure::failed(first.message)),
                first => going = first.map(|first| first.message),
            }
        } else if !left.is_empty() {
            let names: Vec<String> = left.iter().map(|known| known.identity.short()).collect();
            log::warn(format!(
                "`prune` is false: {} remain in the cluster, and are no longer managed",
                names.join(", ")
            ));
        }
        if self.inputs.values.wait.until == WaitFor::Ready {
            let objects = items.iter_mut().map(|item| (&item.place, &mut item.live));
            going = wait::until_ready(api, objects.collect())?.or(going);
        }
        Ok(going)
    }

    /// Objects that are recorded and no longer wanted.
    fn left(&self, items: &[Item<'_>]) -> Vec<Known> {
        let wanted = |known: &&Known| !items.iter().any(|item| item.place.identity.is(&known.identity));
        self.recorded().iter().filter(wanted).cloned().collect()
    }

    /// Fields under another manager's name would stay forever, because that manager applies
    /// nothing.
    fn leave_former_manager(&self, api: &Api, items: &[Item<'_>]) -> Result<(), Failure> {
        let former = self.before.and_then(|before| before.pointer("/values/field_manager")?.as_str());
        let manager = &self.inputs.values.field_manager;
        let Some(former) = former.filter(|former| *former != manager) else { return Ok(()) };
        for item in items {
            let Identity { api_version, kind, name, .. } = &item.place.identity;
            let nothing =
                serde_json::json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
            let how = Apply { manager: Some(former), force: true, rehearse: false };
            api.apply(&item.place.path, &nothing, how)
                .map_err(|trouble| trouble.failure(&item.place.identity.short(), &item.given.pointer))?;
        }
        Ok(())
    }

    /// Objects that were to be pruned, and may still exist.
    fn unpruned(&self, items: &[Item<'_>]) -> Vec<Known> {
        if self.inputs.values.prune { self.left(items) } else { Vec::new() }
    }

    /// The record of what exists.
    fn state(
        &self,
        id: &str,
        items: &[Item<'_>],
        waiting: bool,
        unpruned: &[Known],
    ) -> Result<State, Failure> {
        let mut known: Vec<Known> =
            items.iter().filter(|item| item.live.is_some() || item.applied).map(Item::known).collect();
        known.extend_from_slice(unpruned);
        let live: Vec<Option<Json>> = items.iter().map(|item| item.live.clone()).collect();
        live::state(id, self.inputs, &known, &live, &self.cookie.waiting(waiting))
    }

    /// A failure is partial if something exists that must not be forgotten. In an update it is
    /// partial if something was changed.
    fn partly(&self, id: &str, items: &[Item<'_>], failure: Failure) -> Failure {
        let changed = items.iter().any(|item| item.applied);
        let there = self.recorded.is_none() && items.iter().any(|item| item.live.is_some());
        if !changed && !there {
            return failure;
        }
        let missing: Vec<String> =
            items.iter().filter(|item| item.live.is_none()).map(|item| item.place.identity.short()).collect();
        let is_denied = matches!(failure, Failure::Denied { .. });
        let mut problem = match failure {
            Failure::RetryAfter { message, .. } => Problem::new(message),
            failure => failure.into(),
        };
        if !missing.is_empty() && !is_denied {
            problem.message.push_str(&format!("; not made: {}", missing.join(", ")));
        }
        match self.state(id, items, false, &self.unpruned(items)) {
            Ok(state) => Failure::partial(state, problem),
            Err(failure) => failure,
        }
    }
}

impl Item<'_> {
    fn known(&self) -> Known {
        let uid = self.live.as_ref().map(object::uid).unwrap_or_default();
        Known { identity: self.place.identity.clone(), uid: uid.to_owned() }
    }
}

/// A webhook that does not support rehearsals, or a namespace that does not exist yet, says nothing
/// about the object.
fn is_no_rehearsal(trouble: &Trouble) -> bool {
    trouble.refusal().is_some_and(|refusal| refusal.code == 404 || refusal.message.contains("dry run"))
}
