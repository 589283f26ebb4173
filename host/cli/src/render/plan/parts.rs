//! Renders the parts of a resource below it, as its driver foresees them.

use purlin_engine::Step;
use purlin_model::driver::{Part, PartAction};

use super::{INDENT, PlanView, SHOWN_OF_CHANGED, sign};
use crate::style::{DELETE, DIM, UPDATE, paint};
use crate::text;

/// The columns of a sign with its word.
const SIGN: usize = 9;

/// The parts of a resource to which something happens: those first that lose data, then others that go away.
pub(super) fn render(out: &mut String, step: &Step, look: PlanView) {
    let parts = Part::most_severe_first(step.parts());
    let all = parts.len();
    let shown = if look.everything || all <= SHOWN_OF_CHANGED + 1 { all } else { SHOWN_OF_CHANGED };
    let room = look.columns.map_or(usize::MAX, |columns| columns.saturating_sub(INDENT + 4).max(20));
    for part in parts.into_iter().take(shown) {
        let sign = part_sign(part.action);
        let address = text::line(&part.address);
        match part.moved_from.as_deref().map(text::line) {
            None => out.push_str(&format!("{:INDENT$}  {sign} {address}\n", "")),
            Some(before) if text::width(&before) + text::width(&address) + SIGN + 4 <= room => {
                out.push_str(&format!("{:INDENT$}  {sign} {before} → {address}\n", ""));
            }
            // The new address has a line of its own, so that both can be read and copied.
            Some(before) => {
                out.push_str(&format!("{:INDENT$}  {sign} {before}\n{:INDENT$}    → {address}\n", "", ""));
            }
        }
        let reason = part.notes.get("reason").and_then(|reason| Some(reason.as_str()?.to_owned()));
        let loss = part.loss().map(|what| (DELETE, format!("loses data: {what}")));
        for (style, text) in loss.into_iter().chain(reason.map(|reason| (DIM, reason))) {
            for line in text::wrap(&text::line(&text), room) {
                out.push_str(&format!("{:INDENT$}    {}\n", "", paint(style, line)));
            }
        }
    }
    if all > shown {
        let more = format!("… and {} more parts (--verbose)", all - shown);
        out.push_str(&format!("{:INDENT$}  {}\n", "", paint(DIM, more)));
    }
}

/// The coloured sign and word of what happens to a part.
fn part_sign(action: PartAction) -> String {
    match action {
        PartAction::None => paint(UPDATE, "→ move"),
        PartAction::Create => sign("create"),
        PartAction::Read => sign("read"),
        PartAction::Update => sign("update"),
        PartAction::CreateThenDelete | PartAction::DeleteThenCreate => sign("replace"),
        PartAction::Delete => sign("delete"),
        PartAction::Adopt => sign("adopt"),
        PartAction::Forget => paint(DIM, "= forget"),
    }
}
