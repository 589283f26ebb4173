//! Finds existing resources by id and by name.

use purlin_sdk::{Failure, Json};
use purlin_sdk_http::Response;

use crate::api::{Api, document, refused};
use crate::inputs::Find;
use crate::template;

/// Pages of a list above which something is wrong with it.
const PAGES: usize = 1000;

/// An existing resource.
pub(crate) struct ExistingResource {
    /// The API's id.
    pub(crate) id: String,
    /// The API's description of it; null if the answer is not JSON.
    pub(crate) document: Json,
}

impl Api<'_> {
    /// The resource's URL, which is its provider id: an API's ids are unique within a collection
    /// only, and a URL is unique.
    pub(crate) fn resource_url(&self, id: &str) -> Result<String, Failure> {
        self.url(&self.inputs.read_path(), &self.scope.with_id(id))
    }

    /// The API's id, from a provider id or from a person's id for an import.
    pub(crate) fn id_of(&self, given: &str) -> Result<String, Failure> {
        if !given.contains("://") {
            return Ok(given.to_owned());
        }
        let template = self.inputs.read_path();
        let base = self.inputs.connection.base_url.as_str();
        let path = given.strip_prefix(base).unwrap_or_default();
        let id = match template.contains("{id}") {
            true => template::id_in(path, &template, &self.scope),
            false => (template::expand(&template, &self.scope).as_deref() == Ok(path))
                .then(|| self.scope.name.clone()),
        };
        id.ok_or_else(|| Failure::failed(format!("`{given}` is not a URL of `{base}{template}`")))
    }

    /// Reads a resource by the API's id.
    pub(crate) fn read(&self, id: &str) -> Result<Option<ExistingResource>, Failure> {
        let path = self.inputs.read_path();
        let read = &self.inputs.values.read;
        let request = self.request(read, "GET", &path, &self.scope.with_id(id))?;
        let request = match &read.body {
            Some(body) => request.json(body)?,
            None => request,
        };
        let answer = self.look(request)?;
        if self.is_gone(&answer) {
            return Ok(None);
        }
        if !(answer.is_success() || read.expect.contains(&answer.status)) {
            return Err(refused(&answer));
        }
        Ok(Some(ExistingResource { id: id.to_owned(), document: document(&answer).unwrap_or(Json::Null) }))
    }

    /// All resources with the name, ours or not.
    pub(crate) fn named(&self) -> Result<Vec<ExistingResource>, Failure> {
        match &self.inputs.values.find {
            Some(find) => self.listed(find),
            None => Ok(self.read(&self.scope.name)?.into_iter().collect()),
        }
    }

    fn listed(&self, find: &Find) -> Result<Vec<ExistingResource>, Failure> {
        let mut url = self.url(&find.path, &self.scope)?;
        let mut found = Vec::new();
        for _ in 0..PAGES {
            let answer = self.get(url)?;
            if !answer.is_success() {
                return Err(refused(&answer));
            }
            let document: Json = answer.json()?;
            let items = match document.pointer(&find.items) {
                Some(Json::Array(items)) => items.iter().collect(),
                Some(Json::Object(items)) => items.values().collect(),
                Some(Json::Null) | None => Vec::new(),
                Some(_) => return Err(self.not_a_list(find)),
            };
            for item in items {
                if item.pointer(&find.name).and_then(as_text).as_deref() != Some(self.scope.name.as_str()) {
                    continue;
                }
                let place = find.id.as_deref().or(self.inputs.values.id.pointer.as_deref()).unwrap_or("/id");
                let id = match item.pointer(place).and_then(as_text) {
                    Some(id) => id,
                    None if self.inputs.values.id.name => self.scope.name.clone(),
                    None => {
                        let message = format!("an item of `{}` has no id at `{place}`", find.path);
                        return Err(Failure::failed(message));
                    }
                };
                found.push(ExistingResource { id, document: item.clone() });
            }
            match next(find, &answer, &document) {
                Some(link) => url = self.linked(&link)?,
                None => return Ok(found),
            }
        }
        Err(Failure::failed(format!("`{}` does not end after {PAGES} pages", find.path)))
    }

    fn not_a_list(&self, find: &Find) -> Failure {
        Failure::failed(format!("the response of `{}` has no list at `{}`", find.path, find.items))
    }

    /// Whether the mark is this resource's; `None` if there are no marks.
    fn is_marked(&self, found: &ExistingResource) -> Option<bool> {
        let mark = self.inputs.values.mark.as_ref()?;
        let guresid = self.scope.guresid.as_str();
        Some(match found.document.pointer(mark) {
            Some(Json::String(text)) => text.contains(guresid),
            Some(Json::Array(all)) => all.iter().any(|one| one.as_str() == Some(guresid)),
            _ => false,
        })
    }

    /// The one of all resources with the name that is this resource's. `attempted` means that none
    /// had the name when an attempt to create it began.
    pub(crate) fn own(&self, attempted: bool) -> Result<Option<ExistingResource>, Failure> {
        let mut all = self.named()?;
        let name = &self.scope.name;
        if self.inputs.values.mark.is_some() {
            let is_only = all.len() == 1;
            let was_there = !all.is_empty();
            all.retain(|found| self.is_marked(found) == Some(true));
            if all.is_empty() && was_there && is_only && self.inputs.values.id.name {
                return Err(Failure::conflict(format!(
                    "`{name}` exists, and its mark is another resource's"
                )));
            }
        } else if !all.is_empty() && !attempted && *name != self.scope.guresid {
            return Err(Failure::conflict(format!(
                "`{name}` exists, and its owner is unknown; import it, or declare a `mark`"
            )));
        }
        match (all.pop(), all.len()) {
            (found, 0) => Ok(found),
            (_, others) => {
                Err(Failure::conflict(format!("there are {} resources named `{name}`", others + 1)))
            }
        }
    }

    /// Rejects a name that is taken, before anything is created.
    pub(crate) fn is_free(&self) -> Result<(), Failure> {
        let name = &self.scope.name;
        let marked = self.inputs.values.mark.is_some() && !self.inputs.values.id.name;
        let all = self.named()?;
        let ours = all.iter().any(|found| self.is_marked(found) == Some(true));
        if ours {
            return Err(Failure::conflict(format!(
                "`{name}` already exists, with the mark of this resource; import it"
            )));
        }
        // If marks tell resources apart, names need not be unique.
        if all.is_empty() || marked {
            return Ok(());
        }
        Err(Failure::conflict(format!("`{name}` already exists; import it, or choose another name")))
    }

    /// The id in the answer to a creation.
    pub(crate) fn made_id(&self, answer: &Response) -> Result<String, Failure> {
        let id = &self.inputs.values.id;
        if id.name {
            return Ok(self.scope.name.clone());
        }
        if let Some(header) = &id.header {
            let place = answer.header(header).unwrap_or_default();
            let path = place.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
            let last = path.rsplit('/').next().unwrap_or_default();
            let last = percent_encoding::percent_decode_str(last).decode_utf8().map_err(Failure::from)?;
            return match last.is_empty() {
                true => Err(Failure::failed(format!("the answer has no id in the header `{header}`"))),
                false => Ok(last.into_owned()),
            };
        }
        let place = id.pointer.as_deref().unwrap_or("/id");
        let document: Json = answer.json()?;
        document
            .pointer(place)
            .and_then(as_text)
            .ok_or_else(|| Failure::failed(format!("the answer has no id at `{place}`")))
    }
}

/// A text or a number that can be an id or a name.
pub(crate) fn as_text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) if !text.is_empty() => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The location of the next page.
fn next(find: &Find, answer: &Response, document: &Json) -> Option<String> {
    let next = find.next.as_deref()?;
    if next != "link" {
        return document
            .pointer(next)
            .and_then(Json::as_str)
            .filter(|link| !link.is_empty())
            .map(str::to_owned);
    }
    // RFC 8288: `<URL>; rel="next"`, several with commas between them.
    answer.header("link")?.split(',').find_map(|link| {
        let (place, parameters) = link.split_once(';')?;
        let is_next = parameters.split(';').any(|one| {
            one.trim().strip_prefix("rel=").is_some_and(|rel| {
                rel.trim_matches('"').split(' ').any(|rel| rel.eq_ignore_ascii_case("next"))
            })
        });
        let place = place.trim().strip_prefix('<')?.strip_suffix('>')?;
        is_next.then(|| place.to_owned())
    })
}
