//! Percent-encoding by the rules of AWS's signatures: letters, digits and `-._~` stay, everything
//! else is encoded, spaces as `%20`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const PATH: &AsciiSet = &VALUE.remove(b'/');

/// A name or value of a query or of a form.
pub fn value(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}

/// A form as a body: unlike elsewhere, a space is a `+`, and an empty value keeps its `=`.
pub fn form<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let field = |(name, text): (&str, &str)| format!("{}={}", value(name), value(text)).replace("%20", "+");
    fields.into_iter().map(field).collect::<Vec<_>>().join("&")
}

/// A path, whose slashes stay.
pub fn path(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
}

/// A query. A parameter without a value has no `=`, as in `?versioning`.
pub fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pair = |(name, text): (&str, &str)| match text {
        "" => value(name),
        text => format!("{}={}", value(name), value(text)),
    };
    pairs.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_unreserved_stays() {
        assert_eq!(value("a b+c/~ü*"), "a%20b%2Bc%2F~%C3%BC%2A");
        assert_eq!(path("a b/../c=d"), "a%20b/../c%3Dd");
        assert_eq!(form([("a b", "c+d"), ("e", "")]), "a+b=c%2Bd&e=");
        assert_eq!(pairs([("tagging", ""), ("x", "1&2")]), "tagging&x=1%262");
    }
}
