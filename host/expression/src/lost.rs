//! Placeholders that lost a character of their `${`: the rest is ordinary text, and reads nothing.

use std::ops::Range;

use crate::dialect::Dialect;
use crate::{modifiers, placeholder};

/// The roots that such a text is checked for. Others are common words in the braces of other
/// languages.
const ROOTS: [&str; 8] =
    ["bundle", "context", "externals", "installation", "params", "resources", "shared", "values"];

/// The roots that a text in doubled braces is checked for. Other template languages have names such
/// as `values` and `params` of their own there.
const DOUBLED: [&str; 3] = ["externals", "resources", "shared"];

/// The parts of a text that are a placeholder without its `$` or its `{`, such as
/// `{resources.db.outputs.host}`, or with the braces of another language, each with the correct form.
/// A part counts only if the correct form can be parsed.
pub fn lost_placeholders(text: &str, dialect: Dialect) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(['{', '$'])).map(|at| from + at) {
        from = at + 1;
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        if matches!(before, Some('$' | '{' | '\\')) {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let (inside, end, roots) = match rest.strip_prefix("{{") {
            Some(inside) => (inside.trim_start_matches(' '), "}}", &DOUBLED[..]),
            None => (rest.get(1..).unwrap_or_default(), "}", &ROOTS[..]),
        };
        let start = text.len() - inside.len();
        let root = inside.split(['.', '[']).next().unwrap_or_default();
        let is_root = roots.contains(&root) && dialect.roots().iter().any(|(known, _)| *known == root);
        let Some(inside) = inside.find(end).filter(|_| is_root).and_then(|close| inside.get(..close)) else {
            continue;
        };
        let after = start + inside.len() + end.len();
        let inside = if end == "}}" { inside.trim_end_matches(' ') } else { inside };
        let close = start + inside.len();
        let path = modifiers::path_end(text, start, close);
        let reads = path > start + root.len()
            && placeholder::parse(text, start, path, dialect).is_ok()
            && modifiers::parse(text, path, close).is_ok();
        if reads {
            found.push((at..after, format!("${{{inside}}}")));
            from = after;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(text: &str, dialect: Dialect) -> Vec<String> {
        lost_placeholders(text, dialect).into_iter().map(|(_, correct)| correct).collect()
    }

    #[test]
    fn a_placeholder_without_its_dollar_or_brace_is_found() {
        for (text, correct) in [
            ("{resources.password.outputs.value}", "${resources.password.outputs.value}"),
            ("$resources.password.outputs.value}", "${resources.password.outputs.value}"),
            (
                "#{resources['dns.public#shared.a'].outputs.host}",
                "${resources['dns.public#shared.a'].outputs.host}",
            ),
            ("a {values.region | upper} b", "${values.region | upper}"),
            ("{context.env.id}", "${context.env.id}"),
            ("{params.size ?? 1}", "${params.size ?? 1}"),
            ("{{ resources.password.outputs.value }}", "${resources.password.outputs.value}"),
            ("a {{resources.a.outputs.b | upper}}}", "${resources.a.outputs.b | upper}"),
        ] {
            assert_eq!(lost(text, Dialect::Definition), [correct], "{text}");
        }
        assert_eq!(lost("{resources.db.host}", Dialect::Score), ["${resources.db.host}"]);
        assert_eq!(lost("{externals.db.host}", Dialect::DeploymentSet), ["${externals.db.host}"]);
    }

    #[test]
    fn braces_of_other_languages_are_not_placeholders() {
        for text in [
            "${values.region}",
            "$\\{values.region}",
            "{{values.region}}",
            "{{ resources }}",
            "{{ .resources.a.outputs.b }}",
            "{{ resources.a.outputs.b }",
            "{values}",
            "{values.region",
            "{.values.region}",
            "{valuesregion}",
            "{context.user.id}",
            "{outputs.host}",
            "$values",
        ] {
            assert_eq!(lost(text, Dialect::Definition), Vec::<String>::new(), "{text}");
        }
        assert_eq!(lost("$${resources.db.host}", Dialect::Score), Vec::<String>::new());
        assert_eq!(lost("{values.region}", Dialect::Score), Vec::<String>::new());
    }
}
