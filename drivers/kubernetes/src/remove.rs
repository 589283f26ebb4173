//! Deletes objects, the last applied first, and waits for a moment until they are gone.

use std::time::{Duration, Instant};

use purlin_sdk::{Failure, Json, log, operation};

use crate::api::Api;
use crate::discovery::ObjectLocation;
use crate::inputs::Deletion;
use crate::live::{Cookie, Known};
use crate::object;
use crate::wait::{self, AGAIN, MOMENT};

/// The first pause between two checks; later ones are longer.
const FIRST: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(2);

/// The owner of the objects to delete.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) guresid: &'a str,
    pub(crate) cookie: &'a Cookie,
}

impl Owner<'_> {
    /// By its uid, or by the marks: then it was created again in the same life, as a backup does.
    /// An object of another life took its place, and is not ours.
    fn has(&self, live: &Json, known: &Known) -> bool {
        let same = !known.uid.is_empty() && object::uid(live) == known.uid;
        let life = object::life(live);
        let marked = object::mark(live) == Some(self.guresid);
        same || (marked && (life.is_none() || life == self.cookie.life.as_deref()))
    }
}

/// An object that is being deleted, and is still there.
pub(crate) struct Going {
    /// Why it is still there, for people.
    pub(crate) message: String,
    /// Whether there are others whose deletion has to wait for it.
    pub(crate) others_wait: bool,
}

impl Going {
    /// The answer to a deletion; the next one continues.
    pub(crate) fn pending(self) -> Failure {
        Failure::pending(AGAIN, self.message)
    }
}

/// Deletes our objects among these. Missing ones are fine; ones that others created in their place
/// stay. Returns the first that is not gone in a moment, or in `patience` if others have to wait for it.
pub(crate) fn all(
    api: &Api,
    known: &[Known],
    owner: Owner<'_>,
    namespace: &str,
    how: &Deletion,
    patience: Duration,
) -> Result<Option<Going>, Failure> {
    let mut ranks: Vec<u8> = known.iter().map(|known| object::rank(&known.identity.kind)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let begun = Instant::now();
    for (left, rank) in ranks.into_iter().enumerate().rev() {
        let others_wait = left > 0;
        let patience = if others_wait { patience } else { MOMENT };
        let mut going = Vec::new();
        for known in known.iter().filter(|known| object::rank(&known.identity.kind) == rank) {
            going.extend(one(api, known, owner, namespace, how)?);
        }
        for (place, uid) in going {
            if let Some(message) = until_gone(api, &place, &uid, begun, patience)? {
                return Ok(Some(Going { message, others_wait }));
            }
        }
    }
    Ok(None)
}

/// Deletes one object; returns its place and uid if it may still exist.
fn one(
    api: &Api,
    known: &Known,
    owner: Owner<'_>,
    namespace: &str,
    how: &Deletion,
) -> Result<Option<(ObjectLocation, String)>, Failure> {
    let what = known.identity.short();
    let failure = |trouble: crate::api::Trouble| trouble.failure(&what, "");
    // Without its kind there is no object either.
    let Some(place) = api.place(&known.identity, namespace).map_err(failure)? else { return Ok(None) };
    // Somebody may create it again between the check and the deletion: then it is checked again.
    for _ in 0..3 {
        let Some(live) = api.get(&place.path).map_err(failure)? else { return Ok(None) };
        if !owner.has(&live, known) {
            log::warn(format!("{what} no longer belongs to this resource, and is kept"));
            return Ok(None);
        }
        let uid = object::uid(&live).to_owned();
        if object::is_terminating(&live) {
            return Ok(Some((place, uid)));
        }
        operation::progress(&format!("deleting {what}"), None);
        match api.delete(&place.path, &uid, how.propagation.policy()) {
            Ok(()) => return Ok(Some((place, uid))),
            Err(trouble) if trouble.refusal().is_some_and(|refusal| refusal.code == 409) => {}
            Err(trouble) => return Err(failure(trouble)),
        }
    }
    Err(Failure::conflict(format!("{what}: others keep recreating it while it is being deleted")))
}

/// Waits until an object is gone; returns why it is still there.
fn until_gone(
    api: &Api,
    place: &ObjectLocation,
    uid: &str,
    begun: Instant,
    patience: Duration,
) -> Result<Option<String>, Failure> {
    let what = place.identity.short();
    let mut pause = FIRST;
    loop {
        let live = match api.get(&place.path) {
            Ok(live) => live,
            // Was its kind deleted with it, or did a proxy answer that knows no paths?
            Err(trouble) if trouble.is_no_path() => {
                api.forget(&place.identity.api_version);
                match api.place(&place.identity, "") {
                    Ok(None) => return Ok(None),
                    _ => return Err(trouble.failure(&what, "")),
                }
            }
            Err(trouble) => return Err(trouble.failure(&what, "")),
        };
        let Some(live) = live.filter(|live| object::uid(live) == uid) else { return Ok(None) };
        let why = wait::not_gone(&what, &live);
        if begun.elapsed() >= patience || api.client.pause(pause).is_err() {
            return Ok(Some(why));
        }
        if pause >= LONGEST {
            operation::progress(&why, None);
        }
        pause = (pause * 3 / 2).min(LONGEST);
    }
}
