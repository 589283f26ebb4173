//! Documents as they were, kept with the history and with saved plans: every text that was read,
//! and the context that was settled.

use purlin_documents::{AttachedFile, FileContent, Loaded, SourceText, load_sources};
use purlin_model::{Context, ContextDefaults};
use serde::{Deserialize, Serialize};

use crate::{Documents, Error};

/// The newest form that is read, and the one that is written.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Archive {
    format: u32,
    context: Settled,
    sources: Vec<Text>,
}

#[derive(Serialize, Deserialize)]
struct Settled {
    org: String,
    app: String,
    env: String,
    env_type: String,
    namespace: String,
}

#[derive(Serialize, Deserialize)]
struct Text {
    name: String,
    text: String,
    named: bool,
    scores: Vec<(String, String)>,
    /// Files that content was taken from; none where an older program did not read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<Vec<Attached>>,
}

#[derive(Serialize, Deserialize)]
struct Attached {
    path: String,
    #[serde(flatten)]
    content: Content,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    Text(String),
    Bytes(Vec<u8>),
}

impl Documents {
    /// Everything that they were read from, as bytes. They hold what secrets the documents hold.
    pub fn archive(&self) -> Vec<u8> {
        let Context { org, app, env, namespace, .. } = &*self.context;
        let archive = Archive {
            format: FORMAT,
            context: Settled {
                org: org.to_string(),
                app: app.to_string(),
                env: env.id.to_string(),
                env_type: env.kind.to_string(),
                namespace: namespace.to_string(),
            },
            sources: self
                .loaded
                .sources()
                .iter()
                .map(|source| Text {
                    name: source.name.to_string(),
                    text: source.text.to_string(),
                    named: source.named,
                    scores: source
                        .scores
                        .iter()
                        .map(|(name, text)| (name.to_string(), text.to_string()))
                        .collect(),
                    files: source.files.as_ref().map(|files| files.iter().map(attached).collect()),
                })
                .collect(),
        };
        // Text and numbers always become JSON.
        serde_json::to_vec(&archive).unwrap_or_default()
    }

    /// Documents from such bytes, in the context of then, for a deployment of now.
    ///
    /// # Errors
    /// [`Error::Archive`] when they are not what this program or an older one wrote;
    /// [`Error::Documents`] when what was right then is wrong now.
    pub fn from_archive(bytes: &[u8], deployment_id: &str) -> Result<Self, Error> {
        let damaged = |what: &str| Error::Archive(what.to_owned());
        let archive: Archive =
            serde_json::from_slice(bytes).map_err(|_| damaged("the documents kept do not read as such"))?;
        if archive.format > FORMAT {
            return Err(damaged("the documents were kept by a newer version of purlin; use that"));
        }
        let Settled { org, app, env, env_type, namespace } = archive.context;
        let flags = ContextDefaults {
            org: Some(org.into()),
            app: Some(app.into()),
            env: Some(env.into()),
            env_type: Some(env_type.into()),
            namespace: Some(namespace.into()),
        };
        let sources = archive.sources.into_iter().map(|text| SourceText {
            name: text.name.into(),
            text: text.text.into(),
            named: text.named,
            scores: text.scores.into_iter().map(|(name, text)| (name.into(), text.into())).collect(),
            files: text.files.map(|files| files.into_iter().map(file).collect()),
        });
        let mut loaded: Loaded = load_sources(sources.collect());
        // The context was settled then; what the documents say about it went into that.
        loaded.context = ContextDefaults::default();
        Self::new(loaded, &flags, None, deployment_id)
    }
}

fn attached(file: &AttachedFile) -> Attached {
    let content = match &file.content {
        FileContent::Text(text) => Content::Text(text.to_string()),
        FileContent::Bytes(bytes) => Content::Bytes(bytes.to_vec()),
    };
    Attached { path: file.path.to_string(), content }
}

fn file(file: Attached) -> AttachedFile {
    let content = match file.content {
        Content::Text(text) => FileContent::Text(text.into()),
        Content::Bytes(bytes) => FileContent::Bytes(bytes.into()),
    };
    AttachedFile { path: file.path.into(), content }
}
