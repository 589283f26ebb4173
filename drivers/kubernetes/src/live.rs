//! The objects that a resource consists of: their record, their owner and their outputs.

use data_encoding::{BASE64, HEXLOWER};
use purlin_sdk::{Call, Failure, Json, State};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::inputs::{KubernetesInputs, KubernetesOutputs, SplitManifest};
use crate::object::{self, Identity, MARK};
use crate::observe;

/// Outputs that every resource has, so that the inputs cannot define outputs with these names.
pub(crate) const OUTPUTS: [&str; 7] =
    ["api_version", "kind", "namespace", "name", "uid", "objects", "digest"];

/// An object that exists, or did when it was last seen.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) identity: Identity,
    /// Empty if unknown.
    pub(crate) uid: String,
}

impl Known {
    /// The objects of a resource, from its record.
    pub(crate) fn recorded(state: &State) -> Result<Vec<Self>, Failure> {
        let listed = state.outputs.get("objects").and_then(Json::as_array).into_iter().flatten();
        let known: Vec<Self> = listed.filter_map(Self::read).collect();
        if !known.is_empty() {
            return Ok(known);
        }
        let named = object::read_id(&state.id)?.0.into_iter().flatten();
        Ok(named.map(|identity| Self { identity, uid: String::new() }).collect())
    }

    fn read(listed: &Json) -> Option<Self> {
        let text = |name: &str| listed[name].as_str().map(str::to_owned);
        let identity = Identity {
            api_version: text("api_version")?,
            kind: text("kind")?,
            namespace: text("namespace"),
            name: text("name")?,
        };
        Some(Self { identity, uid: text("uid").unwrap_or_default() })
    }

    fn listed(&self) -> Json {
        let Identity { api_version, kind, namespace, name } = &self.identity;
        let mut listed = json!({"api_version": api_version, "kind": kind, "name": name, "uid": self.uid});
        if let Some(namespace) = namespace {
            listed["namespace"] = namespace.as_str().into();
        }
        listed
    }
}

/// Who owns a live object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Ours,
    /// Another resource of Purlin owns it; its mark.
    Another(String),
    Nobodys,
}

/// An object is ours by the mark, or because it is the recorded one, even if somebody changed its
/// labels since.
pub(crate) fn whose(live: &Json, guresid: &str, recorded: &[Known]) -> Whose {
    let uid = object::uid(live);
    if object::mark(live) == Some(guresid) || recorded.iter().any(|known| !uid.is_empty() && known.uid == uid)
    {
        return Whose::Ours;
    }
    match object::mark(live) {
        Some(mark) => Whose::Another(mark.to_owned()),
        None => Whose::Nobodys,
    }
}

/// The data kept for a resource beside its outputs.
#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct Cookie {
    /// The life of its objects; none if they were adopted.
    pub(crate) life: Option<String>,
    /// Whether they were not ready when they were last seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) waiting: bool,
}

impl Cookie {
    pub(crate) fn of(state: &State) -> Self {
        state.read_cookie().ok().flatten().unwrap_or_default()
    }

    /// The life that begins with a `create`; all attempts at one creation share it.
    pub(crate) fn begin(call: &Call) -> Self {
        let digest = HEXLOWER.encode(&Sha256::digest(call.idempotency_key.as_bytes()));
        Self { life: digest.get(..16).map(str::to_owned), waiting: false }
    }

    /// The same for objects that are not ready, or no longer.
    pub(crate) fn waiting(&self, waiting: bool) -> Self {
        Self { life: self.life.clone(), waiting }
    }
}

/// Why an object of another resource is left alone.
pub(crate) fn of_another(identity: &Identity, mark: &str) -> Failure {
    Failure::conflict(format!(
        "{} belongs to another resource of Purlin: its label `{MARK}` is `{mark}`",
        identity.short()
    ))
}

/// The state of a resource of these objects; `live` has the existing ones, in the order of the
/// manifests.
pub(crate) fn state(
    id: &str,
    inputs: &KubernetesInputs,
    known: &[Known],
    live: &[Option<Json>],
    cookie: &Cookie,
) -> Result<State, Failure> {
    let mut outputs = KubernetesOutputs {
        objects: known.iter().map(Known::listed).collect(),
        digest: inputs.has_secret_parts().then(|| digest(&inputs.manifests(), live)),
        ..KubernetesOutputs::default()
    };
    if let Some(Known { identity, uid }) = known.first() {
        outputs.api_version = Some(identity.api_version.clone());
        outputs.kind = Some(identity.kind.clone());
        outputs.name = Some(identity.name.clone());
        outputs.namespace.clone_from(&identity.namespace);
        outputs.uid = Some(uid.clone());
    }
    let mut state = State::new(id).described_outputs(&outputs)?.cookie(cookie)?;
    for (wanted, secret) in [(&inputs.values.outputs, false), (&inputs.values.secret_outputs, true)] {
        for (name, pointer) in wanted {
            let Some((value, hidden)) = pointer.as_str().and_then(|place| output(inputs, live, place)) else {
                continue;
            };
            let to = if secret || hidden { &mut state.secrets } else { &mut state.outputs };
            to.insert(name.clone(), value);
        }
    }
    Ok(state)
}

/// The value at a pointer into the live objects, and whether it comes from a Secret. Data of a
/// Secret is returned as text if it is text.
fn output(inputs: &KubernetesInputs, live: &[Option<Json>], place: &str) -> Option<(Json, bool)> {
    let (index, place) = match inputs.is_single() {
        true => (0, place.to_owned()),
        false => {
            let (index, rest) = place.strip_prefix('/')?.split_once('/')?;
            (index.parse::<usize>().ok()?, format!("/{rest}"))
        }
    };
    let object = live.get(index)?.as_ref()?;
    let value = object.pointer(&place)?;
    if !object::is_secret(object) {
        return Some((value.clone(), false));
    }
    let hidden = place.starts_with("/data");
    let decoded = value
        .as_str()
        .filter(|_| place.starts_with("/data/"))
        .and_then(|text| String::from_utf8(BASE64.decode(text.as_bytes()).ok()?).ok());
    Some((decoded.map_or_else(|| value.clone(), Json::String), hidden))
}

/// A digest of the live values of the secret parts: it changes when somebody changes them, and
/// reveals nothing else.
pub(crate) fn digest(given: &[SplitManifest<'_>], live: &[Option<Json>]) -> String {
    let mut hasher = Sha256::new();
    for (given, live) in given.iter().zip(live) {
        let (Some(secret), Some(live)) = (given.secret, live) else { continue };
        hasher.update(observe::raw(secret, live).to_string());
        hasher.update([0]);
    }
    HEXLOWER.encode(&hasher.finalize())
}
