//! Which outputs a change leaves unchanged.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use purlin_go_template::{Engine, Host};
use purlin_sdk::{Failure, Impact, ImpactRequest, Inputs, State};

use crate::inputs::TemplateInputs;
use crate::{World, cookie, make_with};

/// Everything changes in place. Templates render the same outputs from the same inputs, so
/// rendering them shows which outputs keep their value. A plan does not touch resources that read
/// only those.
pub(crate) fn of(request: &ImpactRequest<TemplateInputs>) -> Result<Impact, Failure> {
    let mut impact = Impact::default();
    if !request.after.unknown.is_empty() {
        return Ok(impact);
    }
    let after = Inputs { given: request.after.parse()?, sensitive: request.after.sensitive.clone() };
    let world = Arc::new(Watched::default());
    let cookie = cookie(&request.state, &after)?;
    let id = &request.state.id;
    let made = make_with(&Engine::new(world.clone()), id, &request.subject.guresid, &after, cookie)?;
    // Random values and the time differ between calls. If the names of the outputs change, a plan
    // would treat the new ones as absent.
    if !world.is_used.load(Ordering::Relaxed) && names(&made) == names(&request.state) {
        let is_kept = |name: &&String| {
            let (now, before) = (&made, &request.state);
            now.outputs.get(*name) == before.outputs.get(*name)
                && now.secrets.get(*name) == before.secrets.get(*name)
        };
        impact.keep(&made, names(&made).into_iter().filter(is_kept));
    }
    Ok(impact)
}

fn names(state: &State) -> BTreeSet<&String> {
    state.outputs.keys().chain(state.secrets.keys()).collect()
}

/// The world, and whether a template used random values or the time from it.
#[derive(Default)]
struct Watched {
    is_used: AtomicBool,
}

impl Host for Watched {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String> {
        self.is_used.store(true, Ordering::Relaxed);
        World.fill(buffer)
    }

    fn now(&self) -> Result<i64, String> {
        self.is_used.store(true, Ordering::Relaxed);
        World.now()
    }
}
