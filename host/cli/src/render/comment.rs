//! Comments in Markdown on pull requests: within the size that forges accept, and with a marker by which a
//! bot finds its earlier comment.
//!
//! Whatever a driver, a document or a state says is in fenced code: there it cannot become Markdown, a
//! mention or a reference.

use crate::text;

/// The largest comment that GitHub accepts, in characters. Counted in bytes here, which are never fewer.
pub(crate) const LIMIT: usize = 65_536;
/// The width of the longest line in a comment.
const WIDEST: usize = 4_000;
/// The most lines of an entry.
const MOST_LINES: usize = 200;
/// The space for what is said about the parts that do not fit.
const REST: usize = 500;

/// A comment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comment {
    /// What the comment is about: `plan ORG/APP/ENV` or `impact`. The comment begins with it.
    pub(crate) marker: String,
    /// The heading and the summary, in Markdown.
    pub(crate) head: String,
    /// The parts, the most important one first.
    pub(crate) parts: Vec<Part>,
    /// The noun for a part, if there are several.
    pub(crate) noun: &'static str,
    /// The command that shows what does not fit.
    pub(crate) command: String,
}

/// A part of a comment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Its heading, in Markdown; may be empty.
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

/// A list in fenced code.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The line that shows the list; `None` if the list is always visible.
    pub(crate) fold: Option<&'static str>,
    /// The language, by which forges colour it.
    pub(crate) language: &'static str,
    /// The entries, the most important one first. An entry may have several lines.
    pub(crate) entries: Vec<String>,
    /// The noun for an entry.
    pub(crate) noun: &'static str,
}

impl Block {
    /// A list. Long lines and long entries are cut, so that one of them does not keep out all others.
    pub(crate) fn new(
        fold: Option<&'static str>,
        language: &'static str,
        entries: impl IntoIterator<Item = String>,
        noun: &'static str,
    ) -> Self {
        let cut = |entry: String| {
            let mut lines: Vec<_> =
                entry.lines().take(MOST_LINES).map(|line| text::fit(line, WIDEST).into_owned()).collect();
            let left = entry.lines().count() - lines.len();
            if left > 0 {
                lines.push(format!("  … and {}", more(left, "line")));
            }
            lines.join("\n")
        };
        Self { fold, language, entries: entries.into_iter().map(cut).collect(), noun }
    }

    /// The block with its first entries.
    fn with(&self, shown: usize) -> String {
        let mut body = String::new();
        for entry in self.entries.iter().take(shown) {
            body.push_str(entry);
            body.push('\n');
        }
        let left = self.entries.len() - shown;
        if left > 0 {
            body.push_str(&format!("… and {}\n", more(left, self.noun)));
        }
        // The fence must be longer than any in the text, also if the text is cut.
        let longest = self.entries.iter().map(|entry| longest_fence(entry)).max().unwrap_or_default();
        let fence = "`".repeat((longest + 1).max(3));
        let fenced = format!("\n{fence}{}\n{body}{fence}\n", self.language);
        match self.fold {
            None => fenced,
            Some(title) => format!("\n<details><summary>{title}</summary>\n{fenced}\n</details>\n"),
        }
    }

    /// How many of the entries fit, and their size.
    fn fit(&self, room: usize) -> (usize, usize) {
        let mut used = self.with(0).len();
        let mut shown = 0;
        if used > room {
            return (0, 0);
        }
        for entry in &self.entries {
            used += entry.len() + 1;
            if used > room {
                break;
            }
            shown += 1;
        }
        (shown, if shown > 0 { self.with(shown).len() } else { 0 })
    }
}

impl Comment {
    /// The comment in Markdown. What does not fit is left out: first what is folded, the least important
    /// part first.
    pub(crate) fn render(&self) -> String {
        let head =
            format!("<!-- purlin:{} -->\n{}\n", self.marker.replace(['<', '>'], "_"), self.head.trim_end());
        let mut room = LIMIT.saturating_sub(head.len() + self.command.len() + REST);
        let titles = self.parts.iter().take_while(|part| {
            let size = part.title.len() + 2;
            let fits = size <= room;
            room -= if fits { size } else { 0 };
            fits
        });
        let titles = titles.count();
        let mut shown: Vec<Vec<usize>> = self.parts.iter().map(|part| vec![0; part.blocks.len()]).collect();
        for is_folded in [false, true] {
            for (part, shown) in self.parts.iter().zip(&mut shown).take(titles) {
                for (block, shown) in part.blocks.iter().zip(shown) {
                    if block.fold.is_some() == is_folded {
                        let (fit, size) = block.fit(room);
                        (*shown, room) = (fit, room - size);
                    }
                }
            }
        }
        let mut out = head;
        let mut left_out: Vec<String> = Vec::new();
        for (part, shown) in self.parts.iter().zip(&shown).take(titles) {
            if !part.title.is_empty() {
                out.push_str(&format!("\n{}\n", part.title));
            }
            for (block, shown) in part.blocks.iter().zip(shown).filter(|(block, _)| !block.entries.is_empty())
            {
                match (shown, block.fold) {
                    (0, fold) => {
                        let count = text::count(block.entries.len(), block.noun);
                        let of = fold.map_or(String::new(), |fold| format!(" under “{fold}”"));
                        left_out.push(format!("{count}{of}"));
                    }
                    (shown, _) => out.push_str(&block.with(*shown)),
                }
            }
        }
        if self.parts.len() > titles {
            left_out.insert(0, text::count(self.parts.len() - titles, self.noun));
        }
        let is_cut = |(part, shown): (&Part, &Vec<usize>)| {
            part.blocks.iter().zip(shown).any(|(block, shown)| *shown < block.entries.len())
        };
        if self.parts.len() > titles || self.parts.iter().zip(&shown).any(is_cut) {
            let without = match &*left_out {
                [] => String::new(),
                [one] => format!(" without {one}"),
                [first, others @ ..] => format!(" without {first} and {} more lists", others.len()),
            };
            out.push_str(&format!(
                "\nShortened{without} to fit into a comment; {} shows everything.\n",
                code(&self.command)
            ));
        }
        out
    }
}

fn more(count: usize, noun: &str) -> String {
    text::count(count, &format!("more {noun}"))
}

/// Text as a code span. A text with backticks gets a longer fence; control characters are spelt out.
pub(crate) fn code(text: &str) -> String {
    let text = text::line(text);
    let fence = "`".repeat(longest_fence(&text) + 1);
    match text.starts_with('`') || text.ends_with('`') {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

/// The length of the longest run of backticks.
fn longest_fence(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default()
}

/// Text without colours.
pub(crate) fn plain(styled: &str) -> String {
    anstream::adapter::strip_str(styled).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(fold: Option<&'static str>, entries: Vec<String>) -> Block {
        Block::new(fold, "text", entries, "resource")
    }

    fn comment(parts: Vec<Part>) -> Comment {
        Comment {
            marker: "impact".into(),
            head: "### Impact\n\nUpdate 1".into(),
            parts,
            noun: "group",
            command: "purlin impact platform".into(),
        }
    }

    #[test]
    fn text_of_others_stays_in_its_fence() {
        for text in ["```", "a\n````\n</details>\n# b", "`", "x `` y"] {
            let part = Part { title: String::new(), blocks: vec![block(Some("Values"), vec![text.into()])] };
            let rendered = comment(vec![part]).render();
            let fence: String = rendered
                .lines()
                .find_map(|line| line.strip_suffix("text").filter(|line| line.starts_with("```")))
                .expect("a fence")
                .into();
            assert!(!text.contains(&fence), "{rendered}");
            let inside = rendered.split(&format!("{fence}text\n")).nth(1).expect("a body");
            assert_eq!(inside.split(&format!("\n{fence}\n")).next(), Some(text), "{rendered}");
        }
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a`"), "`` `a` ``");
        assert_eq!(code("a\nb"), "`a\\nb`");
    }

    #[test]
    fn a_long_entry_keeps_out_no_others() {
        let entries = vec!["x".repeat(1 << 20), "line\n".repeat(10_000), "short".to_owned()];
        let rendered =
            comment(vec![Part { title: String::new(), blocks: vec![block(None, entries)] }]).render();
        assert!(rendered.contains("xxx…\nline\n"), "{rendered}");
        assert!(rendered.ends_with("line\n  … and 9800 more lines\nshort\n```\n"), "{rendered}");
    }

    #[test]
    fn a_comment_fits_and_says_what_is_left_out() {
        let line = |number: usize| format!("~ update thing.default#shared.thing-{number}");
        for (groups, resources) in [(1, 10), (1, 5_000), (30, 2_000), (4_000, 3)] {
            let part = |number: usize| Part {
                title: format!("#### group {number}"),
                blocks: vec![
                    block(Some("Values before and after"), (0..resources).map(line).collect()),
                    block(None, (0..resources).map(line).collect()),
                ],
            };
            let rendered = comment((0..groups).map(part).collect()).render();
            assert!(rendered.len() <= LIMIT, "{}", rendered.len());
            assert!(rendered.starts_with("<!-- purlin:impact -->\n### Impact\n\nUpdate 1\n"), "{rendered}");
            let is_cut = rendered.ends_with("`purlin impact platform` shows everything.\n");
            assert_eq!(is_cut, groups * resources > 10, "{rendered}");
            let opened = rendered.matches("<details>").count();
            assert_eq!(opened, rendered.matches("</details>").count());
            let titles = rendered.matches("#### group").count();
            match groups {
                4_000 => {
                    assert!(rendered.contains(&format!("without {} groups", groups - titles)), "{rendered}")
                }
                _ => assert_eq!(titles, groups),
            }
            if (groups, resources) == (1, 5_000) {
                let listed = rendered.matches("~ update").count();
                assert!(rendered.contains(&format!("… and {} more resources", 5_000 - listed)), "{rendered}");
                assert!(rendered.contains("without 5000 resources under “Values before and after”"));
            }
        }
    }
}
