//! The driver's inputs and outputs.

use purlin_sdk::{Failure, Faults, Input, Inputs, Json, Outputs, Raw};

// ANCHOR: described
/// Path, content and mode.
#[derive(Inputs)]
pub struct FileInputs {
    values: Values,
    secrets: Secrets,
}

#[derive(Input)]
struct Values {
    /// The path of the file in a granted folder, without `..`.
    #[input(replaces, reaches = "dir")]
    path: String,
    /// The content. Either this or `secrets.content` is required.
    content: Option<String>,
    /// Permission bits such as `"0640"`. WASI does not support them, so the system sets the
    /// permissions.
    #[input(pattern = "^0?[0-7]{3}$")]
    mode: Option<String>,
}

#[derive(Input)]
struct Secrets {
    /// The content, if it is secret.
    content: Option<String>,
}

/// The outputs.
#[derive(Outputs)]
pub(crate) struct FileOutputs {
    /// The normalised path.
    pub(crate) path: String,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The SHA-256 digest of the content, in hexadecimal.
    pub(crate) sha256: String,
}
// ANCHOR_END: described

impl FileInputs {
    /// The path in its only spelling.
    pub(crate) fn path(&self) -> String {
        normal(&self.values.path)
    }

    /// The content that the file should have.
    pub(crate) fn content(&self) -> &[u8] {
        let content = self.secrets.content.as_ref().or(self.values.content.as_ref());
        content.map(String::as_bytes).unwrap_or_default()
    }

    /// Permission bits, if the inputs set any.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.values.mode.as_ref().and_then(|mode| u32::from_str_radix(mode, 8).ok())
    }

    pub(crate) fn validate(&self) -> Result<(), Failure> {
        let mut faults = Faults::default();
        check_path(&self.values.path, &mut faults);
        match (&self.values.content, &self.secrets.content) {
            (Some(_), Some(_)) => {
                faults.add("/secrets/content", "is given together with `values.content`: give one of them")
            }
            (None, None) => faults.add("/values/content", "is missing, and so is `secrets.content`"),
            _ => {}
        }
        faults.into_result()
    }
}

/// The path without segments that have no effect.
pub(crate) fn normal(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Values in their only spelling, so that reality can be compared with them.
pub(crate) fn normalise<I>(inputs: &mut Raw<I>) {
    let unknown = |name: &str| inputs.is_unknown(&format!("/values/{name}"));
    let absent: Vec<&str> = ["content", "mode"].into_iter().filter(|name| !unknown(name)).collect();
    let Some(values) = inputs.document_mut().pointer_mut("/values").and_then(Json::as_object_mut) else {
        return;
    };
    values.retain(|name, value| !(value.is_null() && absent.contains(&name.as_str())));
    if let Some(Json::String(path)) = values.get_mut("path") {
        *path = normal(path);
    }
}

/// Rejects paths that could lead out of the folder, name no file, or name too much.
pub(crate) fn check_path(path: &str, faults: &mut Faults) {
    let fault = if normal(path).trim_matches('/').is_empty() {
        "names no file"
    } else if path.ends_with('/') {
        "names a folder, not a file"
    } else if path.split('/').any(|part| part == "..") {
        "must not contain `..`"
    } else if path.contains(['\0', '\\', '\n']) {
        "must not contain a backslash or a control character"
    } else if path.len() > 4096 {
        "is longer than 4096 bytes"
    } else {
        return;
    };
    faults.add("/values/path", fault);
}
