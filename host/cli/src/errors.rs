//! What each code means: the page `errors.md` of the book, cut at its headings. The page is the only
//! place that has these texts, and a test checks that it has every code.

use crate::text;

const PAGE: &str = include_str!("../../../docs/src/reference/errors.md");

/// The entry of one code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    /// Title of the part of the page.
    pub(crate) part: &'a str,
    pub(crate) code: &'a str,
    /// Markdown.
    body: &'a str,
}

/// All entries, in the order of the page.
pub(crate) fn entries() -> Vec<Entry<'static>> {
    entries_of(PAGE)
}

fn entries_of(page: &str) -> Vec<Entry<'_>> {
    let parts = page.split("\n## ").skip(1).filter_map(|part| part.split_once('\n'));
    parts
        .flat_map(|(title, part)| {
            let codes = part.split("\n### ").skip(1).filter_map(|entry| entry.split_once('\n'));
            codes.map(move |(code, body)| Entry { part: title.trim(), code: code.trim(), body: body.trim() })
        })
        .collect()
}

impl Entry<'_> {
    /// The text for a terminal, with lines of at most `columns` where they are limited.
    pub(crate) fn text(&self, columns: Option<usize>) -> String {
        let mut out = String::new();
        let mut is_example = false;
        for line in self.body.lines() {
            if line.starts_with("```") {
                is_example = !is_example;
                continue;
            }
            let lines = match columns.filter(|_| !is_example) {
                Some(columns) => text::wrap(&plain(line), columns),
                None if is_example => vec![format!("  {line}")],
                None => vec![plain(line)],
            };
            lines.iter().for_each(|line| out.extend([line.as_str(), "\n"]));
        }
        out
    }

    /// The first sentence of its meaning.
    pub(crate) fn summary(&self) -> String {
        let prose = self.body.rsplit_once("\n```\n").map_or(self.body, |(_, prose)| prose).trim_start();
        let paragraph = plain(prose.lines().next().unwrap_or_default());
        // A full stop within a name, such as `purlin.yaml`, has no space after it.
        let end = paragraph.find(". ").map_or(paragraph.len(), |end| end + 1);
        paragraph.get(..end).unwrap_or(&paragraph).to_owned()
    }
}

/// Markdown without the addresses of links and the marks of emphasis.
fn plain(line: &str) -> String {
    let line = line.replace("**", "");
    let mut out = String::with_capacity(line.len());
    let mut rest = line.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        let link = before.rsplit_once('[').zip(after.split_once(')'));
        match link {
            Some(((before, name), (_, behind))) => {
                out.push_str(before);
                out.push_str(name);
                rest = behind;
            }
            None => {
                out.push_str(before);
                out.push_str("](");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_up_to_the_next_heading() {
        let page = "# A\n\ntext\n\n## Part\n\n### one\n\n```text\nerror[one]: it\n```\n\nIt is. [More](a.md) in `a.b`, **now**.\n\n### two\n\nThat.\n\n## Other\n\n### three\n\nThis.\n";
        let entries = entries_of(page);
        let codes: Vec<(&str, &str)> = entries.iter().map(|entry| (entry.part, entry.code)).collect();
        assert_eq!(codes, [("Part", "one"), ("Part", "two"), ("Other", "three")]);
        assert_eq!(entries[0].text(None), "  error[one]: it\n\nIt is. More in `a.b`, now.\n");
        assert_eq!(entries[0].summary(), "It is.");
        assert_eq!(entries[1].summary(), "That.");
    }

    #[test]
    fn every_entry_has_a_meaning() {
        for entry in entries() {
            assert!(!entry.summary().is_empty(), "{}", entry.code);
            assert!(entry.text(Some(60)).lines().count() > 2, "{}", entry.code);
            assert!(!entry.text(None).contains("]("), "{} shows the address of a link", entry.code);
        }
    }
}
