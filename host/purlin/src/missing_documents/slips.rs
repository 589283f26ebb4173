//! Slips in a file that was deployed: a document that is still there and is not read any more, a
//! placeholder that has become text, a definition that is one letter away from the one that
//! matched. What was taken out of a file is not a slip.

use std::collections::HashSet;

use purlin_documents::{
    Content, DocumentHead, SourceText, WITHOUT_DOLLAR, content, load_sources, meant_placeholder,
};
use purlin_expression::{is_slip, one_edit};
use purlin_model::{Context, Criterion, Definition, Diagnostic, Location};

use super::{Comparison, MissingFile};
use crate::Documents;

impl Comparison<'_> {
    /// The slips in all files that were deployed, except in those in which the user accepted them.
    pub(crate) fn slips(&self, lost: &[MissingFile]) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        let diagnostics = &self.documents.loaded.diagnostics;
        let warnings: Vec<&Diagnostic> =
            diagnostics.iter().filter(|warning| warning.code == WITHOUT_DOLLAR).collect();
        let texts: HashSet<&str> =
            self.documents.loaded.sources().iter().map(|source| &*source.text).collect();
        for (then, path) in self.then.iter().filter(|(then, _)| !texts.contains(&*then.text)) {
            let lost = lost.iter().find(|lost| lost.then == then.name);
            let path = self.absolute(then, path.as_deref());
            let Some(now) = self.read(then, path.as_deref()) else { continue };
            if self.documents.accepts(&then.name, path.as_deref()) {
                continue;
            }
            if let Some(lost) = lost {
                let contents = (content(&then.name, &then.text), content(&now.name, &now.text));
                faults.extend(of_documents((&contents.0, &contents.1), &lost.left));
            }
            let here = |warning: &&&Diagnostic| {
                warning.location.as_ref().is_some_and(|place| place.file == now.name)
            };
            faults.extend(of_placeholders(then, now, warnings.iter().filter(here).copied()));
            faults.extend(of_definitions(self.documents, then, now));
        }
        faults
    }
}

/// The definitions of a file that matched before, and are one letter away from that.
fn of_definitions(documents: &Documents, then: &SourceText, now: &SourceText) -> Vec<Diagnostic> {
    let here = documents.definition_index.definitions().iter().filter(|one| one.location.file == now.name);
    let here: Vec<&Definition> = here.collect();
    if here.is_empty() {
        return Vec::new();
    }
    let before = load_sources(vec![then.clone()], &[]).definitions;
    let slip = |new: &Definition| {
        let old = before.iter().find(|old| old.id == new.id)?;
        if is_slip(&new.type_pattern, &old.type_pattern) {
            return Some((new.location.clone(), format!("`type: {}`", old.type_pattern)));
        }
        let changed = new.criteria.iter().filter(|one| !old.criteria.iter().any(|old| is_same(one, old)));
        changed.flat_map(|one| old.criteria.iter().map(move |old| (one, old))).find_map(|(one, old)| {
            let is_gone = !new.criteria.iter().any(|new| is_same(new, old));
            let correct = criterion(&documents.context, one, old).filter(|_| is_gone)?;
            Some((one.location.clone(), correct))
        })
    };
    let fault = |new: &Definition| {
        let (place, correct) = slip(new)?;
        let message = format!("the definition `{}` had {correct} before, and is one letter away", new.id);
        let help = format!("did you mean {correct}? Otherwise {}", accept(Some(&place)));
        Some(Diagnostic::error("similar-criterion", message).at(&place).help(help))
    };
    here.into_iter().filter_map(fault).collect()
}

/// The field of a criterion that matched the context, if this one misspells it.
fn criterion(context: &Context, now: &Criterion, then: &Criterion) -> Option<String> {
    let fields = [
        ("env_type", &now.env_type, &then.env_type, Some(&context.env.kind)),
        ("app_id", &now.app_id, &then.app_id, Some(&context.app)),
        ("env_id", &now.env_id, &then.env_id, Some(&context.env.id)),
        ("res_id", &now.res_id, &then.res_id, None),
    ];
    let class = (now.class != then.class).then(|| {
        is_slip(now.class.as_str(), then.class.as_str()).then(|| format!("`class: {}`", then.class))
    });
    let mut changed = fields
        .into_iter()
        .filter(|(_, now, then, _)| now != then)
        .map(|(name, now, then, matched)| {
            let (now, then) = (now.as_ref()?, then.as_ref()?);
            let did_match = matched.is_none_or(|matched| matched == then);
            (did_match && is_slip(now, then)).then(|| format!("`{name}: {then}`"))
        })
        .chain(class);
    let first = changed.next().flatten()?;
    changed.next().is_none().then_some(first)
}

/// Whether two criteria are equal, wherever they are.
fn is_same(one: &Criterion, other: &Criterion) -> bool {
    Criterion { location: other.location.clone(), ..one.clone() } == *other
}

/// Whether definitions of the same name match differently, so that [`of_definitions`] may find a slip.
pub(crate) fn may_be_slips(before: &[Definition], now: &[Definition]) -> bool {
    let matches_alike = |one: &Definition, other: &Definition| {
        one.type_pattern == other.type_pattern
            && one.criteria.len() == other.criteria.len()
            && one.criteria.iter().zip(&other.criteria).all(|(one, other)| is_same(one, other))
    };
    now.iter().any(|now| before.iter().any(|then| then.id == now.id && !matches_alike(then, now)))
}

/// The documents that are still there in another form, of those that a file has lost.
fn of_documents((then, now): (&Content, &Content), lost: &[DocumentHead]) -> Vec<Diagnostic> {
    if lost.is_empty() {
        return Vec::new();
    }
    let mut faults = of_groups((then, now), lost);
    for part in now.newly_unread(then) {
        let message = "this part of the file is no document, and the file has lost one";
        let mut fault = Diagnostic::error("document-not-read", message);
        fault.location.clone_from(&part.fault.location);
        fault = fault.fact(format!("the file contained the {} before", words(lost)));
        fault = fault.fact(part.fault.message.clone());
        faults.push(fault.help(format!(
            "correct it, or remove it if its document should be deleted, or {}",
            accept(part.fault.location.as_ref())
        )));
    }
    faults
}

/// The manifests whose group is one letter away from the one that they had. The type of a manifest
/// depends on a part of its group, so that a lost `.` changes more than a letter of the type.
fn of_groups((then, now): (&Content, &Content), lost: &[DocumentHead]) -> Vec<Diagnostic> {
    let new: Vec<&DocumentHead> = now.heads.iter().filter(|head| !then.heads.contains(head)).collect();
    let fault = |old: &DocumentHead| {
        let group = old.group.as_ref()?;
        let is_near = |head: &&&DocumentHead| {
            let near = head.group.as_ref().is_some_and(|own| own != group && one_edit(own, group));
            near && (head.kind, &head.name) == (old.kind, &old.name)
        };
        let found = new.iter().find(is_near)?;
        let message = format!("the {old} had the group `{group}` before, and is one letter away");
        let help = format!("did you mean `{group}`? Otherwise {}", accept(Some(&found.location)));
        Some(Diagnostic::error("similar-type", message).at(&found.location).help(help))
    };
    lost.iter().filter_map(fault).collect()
}

/// The placeholders that have become text.
fn of_placeholders<'a>(
    then: &SourceText,
    now: &SourceText,
    warnings: impl Iterator<Item = &'a Diagnostic>,
) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for warning in warnings {
        let Some(place) = &warning.location else { continue };
        let Some(correct) = meant_placeholder(&now.text, place) else { continue };
        let count = |text: &str| text.matches(&*correct).count();
        if count(&then.text) > count(&now.text) {
            let message = format!("the file read `{correct}` before, and this is text");
            let fault = Diagnostic::error(WITHOUT_DOLLAR, message);
            let help = format!("write `{correct}` to read the value, or {}", accept(Some(place)));
            faults.push(Diagnostic { length: warning.length, ..fault.at(place) }.help(help));
        }
    }
    faults
}

fn accept(place: Option<&Location>) -> String {
    let name = place.map_or("FILE", |place| &*place.file);
    format!("accept this with `{}`", super::faults::accepting(name))
}

fn words(lost: &[DocumentHead]) -> String {
    super::faults::list(lost.iter().map(DocumentHead::to_string))
}
