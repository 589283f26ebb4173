//! The inputs and outputs of the driver. The schemas, the defaults and the table in the README come from
//! these types; Purlin rejects invalid inputs before it calls the driver.

use purlin_sdk::{Input, Inputs, Json, Outputs, Raw};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// A note's inputs.
#[derive(Inputs)]
pub struct NoteInputs {
    pub(crate) values: Values,
    pub(crate) secrets: Secrets,
}

#[derive(Input, Serialize)]
pub(crate) struct Values {
    /// The text of the note.
    #[input(max_length = 65_536)]
    pub(crate) text: String,
    /// Its name: up to 63 lower-case letters, digits and dashes. By default it is derived from the resource's
    /// permanent id.
    #[input(replaces, pattern = "^[a-z0-9][a-z0-9-]{0,62}$")]
    pub(crate) title: Option<String>,
}

#[derive(Input)]
pub(crate) struct Secrets {
    /// The signature. Its digest is put below the text.
    pub(crate) signature: Option<String>,
}

/// The outputs.
#[derive(Outputs)]
pub(crate) struct NoteOutputs {
    /// The name of the note.
    pub(crate) title: String,
    /// The path in the driver's folder.
    pub(crate) path: String,
    /// The size of the file.
    pub(crate) bytes: usize,
    /// Title and signature, if it is signed.
    #[output(secret)]
    pub(crate) mark: Option<String>,
}

impl NoteInputs {
    /// The content of the file. It has a digest of the signature, which is secret.
    pub(crate) fn content(&self) -> String {
        let mut content = format!("{}\n", self.values.text);
        if let Some(signature) = &self.secrets.signature {
            content.push_str("-- ");
            for byte in Sha256::digest(signature) {
                content.push_str(&format!("{byte:02x}"));
            }
            content.push('\n');
        }
        content
    }
}

/// Gives a note without a title a unique one.
pub(crate) fn set_title(inputs: &mut Raw<NoteInputs>, guresid: &str) {
    let is_there = inputs
        .get("/values/title")
        .is_some_and(|title| !title.is_null());
    if is_there || inputs.is_unknown("/values/title") {
        return;
    }
    let title: String = guresid.chars().take(12).collect();
    if let Some(values) = inputs
        .document_mut()
        .pointer_mut("/values")
        .and_then(Json::as_object_mut)
    {
        values.insert("title".into(), title.into());
    }
}
