//! Installations, as plain data.

use purlin_host::InstallationState;
use purlin_model::User;
use purlin_state::Environment;
use serde::Serialize;

/// A list of installations.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct List {
    pub(crate) format: u8,
    pub(crate) installations: Vec<Listed>,
}

/// An installation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listed {
    /// `NAMESPACE/NAME`.
    pub(crate) id: String,
    pub(crate) urn: String,
    pub(crate) key: Option<String>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) bundle: Option<String>,
    /// Null if it is not shared.
    pub(crate) group: Option<String>,
    /// Whether a user set the group with a command.
    pub(crate) set_manually: bool,
    /// The interface that its bundle declares.
    pub(crate) interface: Option<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) ready: bool,
    pub(crate) handed_over: bool,
    #[serde(flatten)]
    pub(crate) environment: Environment,
    pub(crate) users: Vec<Using>,
}

/// A user of an installation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Using {
    pub(crate) urn: String,
    /// The accepted versions; null if any version is accepted.
    pub(crate) version: Option<String>,
    pub(crate) outputs: Vec<String>,
}

impl Listed {
    pub(crate) fn new(one: &InstallationState) -> Self {
        let listed = &one.listed;
        let share = &listed.share;
        let key = listed.urn.key();
        let name = key.as_ref().map(|key| key.id().to_owned()).unwrap_or_default();
        Self {
            id: format!("{}/{name}", share.namespace),
            urn: listed.urn.to_string(),
            key: key.map(|key| key.to_string()),
            namespace: share.namespace.to_string(),
            name,
            bundle: listed.definition.as_deref().map(str::to_owned),
            group: share.group.as_deref().map(str::to_owned),
            set_manually: share.by_hand,
            interface: share.provides.as_deref().map(str::to_owned),
            outputs: share.offers.iter().map(|output| output.name.to_string()).collect(),
            ready: listed.is_ready,
            handed_over: listed.abandoned,
            environment: one.environment.clone(),
            users: one.users.iter().map(Using::new).collect(),
        }
    }
}

impl Using {
    fn new(user: &User) -> Self {
        Self {
            urn: user.urn.to_string(),
            version: user.needs.version.as_deref().map(str::to_owned),
            outputs: user.needs.outputs.iter().map(ToString::to_string).collect(),
        }
    }
}
