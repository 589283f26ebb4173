//! Reads the objects of a resource.

use purlin_sdk::{Failure, Json, Observed, Raw, ReadRequest, State};

use crate::api::{Api, Apply};
use crate::discovery::ObjectLocation;
use crate::inputs::{KubernetesInputs, SplitManifest, WaitFor};
use crate::live::{self, Cookie, Known, Whose};
use crate::object::{self, Identity};
use crate::ready::Progress;
use crate::{observe, wait};

/// Why the driver looks for the objects, which decides who may own them.
enum Reason {
    /// They are recorded.
    Record(Vec<Known>),
    /// A person named them for an import.
    Import(Vec<Identity>),
    /// This resource may have created them. They are found by an id of ours or by name; by name, an
    /// object of another owner is an error.
    Recovery {
        by_name: bool,
        /// The beginning of the life in an id of ours.
        life: Option<String>,
    },
}

struct Look<'a> {
    api: Api,
    inputs: &'a KubernetesInputs,
    guresid: &'a str,
    reason: Reason,
}

/// The state of an existing resource; none if there is nothing.
pub(crate) fn read(request: &ReadRequest<KubernetesInputs>) -> Result<Option<Observed>, Failure> {
    let inputs = request.inputs.parse()?;
    let reason = match (&request.state, &request.id) {
        (Some(state), _) => Reason::Record(Known::recorded(state)?),
        (None, Some(id)) => match object::read_id(id)? {
            (_, Some(owner)) => {
                let life = owner.split_once('-').map(|(_, life)| life.to_owned());
                Reason::Recovery { by_name: false, life }
            }
            (None, None) => Reason::Recovery { by_name: false, life: None },
            (Some(named), None) => Reason::Import(named),
        },
        (None, None) => Reason::Recovery { by_name: true, life: None },
    };
    let api = Api::new(&inputs, &request.call);
    let look = Look { api, inputs: &inputs, guresid: &request.subject.guresid, reason };
    look.observe(request)
}

impl Look<'_> {
    fn observe(&self, request: &ReadRequest<KubernetesInputs>) -> Result<Option<Observed>, Failure> {
        let given = self.inputs.manifests();
        let mut live = Vec::with_capacity(given.len());
        let mut places = Vec::with_capacity(given.len());
        for given in &given {
            let place = self.place(given)?;
            live.push(match &place {
                Some(place) => self.find(place)?,
                None => None,
            });
            places.push(place);
        }
        let mut known: Vec<Known> = Vec::new();
        for (place, live) in places.iter().zip(&live) {
            if let (Some(place), Some(live)) = (place, live) {
                known.push(Known { identity: place.identity.clone(), uid: object::uid(live).to_owned() });
            }
        }
        let mut progress = self.progress(&places, &live);
        // Objects that are recorded and not among the inputs wait to be pruned.
        if let Reason::Record(recorded) = &self.reason {
            let others = recorded
                .iter()
                .filter(|known| !places.iter().flatten().any(|place| place.identity.is(&known.identity)));
            for other in others {
                let Some(place) = self.known_place(&other.identity)? else { continue };
                let Some(live) = self.find(&place)? else { continue };
                known.push(Known { uid: object::uid(&live).to_owned(), ..other.clone() });
                if progress == Progress::Ready && object::is_terminating(&live) {
                    progress = Progress::Waiting(wait::not_gone(&other.identity.short(), &live));
                }
            }
        }
        if known.is_empty() {
            return Ok(None);
        }
        let identities = known.iter().map(|known| &known.identity);
        let cookie = Self::cookie(request, &live);
        let own = || object::resource_id(identities, self.guresid, cookie.life.as_deref());
        let id = request.id.clone().unwrap_or_else(own);
        let state = |waiting| live::state(&id, self.inputs, &known, &live, &cookie.waiting(waiting));
        if let Reason::Recovery { .. } = self.reason {
            match &progress {
                // Only a part exists, or it will not work: it will be created again, and there is
                // nothing to compare.
                _ if live.iter().any(Option::is_none) => return Ok(Some(state(false)?.into())),
                Progress::Stuck(_) => return Ok(Some(state(false)?.into())),
                Progress::Waiting(why) => return Err(state(true)?.pending(wait::AGAIN, why)),
                Progress::Ready => {}
            }
        }
        // In an import, they may be as people wrote them.
        let mut inputs = Raw::new(request.inputs.document().clone());
        crate::check::normalise(&mut inputs);
        let given_values = inputs.get("/values").cloned().unwrap_or_default();
        let mut values = given_values.clone();
        self.tell(&mut values, &given, &places, &live);
        let digest = |state: &State| state.outputs.get("digest").cloned();
        let seen = state(false)?;
        let is_same = values == given_values
            && request.state.as_ref().is_none_or(|recorded| digest(recorded) == digest(&seen));
        match progress {
            Progress::Ready => {}
            // Only an update repairs what is not as it was meant to be, so that is shown first.
            Progress::Waiting(why) if is_same => return Err(state(true)?.pending(wait::AGAIN, why)),
            // A run that waits for it must not take it for ready.
            Progress::Stuck(why) if is_same && cookie.waiting => return Err(Failure::failed(why)),
            // It exists, but does not work, or no longer.
            Progress::Waiting(_) | Progress::Stuck(_) => {
                if let Some(wait) = values.get_mut("wait").and_then(Json::as_object_mut) {
                    wait.insert("for".to_owned(), "exists".into());
                }
            }
        }
        Observed::new(seen, values).map(Some)
    }

    /// The progress of the existing objects, if they are to become ready.
    fn progress(&self, places: &[Option<ObjectLocation>], live: &[Option<Json>]) -> Progress {
        if self.inputs.values.wait.until != WaitFor::Ready {
            return Progress::Ready;
        }
        let there = places.iter().zip(live);
        wait::progress(&self.api, there.filter_map(|(place, live)| place.as_ref().zip(live.as_ref())))
    }

    /// The life that is recorded, or that the objects have.
    fn cookie(request: &ReadRequest<KubernetesInputs>, live: &[Option<Json>]) -> Cookie {
        match &request.state {
            Some(state) => Cookie::of(state),
            None => {
                let life = live.iter().flatten().find_map(object::life).map(str::to_owned);
                Cookie { life, waiting: false }
            }
        }
    }

    /// The path of an object; none if the cluster has no such kind.
    fn place(&self, given: &SplitManifest<'_>) -> Result<Option<ObjectLocation>, Failure> {
        let Some(wanted) = Identity::of(given.manifest) else { return Ok(None) };
        let identity = match &self.reason {
            // The single requested object, whatever the manifest calls it.
            Reason::Import(named) if self.inputs.is_single() => match named.as_slice() {
                [only] => only.clone(),
                _ => {
                    return Err(Failure::failed("`values.manifest` is one object, and the id names several"));
                }
            },
            _ => wanted,
        };
        self.known_place(&identity)
    }

    fn known_place(&self, identity: &Identity) -> Result<Option<ObjectLocation>, Failure> {
        let place = self.api.place(identity, &self.inputs.values.namespace);
        place.map_err(|trouble| trouble.failure(&identity.short(), ""))
    }

    /// A live object, if it is this resource's.
    fn find(&self, place: &ObjectLocation) -> Result<Option<Json>, Failure> {
        let what = place.identity.short();
        let Some(live) = self.api.get(&place.path).map_err(|trouble| trouble.failure(&what, ""))? else {
            return Ok(None);
        };
        let recorded = match &self.reason {
            Reason::Record(recorded) => recorded.as_slice(),
            _ => &[],
        };
        match (live::whose(&live, self.guresid, recorded), &self.reason) {
            // An object of another life existed before, and is not the one that was created.
            (Whose::Ours, Reason::Recovery { life: Some(life), .. }) => {
                let same = object::life(&live).is_some_and(|of| of.starts_with(life.as_str()));
                Ok(same.then_some(live))
            }
            (Whose::Ours, _) => Ok(Some(live)),
            (Whose::Another(_), Reason::Record(_)) => Ok(None),
            (Whose::Another(mark), _) => Err(live::of_another(&place.identity, &mark)),
            (Whose::Nobodys, Reason::Import(named)) => {
                Ok(named.iter().any(|named| named.may_be(&place.identity)).then_some(live))
            }
            (Whose::Nobodys, Reason::Recovery { by_name: true, .. }) => {
                Err(Failure::conflict(format!("{what} exists, but does not belong to this resource")))
            }
            // Somebody created it after ours was gone, or before ours existed.
            (Whose::Nobodys, Reason::Record(_) | Reason::Recovery { .. }) => Ok(None),
        }
    }

    /// Replaces the inputs with the observed ones.
    fn tell(
        &self,
        values: &mut Json,
        given: &[SplitManifest<'_>],
        places: &[Option<ObjectLocation>],
        live: &[Option<Json>],
    ) {
        let mut seen: Vec<Json> = Vec::with_capacity(given.len());
        for ((given, place), live) in given.iter().zip(places).zip(live) {
            let (Some(place), Some(live)) = (place, live) else { continue };
            let wire =
                object::wire(given, place.identity.namespace.as_deref(), self.guresid, object::life(live));
            let how = Apply { force: true, rehearse: true, ..Apply::default() };
            // A user who may not even rehearse it still sees most of the differences.
            let meant = Identity::of(given.manifest).is_some_and(|meant| meant.may_be(&place.identity));
            let applied = if meant { self.api.apply(&place.path, &wire, how).ok() } else { None };
            let seen_one = observe::manifest(given.manifest, live, applied.as_ref());
            seen.push(seen_one);
        }
        if self.inputs.is_single() {
            values["manifest"] = seen.pop().unwrap_or_default();
        } else {
            values["manifests"] = seen.into();
        }
    }
}
