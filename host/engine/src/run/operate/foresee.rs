//! Ties an effect to what people agreed to (SPEC §8, `purlin:preview`): by the token of the forecast in the plan
//! or, where the plan did not know all inputs or the resource changed since, by a forecast just before the
//! effect, which may be weaker than that of the plan and not stronger.

use std::sync::Arc;

use purlin_model::Reason;
use purlin_model::driver::{Forecast, Part, RecordedPart, Token};
use purlin_state::Record;

use super::Task;
use super::call::repeatedly;
use crate::changes::ask;
use crate::changes::parts::GoingPart;
use crate::driver::{Call, Driver, Effect};
use crate::error::Cause;
use crate::values::predict;

/// What people agreed to.
pub(super) struct Agreed {
    /// The token for the effect.
    pub(super) token: Option<Token>,
    /// The parts of the resource after the effect, as last foreseen.
    pub(super) parts: Arc<[RecordedPart]>,
}

impl Task<'_> {
    /// What people agreed to for an effect of which the plan has this forecast, on a resource with the
    /// `recorded` parts. `is_as_planned` if the plan foresaw just this effect, with all inputs.
    ///
    /// # Errors
    /// [`Cause::MoreThanPlanned`] if more would happen to a part; [`Cause::Inconsistent`] if an output that was
    /// certain would be another one; or why the driver does not answer.
    pub(super) async fn agreed(
        self,
        driver: &dyn Driver,
        call: &Call,
        effect: Effect<'_>,
        recorded: &Arc<[RecordedPart]>,
        (planned, is_as_planned): (Option<&Forecast>, bool),
    ) -> Result<Agreed, Cause> {
        let agreed = |forecast: Option<&Forecast>| Agreed {
            token: forecast.and_then(|forecast| forecast.token.clone()),
            parts: RecordedPart::after(recorded, forecast.map_or(&[], |forecast| &forecast.parts)),
        };
        // The plan does not foresee the update of a resource that is adopted first.
        if (is_as_planned && planned.is_some()) || !driver.previews() {
            return Ok(agreed(planned));
        }
        let (shared, patience) = (self.shared, driver.patience());
        let foreseen = repeatedly(shared, self.effort, patience, || driver.preview(call, effect)).await?;
        self.effort.had_no_effects();
        let Some(now) = foreseen else { return Ok(agreed(None)) };
        let now = now.remembering(recorded);
        let contradicted = planned.and_then(|planned| predict::contradicted(&planned.outputs, &now.outputs));
        if let Some(path) = contradicted {
            return Err(Cause::Inconsistent { driver: driver.known_as().to_owned(), path });
        }
        let reasons = not_planned(planned.map_or(&[], |planned| &planned.parts), &now.parts);
        if reasons.is_empty() { Ok(agreed(Some(&now))) } else { Err(Cause::MoreThanPlanned { reasons }) }
    }

    /// The token for the deletion of a recorded resource. If the plan has no forecast, such as of a driver that
    /// could not give one, people agreed to the deletion without one.
    ///
    /// # Errors
    /// As [`Self::agreed`], if the resource is another one than in the plan.
    pub(super) async fn token_of_deletion(
        self,
        driver: &dyn Driver,
        record: &Record,
    ) -> Result<Option<Token>, Cause> {
        let planned = self.step.deletion.as_deref();
        if planned.is_none() {
            return Ok(None);
        }
        let id = record.id();
        let recorded = &self.shared.plan.recorded;
        // What this run made an old copy was the current one.
        let before = recorded.get(&id).or_else(|| recorded.current(&id.urn));
        let is_as_planned =
            before.is_some_and(|before| before.state == record.state && before.inputs == record.inputs);
        let (call, deletion) = (self.call(), ask::deletion(record));
        Ok(self.agreed(driver, &call, deletion, &record.parts, (planned, is_as_planned)).await?.token)
    }
}

/// The parts to which more happens than the plan says, or which lose data that it does not name.
fn not_planned(planned: &[Part], now: &[Part]) -> Vec<Reason> {
    let planned: Vec<GoingPart> = planned.iter().filter_map(GoingPart::of).collect();
    let is_more = |part: &&Part| GoingPart::of(part).is_some_and(|part| !part.is_in(&planned));
    let reason = |part: &Part| Reason::PartNotPlanned {
        part: part.address.as_str().into(),
        action: part.action,
        loses: part.loss().map(Into::into),
    };
    now.iter().filter(is_more).map(reason).collect()
}
