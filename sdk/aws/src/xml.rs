//! XML as AWS uses it: small documents of elements and text, read into a tree and written from one.
//! Attributes and namespaces contain nothing that a driver needs; they are ignored.

use std::fmt::Write as _;

use purlin_sdk::Failure;
use quick_xml::escape::{escape, resolve_predefined_entity};
use quick_xml::events::Event;

/// The maximum nesting of elements. AWS needs about eight.
const DEEPEST: usize = 64;

/// An element with its contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name, without a prefix.
    pub name: String,
    /// The text directly in it.
    pub text: String,
    /// The elements directly in it.
    pub children: Vec<Element>,
}

impl Element {
    /// An empty element.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same with an element in it.
    #[must_use]
    pub fn with(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    /// The same with an element in it that holds a text.
    #[must_use]
    pub fn with_text(self, name: &str, text: impl ToString) -> Self {
        self.with(Self { name: name.to_owned(), text: text.to_string(), children: Vec::new() })
    }

    /// Reads a document and returns its outermost element.
    ///
    /// # Errors
    /// If the text is not XML, or is nested deeper than anything that AWS sends.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let mut reader = quick_xml::Reader::from_str(text);
        let mut open: Vec<Self> = Vec::new();
        loop {
            let done = match reader.read_event()? {
                Event::Start(_) if open.len() >= DEEPEST => {
                    return Err(Failure::failed("the answer's XML is nested too deep"));
                }
                Event::Start(tag) => {
                    open.push(Self::new(tag.local_name().as_ref()));
                    None
                }
                Event::Empty(tag) => Some(Self::new(tag.local_name().as_ref())),
                Event::End(_) => open.pop(),
                Event::Text(part) => {
                    add(&mut open, &part);
                    None
                }
                Event::CData(part) => {
                    add(&mut open, &part);
                    None
                }
                Event::GeneralRef(part) => {
                    if let Some(character) = part.resolve_char_ref()? {
                        add(&mut open, character.encode_utf8(&mut [0; 4]));
                    } else if let Some(known) = resolve_predefined_entity(&part) {
                        add(&mut open, known);
                    } else {
                        return Err(Failure::failed("the answer's XML has an entity of its own"));
                    }
                    None
                }
                Event::Eof => return Err(Failure::failed("the answer's XML ends too early")),
                _ => None,
            };
            if let Some(mut done) = done {
                // Whitespace between elements is layout.
                if !done.children.is_empty() && done.text.trim().is_empty() {
                    done.text.clear();
                }
                match open.last_mut() {
                    Some(parent) => parent.children.push(done),
                    None => return Ok(done),
                }
            }
        }
    }

    /// The first element of this name directly in it.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All elements of this name directly in it.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The element at a path of names.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |element, name| element.child(name))
    }

    /// The text of the element at a path of names.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path).map(|element| element.text.as_str())
    }

    /// The text of the first element of this name directly in it.
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.text_at(&[name])
    }

    /// As a document, with a default namespace if one is given.
    pub fn document(&self, namespace: Option<&str>) -> String {
        let mut text = String::new();
        self.write(namespace, &mut text);
        text
    }

    fn write(&self, namespace: Option<&str>, text: &mut String) {
        // Writing into a string does not fail.
        let _ = match namespace {
            Some(namespace) => write!(text, "<{} xmlns=\"{namespace}\">", self.name),
            None => write!(text, "<{}>", self.name),
        };
        text.push_str(&escape(&self.text));
        for child in &self.children {
            child.write(None, text);
        }
        let _ = write!(text, "</{}>", self.name);
    }
}

fn add(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_documents_can_be_read_again() {
        let tag =
            |key: &str, value: &str| Element::new("Tag").with_text("Key", key).with_text("Value", value);
        let tags = Element::new("Tagging")
            .with(Element::new("TagSet").with(tag("a & b", "<ü>\"'")).with(tag("leading", " blank\n")));
        let text = tags.document(Some("http://s3.amazonaws.com/doc/2006-03-01/"));
        assert_eq!(Element::parse(&text).expect("reads"), tags);
    }

    #[test]
    fn layout_references_and_prefixes_are_understood() {
        let text = "<?xml version=\"1.0\"?>\n<!-- x --><s:A xmlns:s=\"y\">\n <B>1 &lt; 2 &#252;&#x21;</B>\n <C/>\n \
                    <D><![CDATA[<&>]]></D></s:A>";
        let read = Element::parse(text).expect("reads");
        assert_eq!((read.name.as_str(), read.text.as_str()), ("A", ""));
        assert_eq!(read.text_of("B"), Some("1 < 2 ü!"));
        assert_eq!(read.text_of("C"), Some(""));
        assert_eq!(read.text_of("D"), Some("<&>"));
    }

    #[test]
    fn invalid_xml_is_an_error_and_no_panic() {
        let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><x>&a;&a;</x>";
        for text in
            ["", "x", "<a>", "<a></b>", "<a>&nosuch;</a>", "{\"a\": 1}", "<a>&#xffffffff;</a>", bomb, &deep]
        {
            assert!(Element::parse(text).is_err(), "{}", text.get(..40).unwrap_or(text));
        }
    }
}
