//! The result of a template: text, and its secret parts.

use std::ops::Range;

/// Text, and its secret parts.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    pub(crate) text: String,
    /// In the order of their ends. One may be empty: nothing was written, which also reveals
    /// something.
    pub(crate) secret: Vec<Range<usize>>,
    /// A condition on a secret omitted something, which could have been anywhere.
    pub(crate) left_out: bool,
}

impl Rendered {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a secret touched it.
    pub fn is_secret(&self) -> bool {
        self.left_out || !self.secret.is_empty()
    }

    /// The secret parts in the order of the text, adjacent ones merged.
    #[cfg(feature = "full")]
    fn parts(&self) -> Vec<Range<usize>> {
        let mut parts = self.secret.clone();
        parts.sort_by_key(|part| (part.start, part.end));
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(parts.len());
        for part in parts {
            match joined.last_mut() {
                Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
                _ => joined.push(part),
            }
        }
        joined
    }
}

#[cfg(feature = "full")]
mod document {
    use serde_json::Value as Json;

    use super::Rendered;
    use crate::{TemplateFault, yaml};

    impl Rendered {
        /// Reads the text as YAML, and finds the secret places of the document, as JSON Pointers,
        /// `""` for all of it.
        ///
        /// The text is read a second time with other words in its secret places. Parts that read
        /// the same do not depend on them.
        ///
        /// # Errors
        /// The line and the fault. If there is a secret in the text, it is not quoted.
        pub fn document(&self) -> Result<(Json, Vec<String>), TemplateFault> {
            let document = yaml::parse(&self.text).map_err(|fault| match self.is_secret() {
                true => TemplateFault {
                    message: "the rendered text is not YAML; it contains a secret, so it is not shown \
                              (write text that may contain any character with `quote` or `toJson`)"
                        .to_owned(),
                    ..fault
                },
                false => fault,
            })?;
            let mut places = Vec::new();
            if self.is_secret() {
                match (self.left_out, yaml::parse(&self.other())) {
                    (false, Ok(other)) => compare(&document, &other, &mut String::new(), &mut places),
                    _ => places.push(String::new()),
                }
            }
            Ok((document, places))
        }

        /// The text with other words in its secret places. Their lines and indentation stay,
        /// because a secret of several lines is usually written where those matter.
        fn other(&self) -> String {
            let word =
                (0..).map(|n| format!("z{n}q")).find(|word| !self.text.contains(word)).unwrap_or_default();
            let mut other = String::with_capacity(self.text.len());
            let mut at = 0;
            for part in self.parts() {
                other.push_str(self.text.get(at..part.start).unwrap_or_default());
                let secret = self.text.get(part.clone()).unwrap_or_default();
                at = part.end;
                if secret.trim().is_empty() {
                    other.push_str(secret);
                    other.push_str(&word);
                    continue;
                }
                for line in secret.split_inclusive('\n') {
                    let words = line.trim();
                    let indent = line.len() - line.trim_start().len();
                    other.push_str(line.get(..indent).unwrap_or_default());
                    if !words.is_empty() {
                        other.push_str(&word);
                        other.push_str(line.get(indent + words.len()..).unwrap_or_default());
                    }
                }
            }
            other.push_str(self.text.get(at..).unwrap_or_default());
            other
        }
    }

    fn compare(one: &Json, other: &Json, pointer: &mut String, places: &mut Vec<String>) {
        let length = pointer.len();
        match (one, other) {
            (Json::Object(one), Json::Object(other))
                if one.len() == other.len() && one.keys().all(|name| other.contains_key(name)) =>
            {
                for (name, entry) in one {
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    compare(entry, &other[name], pointer, places);
                    pointer.truncate(length);
                }
            }
            (Json::Array(one), Json::Array(other)) if one.len() == other.len() => {
                for (index, (item, other)) in one.iter().zip(other).enumerate() {
                    pointer.push('/');
                    pointer.push_str(&index.to_string());
                    compare(item, other, pointer, places);
                    pointer.truncate(length);
                }
            }
            _ if one == other => {}
            _ => places.push(pointer.clone()),
        }
    }
}
