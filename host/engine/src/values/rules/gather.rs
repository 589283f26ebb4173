//! Gathers faults that belong together, so that each mistake is reported once.

use std::collections::{HashMap, HashSet};

use purlin_model::{Diagnostic, Key, Location};

/// The faults without duplicates, in order. A fault in a definition occurs for each of its
/// resources.
pub(crate) fn once(mut faults: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut reported = HashSet::new();
    faults.retain(|fault| reported.insert((fault.code, fault.location.clone(), fault.message.clone())));
    faults
}

/// The faults in the inputs of resources, those at one place together. A fault in a definition occurs
/// for each of its resources: it is reported once, and names them. If its message contains the values
/// of one of them, those of the others become notes.
pub(crate) fn by_place(faulty: Vec<(Key, Vec<Diagnostic>)>) -> Vec<Diagnostic> {
    type Place = (&'static str, Option<Location>, String);
    let mut order: Vec<Place> = Vec::new();
    let mut groups: HashMap<Place, Vec<(Key, Vec<Diagnostic>)>> = HashMap::new();
    for (key, faults) in faulty {
        for fault in faults {
            // Without a place, only equal messages are about the same.
            let message = if fault.location.is_none() { fault.message.clone() } else { String::new() };
            let place = (fault.code, fault.location.clone(), message);
            let group = groups.entry(place.clone()).or_insert_with(|| {
                order.push(place);
                Vec::new()
            });
            match group.last_mut() {
                Some((last, here)) if *last == key => here.push(fault),
                _ => group.push((key.clone(), vec![fault])),
            }
        }
    }
    order.iter().filter_map(|place| groups.remove(place)).flat_map(together).collect()
}

/// The faults of several resources at one place.
fn together(group: Vec<(Key, Vec<Diagnostic>)>) -> Vec<Diagnostic> {
    /// How many other messages are shown.
    const SHOWN: usize = 5;
    let said = |faults: &[Diagnostic]| {
        faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>().join("; ")
    };
    let first = group.first().map(|(_, faults)| said(faults)).unwrap_or_default();
    let (same, others): (Vec<_>, Vec<_>) = group.iter().partition(|(_, faults)| said(faults) == first);
    let keys: Vec<&Key> = same.iter().map(|(key, _)| key).collect();
    let mut notes: Vec<String> =
        others.iter().take(SHOWN).map(|(key, faults)| format!("for `{key}`: {}", said(faults))).collect();
    if let Some(more) = others.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        notes.push(format!("and for {more} more"));
    }
    let is_one = group.len() == 1;
    let mut faults: Vec<Diagnostic> = same.first().map(|(_, faults)| faults.clone()).unwrap_or_default();
    if !is_one {
        faults = faults.into_iter().map(|fault| fault.concerning(&keys)).collect();
    }
    if let Some(last) = faults.last_mut() {
        last.notes.extend(notes);
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_at_one_place_are_reported_once() {
        let key = |name: &str| Key::parse(&format!("thing#shared.{name}")).expect("a key");
        let place = Location { file: "a.yaml".into(), line: 3, column: 5 };
        let fault = |message: &str| Diagnostic::error("invalid-inputs", message).at(&place);
        let elsewhere =
            Diagnostic::error("invalid-inputs", "port").at(&Location { line: 9, ..place.clone() });
        let alike = ["a", "b", "c"].map(|name| (key(name), vec![fault("text")]));
        let all = by_place(alike.into_iter().chain([(key("d"), vec![elsewhere.clone()])]).collect());
        assert_eq!(all.len(), 2);
        let named = "for `thing.default#shared.a`, `thing.default#shared.b`, `thing.default#shared.c`";
        assert_eq!(all[0].notes, [named]);
        assert_eq!(all[1], elsewhere);

        // What only one of them meets is not lost.
        let other = (0..8).map(|n| (key(&format!("x{n}")), vec![fault(&format!("text {n}")), fault("more")]));
        let all = by_place(other.collect());
        assert_eq!(all.iter().map(|one| one.message.as_str()).collect::<Vec<_>>(), ["text 0", "more"]);
        assert_eq!(
            all[1].notes[..2],
            ["for `thing.default#shared.x0`", "for `thing.default#shared.x1`: text 1; more"]
        );
        assert_eq!(all[1].notes.last().map(String::as_str), Some("and for 2 more"));
    }
}
