//! Near misses: names that are most likely misspellings of a known one. Stricter than "did you
//! mean", because a match here turns a warning into an error.

use purlin_expression::one_edit;

/// The known name that `name` misspells: the same except for case, `_` and `-`, or one letter
/// missing, added, replaced or swapped with its neighbour.
pub(crate) fn slip<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut found = None;
    for candidate in known {
        if candidate == name {
            return None;
        }
        if found.is_none() && (plain(candidate) == plain(name) || one_edit(name, candidate)) {
            found = Some(candidate);
        }
    }
    found
}

fn plain(name: &str) -> String {
    name.replace(['_', '-'], "").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_is_a_slip_and_two_are_another_name() {
        let known = ["criteria", "provision", "modules", "app_id", "apiVersion"];
        for (name, found) in [
            ("criterea", Some("criteria")),
            ("provison", Some("provision")),
            ("module", Some("modules")),
            ("Modules", Some("modules")),
            ("appId", Some("app_id")),
            ("apiVerison", Some("apiVersion")),
            ("criteria", None),
            ("models", None),
            ("provided", None),
            ("", None),
        ] {
            assert_eq!(slip(name, known), found, "{name}");
        }
    }
}
