//! Renders diagnostics for people: the message, the line, and how to correct it.
//!
//! Everything shown comes from documents, so control characters, terminal escapes and marks that
//! change the text direction are made harmless, and endless lines and messages are cut.

pub(crate) mod hidden;
mod line;

use std::fmt::Write as _;
use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Message, Origin, Renderer, Snippet};
use purlin_model::{Diagnostic, Location, Severity};

use crate::SourceMap;
use line::{Shown, harmless, show};

/// How many diagnostics are shown.
const SHOWN: usize = 50;
/// How many related places of one diagnostic are shown.
const RELATED: usize = 10;
/// How many characters of a message are shown.
const MESSAGE: usize = 300;
/// The columns beside an excerpt, for the numbers of its lines and for the marks of a cut.
const MARGIN: usize = 16;
/// Places that are no further apart are in one snippet.
const NEAR: u32 = 100;

impl SourceMap {
    /// Diagnostics as text, by file and line, with a line break at the end. `width` is that of the
    /// terminal, in columns.
    pub fn render(&self, diagnostics: &[Diagnostic], color: bool, width: usize) -> String {
        let width = width.clamp(40, 400);
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let look = Look { renderer: renderer.term_width(width), widest: width - MARGIN };
        let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
        // An error must not be hidden by the end of the list.
        if sorted.len() > SHOWN {
            sorted.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
        }
        let hidden = sorted.split_off(sorted.len().min(SHOWN));
        sorted.sort_by(|a, b| a.location.cmp(&b.location));
        let mut text = String::new();
        let sources = self.hiding(diagnostics);
        for diagnostic in sorted {
            text.push_str(&sources.one(diagnostic, &look));
            text.push_str("\n\n");
        }
        if !hidden.is_empty() {
            let errors = hidden.iter().filter(|diagnostic| diagnostic.is_error()).count();
            let _ = writeln!(text, "and {} more, {errors} of them errors", hidden.len());
        } else if !text.is_empty() {
            text.pop();
        }
        text
    }

    /// A diagnostic as text, without a line break at the end.
    fn one(&self, diagnostic: &Diagnostic, look: &Look) -> String {
        let renderer = &look.renderer;
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let title = level.clone().primary_title(message(&diagnostic.message)).id(diagnostic.code);
        let group = self.places(Group::with_title(title), diagnostic, look.widest);
        let facts = facts(diagnostic);
        if diagnostic.location.is_some() || !diagnostic.related.is_empty() || facts.is_empty() {
            return renderer.render(&[group.elements(facts)]);
        }
        // In one group without places, an empty line would separate the facts from the title.
        let facts = Group::with_level(level).elements(facts);
        format!("{}\n{}", renderer.render(&[group]), renderer.render(&[facts]))
    }

    /// Adds the places of a diagnostic to its title.
    fn places(&self, mut group: Group<'static>, diagnostic: &Diagnostic, widest: usize) -> Group<'static> {
        let (near, far) = self.related(diagnostic);
        if let Some(location) = &diagnostic.location {
            group = self.place(group, (location, diagnostic.length), None, &near, widest);
        }
        for (location, what) in far {
            group = self.place(group, (location, 0), Some(what), &[], widest);
        }
        if diagnostic.related.len() > RELATED {
            let more = diagnostic.related.len() - RELATED;
            group = group.element(Level::NOTE.message(format!("and {more} more places")));
        }
        group
    }

    /// Related places in two groups: those that fit in the snippet of the place itself, and the
    /// others.
    fn related<'d>(&self, diagnostic: &'d Diagnostic) -> (Vec<&'d Related>, Vec<&'d Related>) {
        diagnostic.related.iter().take(RELATED).partition(|(location, _)| {
            diagnostic.location.as_ref().is_some_and(|place| {
                place.file == location.file
                    && place.line.abs_diff(location.line) <= NEAR
                    && self.fits(place)
                    && self.fits(location)
            })
        })
    }

    /// Whether the line of a place is shown completely.
    fn fits(&self, location: &Location) -> bool {
        self.line(&location.file, location.line).is_some_and(|line| line.len() <= line::MAX_LINE)
    }

    fn place(
        &self,
        group: Group<'static>,
        (location, length): (&Location, u32),
        label: Option<&str>,
        near: &[&Related],
        widest: usize,
    ) -> Group<'static> {
        let path = harmless(if location.file.is_empty() { "<text>" } else { &location.file });
        let origin = Origin::path(path.clone());
        let (line_number, column) = (location.line as usize, location.column as usize);
        let Some(line) = self.line(&location.file, location.line) else {
            let origin = if line_number > 0 { origin.line(line_number).char_column(column) } else { origin };
            let group = group.element(origin);
            return match label {
                Some(label) => group.element(Level::NOTE.message(message(&format!("{label}: {location}")))),
                None => group,
            };
        };
        if near.is_empty() {
            let shown = show(line, location.column, length, widest);
            let kind = if label.is_some() { AnnotationKind::Context } else { AnnotationKind::Primary };
            let annotation = kind.span(shown.span).label(label.map(message));
            let snippet = Snippet::source(shown.text).line_start(line_number).annotation(annotation);
            // A snippet gets the column from its own text, so a cut line needs another way to show
            // it.
            return if shown.cut {
                group.element(origin.line(line_number).char_column(column)).element(snippet)
            } else {
                group.element(snippet.path(path))
            };
        }
        let lines = near.iter().map(|(place, _)| place.line).chain([location.line]);
        let (first, last) =
            lines.fold((u32::MAX, 0), |(first, last), line| (first.min(line), last.max(line)));
        let mut source = String::new();
        let mut annotations: Vec<Annotation<'static>> = Vec::new();
        for number in first..=last {
            let line = self.line(&location.file, number).unwrap_or_default();
            let mut mark = |column, length, kind: AnnotationKind, label: Option<String>| {
                let Shown { span, .. } = show(line, column, length, widest);
                let span: Range<usize> = source.len() + span.start..source.len() + span.end;
                annotations.push(kind.span(span).label(label));
            };
            if number == location.line {
                mark(location.column, length, AnnotationKind::Primary, None);
            }
            for (place, what) in near.iter().filter(|(place, _)| place.line == number) {
                mark(place.column, 0, AnnotationKind::Context, Some(message(what)));
            }
            source.push_str(&show(line, 1, 0, widest).text);
            source.push('\n');
        }
        let snippet = Snippet::source(source).path(path).line_start(first as usize);
        group.element(snippet.annotations(annotations))
    }
}

/// How diagnostics are shown.
struct Look {
    renderer: Renderer,
    /// How many characters of a line are marked.
    widest: usize,
}

/// The notes and the help of a diagnostic.
fn facts(diagnostic: &Diagnostic) -> Vec<Message<'static>> {
    let notes = diagnostic.notes.iter().map(|note| Level::NOTE.message(message(note)));
    notes.chain(diagnostic.help.iter().map(|help| Level::HELP.message(message(help)))).collect()
}

/// A place that is related to a fault, and how.
type Related = (Location, String);

/// A message, made harmless and short.
fn message(text: &str) -> String {
    let mut shown = harmless(text);
    if let Some((cut, _)) = shown.char_indices().nth(MESSAGE) {
        shown.truncate(cut);
        shown.push('…');
    }
    shown
}
