//! Drivers' names for real objects: ids, names, places.

use std::fmt;

use zeroize::Zeroize;

/// Replaces a secret in shown text.
const MASK: &str = "[secret]";

/// The id or the name of a real object, or the name or the place of a manifest, as a driver gives
/// it.
///
/// A driver may use a secret in one. Such a label is secret as a whole: it goes unchanged to
/// drivers and to the encrypted state, and reads `[secret]` wherever it is shown, also with
/// `Debug`. There is deliberately no `Serialize`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Label {
    text: Box<str>,
    secret: bool,
}

impl Label {
    /// A label; `secret` if it contains a secret.
    pub fn new(text: impl Into<Box<str>>, secret: bool) -> Self {
        Self { text: text.into(), secret }
    }

    /// The text, secret or not. The caller is responsible for where it goes.
    ///
    /// Use this alone to decide whether two labels name the same object: `==` on labels also
    /// compares whether both are secret.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Whether it contains a secret.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text for people: masked if it is secret, unless they request secrets.
    pub fn shown(&self, show_secrets: bool) -> &str {
        if self.secret && !show_secrets { MASK } else { &self.text }
    }
}

impl Drop for Label {
    fn drop(&mut self) {
        if self.secret {
            self.text.zeroize();
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.shown(false))
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shown(false), f)
    }
}

impl From<String> for Label {
    fn from(text: String) -> Self {
        Self::new(text, false)
    }
}

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        Self::new(text, false)
    }
}

impl PartialEq<str> for Label {
    fn eq(&self, text: &str) -> bool {
        *self.text == *text
    }
}

impl PartialEq<&str> for Label {
    fn eq(&self, text: &&str) -> bool {
        *self.text == **text
    }
}

impl PartialEq<String> for Label {
    fn eq(&self, text: &String) -> bool {
        *self.text == **text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_label_is_shown_only_on_request() {
        let (plain, secret) = (Label::from("db-1"), Label::new("db-hunter2", true));
        assert_eq!(format!("{plain} {plain:?}"), "db-1 \"db-1\"");
        assert_eq!(format!("{secret} {secret:?}"), "[secret] \"[secret]\"");
        assert_eq!((secret.shown(true), secret.expose()), ("db-hunter2", "db-hunter2"));
        assert_ne!(secret, Label::from("db-hunter2"));
        assert_eq!(secret, *"db-hunter2");
    }
}
