//! Inputs in their only spelling, so that the server's answers can be compared with them.

use purlin_sdk::{Json, Object, Raw, Subject};

use super::{KINDS, PgInputs};

/// Fills in names, and unifies spellings. Unknown values stay unknown.
pub(crate) fn normalise(inputs: &mut Raw<PgInputs>, subject: &Subject) {
    let document = inputs.document_mut();
    for place in KINDS {
        if let Some(Json::Object(object)) = document.pointer_mut(place) {
            if place != "/values/grant" {
                object.entry("name").or_insert_with(|| default_name(subject).into());
            }
            respell(object);
        }
    }
}

fn respell(part: &mut Object) {
    for (name, value) in part.iter_mut() {
        match (name.as_str(), value) {
            ("privileges", Json::Array(privileges)) => {
                for privilege in privileges.iter_mut() {
                    if let Json::String(privilege) = privilege {
                        *privilege = privilege.trim().to_uppercase();
                    }
                }
                sort(privileges);
            }
            ("extensions" | "member_of" | "future_of", Json::Array(names)) => sort(names),
            // The server accepts any spelling, and another spelling is the same encoding.
            ("encoding", Json::String(encoding)) => {
                let plain = encoding.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
                *encoding = match plain.to_ascii_uppercase().as_str() {
                    "UNICODE" => "UTF8".to_owned(),
                    plain => plain.to_owned(),
                };
            }
            _ => {}
        }
    }
    if part.get("on").is_some_and(|on| on != "database" && !on.is_null()) {
        part.entry("schema").or_insert_with(|| "public".into());
    }
}

/// Sorts items whose order has no meaning. Unknown items have no place in the order.
fn sort(items: &mut Vec<Json>) {
    if items.iter().all(Json::is_string) {
        items.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        items.dedup();
    }
}

/// A unique name: the last part of the id and digits of the URN's digest.
fn default_name(subject: &Subject) -> String {
    let last = subject.local_name.rsplit('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let mut name: String = last.chars().map(plain).take(40).collect();
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        name.insert_str(0, "p_");
    }
    format!("{name}_{}", subject.guresid.get(..12).unwrap_or_default())
}
