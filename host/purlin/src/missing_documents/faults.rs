//! The faults of vanished documents: what is missing, which resources depend on it, and how to
//! accept it.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_documents::DocumentHead;
use purlin_engine::Base;
use purlin_graph::{Graph, Origin};
use purlin_model::{Diagnostic, Key, Location, Urn};
use purlin_state::Environment;

use super::{Comparison, FileState, MissingFile};
use crate::archive::Archive;
use crate::files::shown;
use crate::last_deployment::{LastDeployed, LastDocuments};
use crate::{Documents, Error, Purlin};

/// The maximum number of files, documents and resources in a list.
const LISTED: usize = 5;

impl Purlin {
    /// Compares documents with those of the last deployment of their environment. Costs nothing if
    /// they are equal, and compares nothing if they are those of an earlier deployment.
    ///
    /// # Errors
    /// [`Error::Documents`] if a file of the last deployment no longer contains documents or was
    /// not read, unless the user accepted that, and if the documents declare nothing at all.
    pub async fn check_vanished(&self, documents: &Documents) -> Result<(), Error> {
        let base = self.base(&documents.environment()).await?;
        self.reject_missing_documents(documents, &base).await
    }

    pub(crate) async fn reject_missing_documents(
        &self,
        documents: &Documents,
        base: &Base,
    ) -> Result<(), Error> {
        if !documents.files.are_here() {
            return Ok(());
        }
        let mut faults = Vec::new();
        let environment = documents.environment();
        match self.last_beside(documents, base).await? {
            LastDocuments::Same => {}
            LastDocuments::Other(last) => {
                let archive = last.archive()?;
                faults.extend(workspace(documents, &archive, &last, &environment));
                faults.extend(made_meanwhile(documents, &archive, &environment));
                let inputs = archive.inputs.clone();
                let comparison = Comparison::new(documents, archive);
                let lost = comparison.lost();
                let is_mistake = |lost: &&MissingFile| !lost.accepted;
                let empty: Vec<&MissingFile> = lost
                    .iter()
                    .filter(is_mistake)
                    .filter(|lost| matches!(lost.state, FileState::Empty(_)))
                    .collect();
                let unread: Vec<&MissingFile> = lost
                    .iter()
                    .filter(is_mistake)
                    .filter(|lost| matches!(lost.state, FileState::Unread { .. }))
                    .collect();
                if !empty.is_empty() {
                    let from = self.came_from(&last, base).await;
                    let of = |lost: &MissingFile| from.get(&*lost.then).map_or(&[][..], Vec::as_slice);
                    faults.extend(empty.iter().map(|lost| without_documents(lost, &last, of(lost))));
                }
                if !unread.is_empty() {
                    faults.push(not_named(&unread, &last, &inputs));
                }
                faults.extend(comparison.slips(&lost));
                if !documents.declare_nothing() {
                    faults.extend(comparison.emptied(&lost, last.deployment.number));
                }
                let is_accepted = !lost.is_empty() && lost.iter().all(|lost| lost.accepted);
                if faults.is_empty() && documents.declare_nothing() && !is_accepted {
                    faults.push(nothing_left(base, &environment));
                }
            }
            LastDocuments::Unknown => {
                faults.extend(self.workspace_of_others(documents, &environment).await?);
                if faults.is_empty() {
                    faults.extend(match base.is_empty() {
                        true => documents.nothing_declared(),
                        false => documents.declare_nothing().then(|| nothing_left(base, &environment)),
                    });
                }
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(Error::Documents(faults)) }
    }

    /// If nothing is recorded in the current environment and there is no workspace: reports whether
    /// other environments of this state had a workspace, which then probably named the environment.
    async fn workspace_of_others(
        &self,
        documents: &Documents,
        environment: &Environment,
    ) -> Result<Option<Diagnostic>, Error> {
        if documents.files.workspace.is_some() {
            return Ok(None);
        }
        for other in self.environments().await? {
            if other != *environment
                && let Some(last) = self.last_deployed(&other).await?
                && let Some(fault) = workspace(documents, &last.archive()?, &last, &other)
            {
                return Ok(Some(fault));
            }
        }
        Ok(None)
    }

    /// The recorded resources that each file of the last deployment declared or provisioned, by the
    /// file's name at that time.
    async fn came_from(&self, last: &LastDeployed, base: &Base) -> BTreeMap<String, Vec<Key>> {
        let mut from: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        let Ok(then) = last.documents("") else { return from };
        let Ok(graph) = self.graph(&then).await else { return from };
        for node in graph.nodes() {
            if base.current(&Urn::new(&then.context, node.key)).is_none() {
                continue;
            }
            let mut files = files_of(&then, &graph, &node);
            files.sort_unstable();
            files.dedup();
            for file in files {
                from.entry(file.to_string()).or_default().push(node.key.clone());
            }
        }
        from
    }
}

fn files_of(then: &Documents, graph: &Graph, node: &purlin_graph::Node<'_>) -> Vec<Arc<str>> {
    let origins = graph.origins(node.id);
    let declared = origins.iter().filter_map(|origin| match origin {
        Origin::Declared { location, .. } | Origin::Manifest { location } => Some(location.file.clone()),
        _ => None,
    });
    let workload = then.workload_of(node.key).map(|workload| workload.location.file.clone());
    let definition = node.definition.map(|definition| definition.location.file.clone());
    declared.chain(workload).chain(definition).collect()
}

/// The fault of a file that still exists but contains no documents.
fn without_documents(lost: &MissingFile, last: &LastDeployed, resources: &[Key]) -> Diagnostic {
    let MissingFile { name, contained, state, .. } = lost;
    let number = last.deployment.number;
    let what = list(contained.iter().map(DocumentHead::to_string));
    let (subject, place) = match &**name {
        "-" => ("standard input", None),
        _ => ("this file", Some(Location::new(name.clone(), 0, 0))),
    };
    let message =
        format!("{subject} contained the {what} in deployment {number}, and contains no document now");
    let mut fault = Diagnostic::error("file-without-documents", message);
    fault.location = place;
    if let FileState::Empty(why) = state {
        fault = fault.fact(*why);
    }
    if !resources.is_empty() {
        let (noun, verb) = if resources.len() == 1 { ("resource", "comes") } else { ("resources", "come") };
        let keys = list(resources.iter().map(|key| format!("`{}`", key.short())));
        fault = fault.fact(format!("{} recorded {noun} {verb} from it: {keys}", resources.len()));
    }
    match &**name {
        "-" => fault.help("give the documents again, or accept this with `--accept-missing -`"),
        name => fault.help(format!(
            "restore the file, or remove it if its documents should be deleted, or accept this with `--accept-missing {}`",
            word(name)
        )),
    }
}

/// The fault of files that were not read at all.
fn not_named(unread: &[&MissingFile], last: &LastDeployed, inputs: &[Arc<str>]) -> Diagnostic {
    let number = last.deployment.number;
    let message = match unread {
        [one] if &*one.name == "-" => {
            format!("deployment {number} was made from standard input too, which was not read this time")
        }
        [one] => {
            format!("deployment {number} was made from `{}` too, which was not read this time", one.name)
        }
        several => {
            format!("deployment {number} was made from {} files that were not read this time", several.len())
        }
    };
    let mut fault = Diagnostic::error("files-not-named", message);
    for lost in unread.iter().take(LISTED) {
        let what = list(lost.contained.iter().map(DocumentHead::to_string));
        let gone = match lost.state {
            FileState::Unread { exists: false } if &*lost.name != "-" => "; it no longer exists",
            _ => "",
        };
        fault = fault.fact(format!("`{}` contained the {what}{gone}", lost.name));
    }
    if unread.len() > LISTED {
        fault = fault.fact(format!("and {} more", unread.len() - LISTED));
    }
    if !inputs.is_empty() {
        let inputs: Vec<String> = inputs.iter().map(|input| named(input)).collect();
        fault = fault
            .fact(format!("deployment {number} read `{}`, from the workspace's folder", inputs.join(" ")));
    }
    let accept: Vec<String> = unread.iter().take(LISTED).map(|lost| accepting(&lost.name)).collect();
    let accept = match unread.len() > 2 {
        true => "`--accept-missing FILE|DIR`".to_owned(),
        false => format!("`{}`", accept.join(" ")),
    };
    fault.help(format!("name them as well, or accept that what they declare is deleted with {accept}"))
}

/// The fault of a deployment that another user made after this run read the existing installations:
/// names could now refer to different ones.
fn made_meanwhile(documents: &Documents, archive: &Archive, environment: &Environment) -> Option<Diagnostic> {
    let known = documents.loaded.requirement_context.installed.as_ref()?;
    let now = archive.requirement_context().installed?;
    // A watch plans again after its own deployments.
    let is_known = now == *known || now == documents.resolution.installed();
    let message = format!("someone else has just deployed to {environment}");
    (!is_known).then(|| Diagnostic::error("deployed-meanwhile", message).help("run the same command again"))
}

/// The fault of empty documents, with recorded resources.
fn nothing_left(base: &Base, environment: &Environment) -> Diagnostic {
    let count = base.all_current().count();
    let noun = if count == 1 { "resource is" } else { "resources are" };
    let message = format!("the documents declare no resources, and {count} {noun} recorded in {environment}");
    Diagnostic::error("no-documents", message)
        .help("`purlin destroy` deletes the recorded resources; `-f FILE|DIR` names other documents")
}

/// The fault of a missing workspace file, if an earlier deployment had one.
fn workspace(
    documents: &Documents,
    archive: &Archive,
    last: &LastDeployed,
    environment: &Environment,
) -> Option<Diagnostic> {
    let then = archive.workspace.as_ref().filter(|_| documents.files.workspace.is_none())?;
    let path = documents.files.find(then);
    if documents.accepts(then, Some(&path)) {
        return None;
    }
    let name = shown(&path);
    let what =
        if path.symlink_metadata().is_ok() { "no longer contains a Workspace" } else { "no longer exists" };
    let number = last.deployment.number;
    let message = format!("this file was the Workspace of deployment {number} of {environment}, and {what}");
    let fault = Diagnostic::error("workspace-missing", message).at(&Location::new(name.clone(), 0, 0));
    let fault =
        fault.fact("it may set the environment, the location of the state, and the grants of drivers");
    Some(fault.help(format!("restore the file, or accept this with `--accept-missing {}`", word(&name))))
}

/// The option that names an input again. The name of a text from an option is the option itself.
fn named(input: &str) -> String {
    if input.starts_with("--") { input.to_owned() } else { format!("-f {}", word(input)) }
}

/// The option that accepts that something is missing.
pub(super) fn accepting(name: &str) -> String {
    let between = if name.starts_with("--") { '=' } else { ' ' };
    format!("--accept-missing{between}{}", word(name))
}

/// The first few items as a list in words.
pub(super) fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    let count = items.len();
    let shown: Vec<String> = items.take(LISTED).collect();
    match (shown.split_last(), count > LISTED) {
        (None, _) => String::new(),
        (Some(_), true) => format!("{} and {} more", shown.join(", "), count - LISTED),
        (Some((only, [])), false) => only.clone(),
        (Some((last, before)), false) => format!("{} and {last}", before.join(", ")),
    }
}

/// A word, quoted for a shell if necessary.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.escape_debug().to_string().replace('\'', r"'\''"))
}
