//! The path that identifies an existing resource, and the inputs whose change moves it. Only the
//! placeholders that the path contains count: another input may change, or be unknown, without
//! making it a different resource.

use purlin_sdk::{ImpactRequest, Json, Raw};

use crate::inputs::HttpInputs;
use crate::template::{self, Scope};
use crate::{id_in, name_in};

const READ: &str = "/values/read/path";
const CREATE: &str = "/values/create/path";
const NAMED: &str = "/values/id/name";

/// The inputs that put the resource in another place: those of its path that change, or, if its path
/// is not known yet, those that are unknown. None if the path stays the same.
pub(crate) fn moved_by(request: &ImpactRequest<HttpInputs>) -> Vec<String> {
    // Without the API's id, nothing exists that could move.
    let Some(id) = id_in(&request.state) else { return Vec::new() };
    let (before, after) = (Location::of(&request.before), Location::of(&request.after));
    let unknown: Vec<String> =
        after.places.iter().filter(|place| request.after.is_unknown(place)).cloned().collect();
    if !unknown.is_empty() {
        return unknown;
    }
    let name = name_in(&request.state).unwrap_or_else(|| request.name.clone());
    let guresid = &request.subject.guresid;
    let path = |location: &Location, raw| location.path(raw, &id, &name, guresid);
    if path(&before, &request.before) == path(&after, &request.after) {
        return Vec::new();
    }
    let changed = |place: &String| request.before.get(place) != request.after.get(place);
    let mut changed: Vec<String> =
        after.places.iter().chain(&before.places).filter(|place| changed(place)).cloned().collect();
    changed.sort_unstable();
    changed.dedup();
    changed
}

/// The template of the path, and every input that it is made from.
struct Location {
    template: String,
    places: Vec<String>,
}

impl Location {
    fn of(raw: &Raw<HttpInputs>) -> Self {
        let text = |place: &str| raw.get_known(place).and_then(Json::as_str);
        let is_given = raw.is_given(READ);
        let (template, mut places) = match (is_given, raw.get(NAMED) == Some(&Json::Bool(true))) {
            (true, _) => (text(READ).unwrap_or_default().to_owned(), vec![READ.to_owned()]),
            (false, true) => (
                text(CREATE).unwrap_or_default().to_owned(),
                vec![READ.to_owned(), CREATE.to_owned(), NAMED.to_owned()],
            ),
            (false, false) => (
                format!("{}/{{id}}", text(CREATE).unwrap_or_default()),
                vec![READ.to_owned(), CREATE.to_owned(), NAMED.to_owned()],
            ),
        };
        places.extend(template::places(&template).into_iter().filter_map(|place| {
            let (root, name) = place.split_once('.')?;
            let root = match root {
                "params" => "/params",
                "vars" => "/values/vars",
                _ => return None,
            };
            Some(format!("{root}/{}", name.replace('~', "~0").replace('/', "~1")))
        }));
        Self { template, places }
    }

    /// The path with its values, as far as they exist.
    fn path(&self, raw: &Raw<HttpInputs>, id: &str, name: &str, guresid: &str) -> Result<String, String> {
        let object = |place: &str| raw.get(place).and_then(Json::as_object).cloned().unwrap_or_default();
        let scope = Scope {
            id: Some(id.to_owned()),
            name: name.to_owned(),
            guresid: guresid.to_owned(),
            params: object("/params"),
            vars: object("/values/vars"),
            ..Scope::default()
        };
        template::expand(&self.template, &scope)
    }
}
