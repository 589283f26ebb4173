//! Recovers the readable parts of a damaged journal.

use super::frame::{self, FRAME, FrameKind, HEADER, Head, Header, LONGEST};
use super::scan::whole_frame;
use crate::packed;
use crate::table::{Entry, Table};

/// The recovered parts of a journal.
#[derive(Debug, Default)]
pub(crate) struct Rescue {
    /// Its generation and id, if the header is intact.
    pub(crate) header: Option<(u64, [u8; 16])>,
    /// Whether its base is intact.
    pub(crate) base: bool,
    /// The frames and the remains of damaged ones, in order.
    pub(crate) parts: Vec<JournalPart>,
}

/// A frame, or the bytes between two intact frames.
#[derive(Debug)]
pub(crate) struct JournalPart {
    /// The number of the last frame in this part.
    pub(crate) last: u64,
    /// The readable entries.
    pub(crate) entries: Vec<Entry>,
    /// The position of the damage, if this part is damaged.
    pub(crate) broken: Option<u64>,
}

/// The name of what is lost if the base of a journal is damaged.
pub(crate) const LOST_BASE: &str = "an unknown part of the base of the journal";

/// The name of what is lost in a damaged part at this position.
pub(crate) fn lost_at(at: u64) -> String {
    format!("changes at byte {at} of the journal, except those named in another line")
}

/// Splits the bytes of a journal. An incomplete frame at the very end is ignored: a crash can leave
/// one, and it was never acknowledged.
pub(crate) fn rescue(bytes: &[u8]) -> Rescue {
    let header = Header::parse(bytes).map(|(header, _)| (header.generation, header.id));
    let mut found = Rescue { header, ..Rescue::default() };
    let mut base = Table::default();
    let (mut at, mut last) = (HEADER.min(bytes.len()), 0);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let Some((head, payload)) = whole(rest) else {
            let Some(next) = whole_frame(rest, last) else { break };
            let behind = rest.get(next..).and_then(Head::parse).map_or(last, |head| head.number);
            // Reads the entries as if only the frame's head were damaged.
            let entries = rest
                .get(FRAME..next)
                .map(|payload| frame::entries(payload).flatten().map(frame::owned).collect());
            found.parts.push(JournalPart {
                last: behind.saturating_sub(1),
                entries: entries.unwrap_or_default(),
                broken: Some(at as u64),
            });
            at += next;
            continue;
        };
        let mut entries = Vec::new();
        match head.kind {
            FrameKind::Base | FrameKind::Changes => {
                entries = frame::entries(payload).flatten().map(frame::owned).collect()
            }
            FrameKind::Packed => {
                let payload = packed::unpack(payload, LONGEST).unwrap_or_default();
                entries = frame::entries(&payload).flatten().map(frame::owned).collect();
            }
            FrameKind::End => found.base = frame::get_tally(payload) == Some(base.tally()),
            FrameKind::Closed => {}
        }
        if matches!(head.kind, FrameKind::Base | FrameKind::Packed) {
            entries.iter().cloned().for_each(|(key, value)| base.apply(key, value));
        }
        found.parts.push(JournalPart { last: head.number, entries, broken: None });
        last = head.number;
        at += FRAME + head.length;
    }
    found
}

fn whole(bytes: &[u8]) -> Option<(Head, &[u8])> {
    let (head, behind) = bytes.split_at_checked(FRAME)?;
    let parsed = Head::parse(head)?;
    let payload = behind.get(..parsed.length)?;
    parsed.proves(head, payload).then_some((parsed, payload))
}
