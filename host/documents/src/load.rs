//! Combines everything: inputs to one deployment, its definitions, and all faults at once.

mod assemble;
mod beside;
mod stored;
pub(crate) mod withheld;
mod written;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use purlin_model::{
    Bundle, ContextDefaults, ContextPlaces, Definition, Deployment, Diagnostic, GivenValue, Location,
    RequirementContext, ResourceRequest, ResourceType, Severity, Workload, Workspace,
};

use crate::SourceMap;
use crate::attached::{AttachedFile, FileContent, Files};
use crate::deployment::Spec;
use crate::heads::{ReadFrom, declares_resources};
use crate::lock::LOCK_FILE;
use crate::manifest::Draft;
use crate::reader::Reader;
use crate::recognise::{Format, GROUPS, Recognised, recognise};
use crate::resource_type::Written;
use crate::walk::{self, Collector, KeptFiles, Source, WORKSPACE_FILE};
use crate::yaml::{self, Document};
use assemble::Assembly;
pub use stored::{SourceText, load_sources};

/// Bytes of texts from which threads pay off.
const WORTH_THREADS: usize = 256 << 10;

/// How many faults of one severity are reported.
const MOST_FAULTS: usize = 100;

/// The source of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, or a folder that is walked recursively in lexical order.
    Path(PathBuf),
    /// The same, but files in the folder that declare resources are omitted: only provisioning is
    /// read from it.
    Catalog(PathBuf),
    /// A text that the caller has already read, such as standard input, named `-`.
    Text {
        /// Its name in faults.
        name: String,
        /// Its content.
        text: String,
    },
}

impl Input {
    fn as_path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) | Self::Catalog(path) => Some(path),
            Self::Text { .. } => None,
        }
    }
}

/// The content of documents.
///
/// Usable only if there is no error in `diagnostics`: faulty parts may be missing from the other
/// fields.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The context from the Deployments.
    pub context: ContextDefaults,
    /// The places of its parts.
    pub places: ContextPlaces,
    /// Values given beside the documents, which override those of Deployments; later ones override
    /// earlier ones.
    pub given: Vec<GivenValue>,
    /// What requirements are resolved with besides the documents: choices and existing installations.
    pub requirement_context: RequirementContext,
    /// Workloads, shared resources and values of all documents.
    pub deployment: Deployment,
    /// Definitions, in reading order.
    pub definitions: Vec<Definition>,
    /// Resource types, in reading order.
    pub resource_types: Vec<ResourceType>,
    /// Bundles, in reading order, each name and version once.
    pub bundles: Vec<Bundle>,
    /// The operator's configuration.
    pub workspace: Option<Workspace>,
    /// The groups whose manifests refer to one another by convention, besides the known ones: those
    /// of the Workspace in force.
    pub references: Vec<Arc<str>>,
    /// Faults, warnings and notes, by file and line.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts, to show faults in.
    pub sources: SourceMap,
    /// Their sources, in the given order; empty for documents that were read without their files.
    pub read_from: Vec<ReadFrom>,
    /// The place of each value of the Deployments.
    pub value_places: IndexMap<Arc<str>, Location>,
    texts: Vec<SourceText>,
}

impl Loaded {
    /// Whether a Deployment or a definition requires a bundle.
    pub fn requires_bundles(&self) -> bool {
        let requires = |one: &Definition| !one.recipe.requires.is_empty();
        !self.deployment.requires.is_empty() || self.definitions.iter().any(requires)
    }

    /// Whether there are errors, so that the rest must not be used.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Counts the workspace's grants of secret stores that it does not configure as faults: for a
    /// program without secret stores of its own.
    pub fn report_unknown_stores(&mut self) {
        self.diagnostics.extend(self.workspace.iter().flat_map(|workspace| workspace.unknown_stores.clone()));
    }

    /// Every text that was used, in reading order, so that [`load_sources`] can read all of it
    /// again when the files have changed. Excluded are files that hold only a Workspace or a Lock,
    /// because those are the operator's current configuration, and files that were found in a
    /// folder and skipped, because their content is not ours.
    pub fn sources(&self) -> &[SourceText] {
        &self.texts
    }
}

/// Documents during reading.
#[derive(Debug, Default)]
struct Reading {
    assembly: Assembly,
    sources: SourceMap,
    texts: Vec<SourceText>,
}

impl Reading {
    /// Takes the content of a text, and keeps the text. A file that is not ours is not kept for
    /// display either: it may contain secrets.
    fn take(&mut self, source: &Source, mut read: ReadText, scores: Vec<(Arc<str>, Arc<str>)>) {
        for piece in std::mem::take(&mut read.pieces) {
            self.assembly.take(piece);
        }
        if !read.foreign {
            self.sources.insert(source.name.clone(), source.text.clone());
        }
        let attached = std::mem::take(&mut read.attached);
        for file in &attached {
            if let FileContent::Text(text) = &file.content {
                self.sources.insert(Files::Folder(&source.folder).name(&file.path), text.clone());
            }
        }
        if read.used {
            let (name, text) = (source.name.clone(), source.text.clone());
            self.texts.push(SourceText { name, text, named: source.named, scores, files: attached });
        }
    }
}

/// Everything that was read, with all faults in the order of their places.
fn finish(reading: Reading, mut faults: Vec<Diagnostic>) -> Loaded {
    let Reading { mut assembly, sources, texts } = reading;
    assembly.manifests();
    assembly.suspects();
    let mut loaded = Loaded { sources, texts, ..assembly.loaded };
    loaded.diagnostics.append(&mut faults);
    loaded.diagnostics.sort_by(|a, b| a.location.cmp(&b.location));
    at_most(&mut loaded.diagnostics);
    loaded.diagnostics.iter_mut().for_each(|fault| loaded.sources.mask(fault));
    // They live as long as the run.
    loaded.deployment.shared.shrink_to_fit();
    loaded.deployment.workloads.shrink_to_fit();
    loaded.deployment.manifests.shrink_to_fit();
    loaded
}

/// Keeps the first faults of each severity, and counts the rest: thousands are never read, and
/// rendering them all would take too long.
fn at_most(faults: &mut Vec<Diagnostic>) {
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        let mut left_out = (0_usize, None);
        let mut seen = 0;
        faults.retain(|fault| {
            seen += usize::from(fault.severity == severity);
            let keep = fault.severity != severity || seen <= MOST_FAULTS;
            if !keep {
                left_out.0 += 1;
                left_out.1.get_or_insert_with(|| fault.location.clone());
            }
            keep
        });
        if let (count @ 1.., Some(location)) = left_out {
            let fault = Diagnostic::error("more-faults", format!("{count} more from here on are not shown"));
            faults.push(Diagnostic { severity, location, ..fault }.help("correct those before first"));
        }
    }
}

/// Reads documents (SPEC §2). Never fails and never stops at the first fault: all faults are in
/// [`Loaded::diagnostics`].
///
/// A file is read once, however often it is reached: named, walked to, or as `score:` of a
/// Deployment. Paths in documents stay in the folder that was named, or in that of the `purlin.yaml`
/// above them if it was named or only this user and root could have written it.
pub fn load(inputs: &[Input]) -> Loaded {
    let is_own = |file: &Path| matches!(purlin_files::stranger(file, &[purlin_files::user()]), Ok(None));
    load_within(inputs, &is_own)
}

/// The same, but `accepts` decides whether a `purlin.yaml` that was not named counts.
pub fn load_within(inputs: &[Input], accepts: &dyn Fn(&Path) -> bool) -> Loaded {
    let mut collector = Collector::new(accepts);
    for path in inputs.iter().filter_map(Input::as_path) {
        collector.written.extend(written::folders(path));
    }
    let mut left_out: HashSet<usize> = HashSet::new();
    for input in inputs {
        let first = collector.sources.len();
        match input {
            Input::Path(path) | Input::Catalog(path) => collector.path(path),
            Input::Text { name, text } => collector.text(name, text),
        }
        if let Input::Catalog(_) = input {
            let found = collector.sources.iter().enumerate().skip(first);
            left_out.extend(
                found
                    .filter(|(_, source)| !source.named && declares_resources(&source.text))
                    .map(|(at, _)| at),
            );
        }
    }
    let mut reading = Reading::default();
    // Deployments add Score files to the list during the loop.
    let mut next = 0;
    while next < collector.sources.len() {
        let batch: Vec<Source> = (next..collector.sources.len())
            .filter(|at| !left_out.contains(at))
            .filter_map(|at| collector.sources.get(at).cloned())
            .collect();
        next = collector.sources.len();
        each_read(&batch, |source, mut read| {
            let mut scores = Vec::with_capacity(read.scores.len());
            for (path, place) in std::mem::take(&mut read.scores) {
                if let Some(name) = collector.referenced(&source.folder, &path, &place) {
                    scores.push((path.to_string_lossy().into(), name));
                }
            }
            reading.take(source, read, scores);
        });
    }
    if let Some(workspace) = &mut reading.assembly.loaded.workspace {
        workspace.lock = beside::lock(&workspace.folder, &mut reading.sources, &mut collector.faults);
        let references = workspace.references.clone();
        reading.assembly.loaded.references = references;
    }
    let read_from = inputs.iter().map(|input| match input {
        Input::Path(path) | Input::Catalog(path) if path.is_dir() => ReadFrom::Folder(path.clone()),
        Input::Path(path) | Input::Catalog(path) => ReadFrom::File(path.clone()),
        Input::Text { name, .. } => ReadFrom::Text(name.as_str().into()),
    });
    Loaded { read_from: read_from.collect(), ..finish(reading, collector.faults) }
}

/// One item in a text.
enum Piece {
    Definition(Definition),
    Workload(Workload),
    Deployment(Box<Spec>),
    Shared(Vec<ResourceRequest>),
    ResourceType(Box<Written>),
    Workspace(Box<Workspace>),
    Bundle(Box<Bundle>),
    Manifest(Draft),
    Faults(Vec<Diagnostic>),
    /// Faults that are some only if there is a resource type of that name.
    Suspects(Vec<(Arc<str>, Diagnostic)>),
}

/// The content of a text, the files that it needs, and whether to keep it.
#[derive(Default)]
struct ReadText {
    /// In their order in the text.
    pieces: Vec<Piece>,
    /// Score files, as written.
    scores: Vec<(PathBuf, Location)>,
    /// Files whose content was used.
    attached: Vec<AttachedFile>,
    /// Whether something other than a Workspace was used from it, or was meant to be.
    used: bool,
    /// Nothing in it is ours, so nothing of its text is shown.
    foreign: bool,
}

impl ReadText {
    fn fault(&mut self, fault: Diagnostic) {
        self.pieces.push(Piece::Faults(vec![fault]));
    }

    /// Removes the text of the file from its faults: messages and help quote what is to be changed.
    fn withhold(&mut self) {
        for piece in &mut self.pieces {
            if let Piece::Faults(faults) = piece {
                const HELP: &str = "correct this place, or move the file elsewhere if it is not a document";
                faults.iter_mut().for_each(|fault| withheld::fault(fault, HELP));
            }
        }
    }
}

/// Reads texts and passes them on in order. All processors read large ones, a few texts at a time,
/// so that parsed data does not pile up.
fn each_read(sources: &[Source], mut take: impl FnMut(&Source, ReadText)) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for batch in sources.chunks(2 * threads) {
        let threads = match batch.iter().map(|source| source.text.len()).sum::<usize>() {
            size if size >= WORTH_THREADS => threads.min(batch.len()),
            _ => 1,
        };
        if threads == 1 {
            batch.iter().for_each(|source| take(source, read_source(source)));
            continue;
        }
        let read: Vec<OnceLock<ReadText>> = batch.iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let work = || {
                let turn = || Some(next.fetch_add(1, Ordering::Relaxed));
                while let Some((source, slot)) = turn().and_then(|at| batch.get(at).zip(read.get(at))) {
                    let _ = slot.set(read_source(source));
                }
            };
            (1..threads).for_each(|_| drop(std::thread::Builder::new().spawn_scoped(scope, work)));
            work();
        });
        for (source, read) in batch.iter().zip(read) {
            take(source, read.into_inner().unwrap_or_default());
        }
    }
}

/// Reads one text.
fn read_source(source: &Source) -> ReadText {
    let mut read = ReadText::default();
    let (mut workspaces, mut ours, mut others) = (0, 0, 0);
    let mut skipped: Vec<(Diagnostic, bool)> = Vec::new();
    let mut inside: Vec<Diagnostic> = Vec::new();
    let faults = yaml::parse(&source.name, &source.text, &mut |document| {
        let mut reader = Reader::new(&source.name, &source.text, false);
        reader.files = match &source.kept {
            KeptFiles::OnDisk => Files::Folder(&source.folder),
            KeptFiles::All(files) => Files::Kept(&source.folder, files),
        };
        let recognised = match recognise(&reader, &document.root) {
            // A user who names a Score file means one, and may lack the right to read another
            // one's.
            Recognised::Ours(Format::Manifest) if source.named_at.is_some() => {
                let fault = Diagnostic::error("not-a-document", "this is a manifest and not a Score file");
                Recognised::Other(fault.at(&reader.at(&document.root.span)))
            }
            recognised => recognised,
        };
        match recognised {
            Recognised::Ours(Format::Workspace | Format::Lock) => workspaces += 1,
            Recognised::Ours(_) | Recognised::Wrong(_) => ours += 1,
            Recognised::Other(_) | Recognised::Stray(_) => others += 1,
        }
        match recognised {
            Recognised::Ours(format) => {
                read_document(&mut reader, format, document, source, &mut read);
            }
            Recognised::Wrong(fault) => {
                reader.faults.extend(document.faults);
                // After a document of ours, it is most likely the rest of that.
                let cut_off = ours + workspaces > 1 && document.root.get("apiVersion").is_none();
                reader.report(match cut_off {
                    true => fault.fact("a `---` or `...` before it ends the document above"),
                    false => fault,
                });
            }
            // A key that is given twice may be the reason why it is not recognised.
            Recognised::Other(fault) => {
                inside.extend(duplicates(document));
                skipped.push((fault, false));
            }
            Recognised::Stray(fault) => {
                inside.extend(duplicates(document));
                skipped.push((fault, true));
            }
        }
        read.attached.append(&mut reader.attached);
        read.pieces.push(Piece::Faults(reader.faults));
        read.pieces.push(Piece::Suspects(reader.suspects));
    });
    for (fault, stray) in skipped {
        // Beside a document of ours, a part without a head was cut off by a `---` or `...`.
        let fault = match (stray && ours + workspaces > 0, source.named) {
            (true, _) => left_behind(fault),
            (false, true) => fault,
            (false, false) => skip(fault),
        };
        read.fault(fault);
    }
    if ours + workspaces > 0 || source.named {
        read.pieces.push(Piece::Faults(inside));
    } else if let Some(place) = inside.into_iter().find_map(|fault| fault.location) {
        // Nothing of a file of others is shown.
        let fault = Diagnostic::warning("duplicate-key", "skipped: a key is given twice");
        read.fault(fault.at(&place));
    }
    if workspaces == 0 && faults.is_empty() && is_workspace_file(source) {
        let place = Location::new(source.name.clone(), 1, 1);
        let fault = Diagnostic::error("no-workspace", no_workspace(&source.name));
        let help = "write `apiVersion: purlin.dev/v1` and `kind: Workspace` into it, or remove the file";
        read.fault(fault.at(&place).help(help));
        ours += 1;
    }
    let broken = !faults.is_empty();
    read.pieces.push(Piece::Faults(faults));
    // A file without a mark of ours may contain secrets, whoever named it.
    read.foreign = ours + workspaces == 0 && !(broken && has_mark(&source.text));
    if let (true, Some(place)) = (read.foreign, &source.named_at) {
        // Nothing of it is reported: the author of the path may lack the right to read the file.
        read.pieces.clear();
        let fault = Diagnostic::error("not-a-document", format!("`{}` is not a Score file", source.name));
        let help = "a Score file begins with `apiVersion: score.dev/v1b1`";
        read.fault(fault.at(place).help(help));
        return read;
    }
    if read.foreign {
        read.withhold();
    }
    ours += usize::from(broken);
    read.used = ours > 0 || (source.named && (others > 0 || workspaces == 0));
    read
}

/// Whether an unreadable text was most likely meant as a document of ours.
fn has_mark(text: &str) -> bool {
    let is_there = |(group, _): &(&str, &str)| text.contains(&format!("{group}/"));
    GROUPS.iter().any(is_there) || text.lines().any(|line| line.starts_with("modules:"))
}

/// Whether the file has the name of a Workspace, and should be read as one.
fn is_workspace_file(source: &Source) -> bool {
    Path::new(&*source.name).file_name().is_some_and(|name| name == WORKSPACE_FILE)
        && matches!(source.kept, KeptFiles::OnDisk)
}

/// The keys that are given twice in a document.
fn duplicates(document: Document<'_>) -> impl Iterator<Item = Diagnostic> {
    document.faults.into_iter().filter(|fault| fault.code == "duplicate-key")
}

fn skip(fault: Diagnostic) -> Diagnostic {
    let message = format!("skipped: {}", fault.message);
    Diagnostic { severity: Severity::Note, message, help: None, ..fault }
}

fn left_behind(fault: Diagnostic) -> Diagnostic {
    let message =
        "this part of the file belongs to no document: a `---` or `...` before it ends the one above";
    Diagnostic { code: "left-behind", message: message.to_owned(), ..fault }
        .help("remove the `---` or `...`; a document of its own begins with `apiVersion`")
}

fn read_document(
    reader: &mut Reader<'_>,
    format: Format,
    document: Document<'_>,
    source: &Source,
    read: &mut ReadText,
) {
    reader.faults.extend(document.faults);
    let root = &document.root;
    match format {
        Format::Definition { foreign } => {
            reader.foreign = foreign;
            reader.vocabulary = crate::definition::vocabulary(foreign);
            if let Some(definition) = crate::definition::read(reader, root) {
                read.pieces.push(Piece::Definition(definition));
            }
        }
        Format::Score => {
            read.pieces.extend(crate::score::read(reader, root).map(Piece::Workload));
        }
        Format::Deployment => {
            if let Some(mut spec) = crate::deployment::read(reader, root) {
                read.scores.append(&mut spec.scores);
                read.pieces.push(Piece::Deployment(Box::new(spec)));
            }
        }
        Format::DeploymentSet => {
            reader.foreign = true;
            let (workloads, shared) = crate::deployment_set::read(reader, root);
            read.pieces.extend(workloads.into_iter().map(Piece::Workload));
            read.pieces.push(Piece::Shared(shared));
        }
        Format::ResourceType => {
            if let Some(written) = crate::resource_type::read(reader, root) {
                read.pieces.push(Piece::ResourceType(Box::new(written)));
            }
        }
        Format::Workspace => match crate::workspace::read(reader, root, &source.folder) {
            Some(workspace) if source.governs => read.pieces.push(Piece::Workspace(Box::new(workspace))),
            Some(workspace) => reader.report(misplaced_workspace(source, &workspace.location)),
            None => {}
        },
        Format::Bundle(format) => {
            if let Some(bundle) = crate::bundle::read(reader, root, format) {
                read.pieces.push(Piece::Bundle(Box::new(bundle)));
            }
        }
        Format::Manifest => {
            for item in crate::manifest::items(root) {
                read.pieces.push(Piece::Manifest(Draft::new(reader.file, &source.text, item)));
            }
        }
        // The lock in force is the one beside the Workspace, which is read from there.
        Format::Lock => {
            let lock = crate::lock::read(reader, root);
            if Path::new(&*source.name).file_name().is_none_or(|name| name != LOCK_FILE) {
                let message =
                    format!("a Lock has no effect here: it is the file `{LOCK_FILE}` beside the Workspace");
                let fault = Diagnostic::error("misplaced-document", message).at(&lock.location);
                reader.report(fault.help(format!("give it a file of its own, `{LOCK_FILE}`")));
            }
        }
    }
}

/// The message for a file that should contain a Workspace and does not.
pub fn no_workspace(file: impl std::fmt::Display) -> String {
    format!("`{file}` does not contain a Workspace")
}

fn misplaced_workspace(source: &Source, place: &Location) -> Diagnostic {
    let message = format!("a Workspace has no effect here: it is the file `{WORKSPACE_FILE}` of the folder");
    let folder = walk::display(&source.folder);
    let has_name = is_workspace_file(source);
    let is_above = source.folder.ancestors().skip(1).any(walk::holds_workspace_file);
    let help = match source.named_at {
        Some(_) => "name a Score file, which begins with `apiVersion: score.dev/v1b1`".to_owned(),
        None if has_name && is_above => format!(
            "move it into the `{WORKSPACE_FILE}` at the top, or name this folder or file to work with it"
        ),
        None if has_name => format!("run the command in `{folder}`, or name this folder with `-f`"),
        None if is_above || walk::holds_workspace_file(&source.folder) => {
            format!("move it into the `{WORKSPACE_FILE}` at the top, or name this file to work with it")
        }
        None => format!("rename the file to `{WORKSPACE_FILE}`"),
    };
    Diagnostic::error("misplaced-document", message).at(place).help(help)
}

/// Reads one text, for tests of the formats.
#[cfg(test)]
pub(crate) fn load_text(text: &str) -> Loaded {
    load(&[Input::Text { name: "test.yaml".into(), text: text.into() }])
}

/// Names the place of an earlier document in an error about a duplicate.
fn twice(what: &str, name: &Arc<str>, place: &Location, first: &Location, help: &str) -> Diagnostic {
    Diagnostic::error("duplicate-document", format!("{what} `{name}` is given twice"))
        .at(place)
        .spanning(name.chars().count())
        .related(first, "first given here")
        .help(help)
}
