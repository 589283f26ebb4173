//! The requests to IAM: a form goes in, XML comes out. This module knows their spelling, and
//! nothing about their purpose.

use percent_encoding::percent_decode_str;
use purlin_sdk::{Call, Failure, Json};
use purlin_sdk_aws::tags::Tags;
use purlin_sdk_aws::xml::Element;
use purlin_sdk_aws::{Aws, Connection, Effect, RequestError, encode};
use purlin_sdk_http::Request;

/// IAM, for one call of the driver.
pub(crate) struct Iam {
    pub(crate) aws: Aws,
    server: String,
}

impl Iam {
    pub(crate) fn new(call: &Call, connection: Connection) -> Result<Self, Failure> {
        let Connection { endpoint, credentials } = connection;
        let aws = Aws::new(call, "iam", endpoint.partition().iam_region, &credentials)?;
        Ok(Self { aws, server: endpoint.iam() })
    }

    /// Runs an action and returns its result, empty if it has none.
    pub(crate) fn ask(
        &self,
        action: &str,
        effect: Effect,
        form: &[(&str, &str)],
    ) -> Result<Element, RequestError> {
        let head = [("Action", action), ("Version", "2010-05-08")];
        let form = encode::form(head.iter().chain(form).copied());
        let kind = "application/x-www-form-urlencoded; charset=utf-8";
        let request = Request::post(format!("{}/", self.server)).body(kind, form);
        let answer = self.aws.send(&format!("iam:{action}"), effect, request)?;
        let mut root = Element::parse(&answer.text())?;
        let result = format!("{action}Result");
        Ok(match root.children.iter().position(|child| child.name == result) {
            Some(index) => root.children.swap_remove(index),
            None => Element::default(),
        })
    }

    /// Reads.
    pub(crate) fn look(&self, action: &str, form: &[(&str, &str)]) -> Result<Element, RequestError> {
        self.ask(action, Effect::None, form)
    }

    /// Changes something; doing it twice has the same effect as once.
    pub(crate) fn change(&self, action: &str, form: &[(&str, &str)]) -> Result<Element, RequestError> {
        self.ask(action, Effect::Same, form)
    }

    /// All members of a list, over all its pages.
    pub(crate) fn list(
        &self,
        action: &str,
        list: &str,
        form: &[(&str, &str)],
    ) -> Result<Vec<Element>, RequestError> {
        let mut all = Vec::new();
        let mut marker = String::new();
        loop {
            let mut form = form.to_vec();
            if !marker.is_empty() {
                form.push(("Marker", &marker));
            }
            let mut page = self.look(action, &form)?;
            let next = page.text_of("Marker").unwrap_or_default().to_owned();
            let more = page.text_of("IsTruncated") == Some("true") && !next.is_empty() && next != marker;
            for element in page.children.iter_mut().filter(|child| child.name == list) {
                all.append(&mut element.children);
            }
            if !more {
                return Ok(all);
            }
            marker = next;
        }
    }

    /// The members of a list of texts, or one text of each member.
    pub(crate) fn names(
        &self,
        action: &str,
        (list, name): (&str, &str),
        form: &[(&str, &str)],
    ) -> Result<Vec<String>, RequestError> {
        let members = self.list(action, list, form)?;
        let text = |member: &Element| match name {
            "" => member.text.clone(),
            name => member.text_of(name).unwrap_or_default().to_owned(),
        };
        let mut names: Vec<String> = members.iter().map(text).collect();
        names.sort();
        Ok(names)
    }
}

/// Turns "not found" into `None`.
pub(crate) fn if_it_exists<T>(result: Result<T, RequestError>) -> Result<Option<T>, Failure> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(fault) if fault.is_missing() => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

/// Treats "not found" as deleted.
pub(crate) fn gone<T>(result: Result<T, RequestError>) -> Result<(), RequestError> {
    match result {
        Err(fault) if fault.is_missing() => Ok(()),
        result => result.map(drop),
    }
}

/// A document, which IAM percent-encodes within its XML.
pub(crate) fn document(text: &str) -> Result<Json, Failure> {
    let text = percent_decode_str(text).decode_utf8_lossy();
    Ok(serde_json::from_str(&text)?)
}

/// Numbered form fields for tags.
pub(crate) fn tag_fields(tags: &Tags) -> Vec<(String, String)> {
    let fields = |(index, (key, value)): (usize, (&String, &String))| {
        let name = |part| format!("Tags.member.{}.{part}", index + 1);
        [(name("Key"), key.clone()), (name("Value"), value.clone())]
    };
    tags.iter().enumerate().flat_map(fields).collect()
}

/// A form of borrowed fields.
pub(crate) fn borrowed(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Tags from the members of a list.
pub(crate) fn tags_of(members: &[Element]) -> Tags {
    let text = |tag: &Element, name: &str| tag.text_of(name).unwrap_or_default().to_owned();
    members.iter().map(|tag| (text(tag, "Key"), text(tag, "Value"))).collect()
}
