//! Adds a driver to the text of a `purlin.yaml` and leaves every other line unchanged.

/// The text with one more driver, or `None` if the layout does not allow lines to be inserted. The
/// caller must parse the result to check that it has the intended content.
pub(super) fn with_driver(text: &str, name: &str, source: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let entry = |indent: usize| {
        let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 2));
        [format!("{outer}{name}:"), format!("{inner}source: {}", scalar(source))]
    };
    let spec = lines.iter().position(|line| key(line) == Some((0, "spec")))?;
    let block = block(&lines, spec, 0);
    let child = child_indent(&lines, spec, block).unwrap_or(2);
    let drivers =
        (spec + 1..block).find(|line| lines.get(*line).copied().and_then(key) == Some((child, "drivers")));
    match drivers {
        Some(at) => {
            let end = self::block(&lines, at, child);
            let indent = child_indent(&lines, at, end).unwrap_or(child + 2);
            // Insert after the last line of the block that has content.
            let last = (at..end).rev().find(|line| lines.get(*line).is_some_and(|line| has_content(line)))?;
            out.splice(last + 1..last + 1, entry(indent));
        }
        None => {
            let drivers = [format!("{}drivers:", " ".repeat(child))];
            let last =
                (spec..block).rev().find(|line| lines.get(*line).is_some_and(|line| has_content(line)))?;
            out.splice(last + 1..last + 1, drivers.into_iter().chain(entry(child + 2)));
        }
    }
    Some(out.join("\n") + "\n")
}

/// The text of a new workspace with one driver.
pub(super) fn workspace(name: &str, source: &str) -> String {
    format!(
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers:\n    {name}:\n      source: {}\n",
        scalar(source)
    )
}

/// The indentation and name of a line `NAME:` that starts a block and has no other content.
fn key(line: &str) -> Option<(usize, &str)> {
    let bare = line.trim_start_matches(' ');
    let name = bare.split(" #").next().unwrap_or(bare).trim_end().strip_suffix(':')?;
    Some((line.len() - bare.len(), name))
}

/// Whether a line has content: neither blank nor only a comment.
fn has_content(line: &str) -> bool {
    let bare = line.trim();
    !bare.is_empty() && !bare.starts_with('#')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The index of the line after the block that starts at a line.
fn block(lines: &[&str], begin: usize, outer: usize) -> usize {
    let rest = lines.iter().enumerate().skip(begin + 1);
    let mut after = rest.filter(|(_, line)| has_content(line) && indent(line) <= outer);
    after.next().map_or(lines.len(), |(line, _)| line)
}

fn child_indent(lines: &[&str], begin: usize, end: usize) -> Option<usize> {
    lines.get(begin + 1..end)?.iter().find(|line| has_content(line)).map(|line| indent(line))
}

/// A path as a YAML scalar, quoted if necessary.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '_');
    if text.starts_with(['.', '/']) && text.chars().all(plain) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::with_driver;

    #[test]
    fn lines_are_put_where_they_belong() {
        for (before, after) in [
            (
                "spec:\n  drivers:\n    a/b:\n      source: ./b.wasm\n",
                "spec:\n  drivers:\n    a/b:\n      source: ./b.wasm\n    x/y:\n      source: ./y.wasm\n",
            ),
            (
                "kind: Workspace\nspec:\n    parallelism: 2 # few\n\n# end\n",
                "kind: Workspace\nspec:\n    parallelism: 2 # few\n    drivers:\n      x/y:\n        source: ./y.wasm\n\n# end\n",
            ),
            (
                "spec:\n  drivers: # mine\n  parallelism: 2\n",
                "spec:\n  drivers: # mine\n    x/y:\n      source: ./y.wasm\n  parallelism: 2\n",
            ),
            ("spec:\n", "spec:\n  drivers:\n    x/y:\n      source: ./y.wasm\n"),
            (
                "spec:\n  drivers:\n  - x\nkind: W\n",
                "spec:\n  drivers:\n    x/y:\n      source: ./y.wasm\n  - x\nkind: W\n",
            ),
        ] {
            assert_eq!(with_driver(before, "x/y", "./y.wasm").as_deref(), Some(after), "{before}");
        }
        for unfit in ["", "spec: {drivers: {}}\n", "# spec:\n"] {
            assert_eq!(with_driver(unfit, "x/y", "./y.wasm"), None, "{unfit}");
        }
    }
}
