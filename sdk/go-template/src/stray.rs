//! A stray `end` or `else`. The parser treats it as the end of the template, and would silently
//! omit the rest; Go rejects it.

use gotmpl::parse::{Expr, ListNode, Node, Parser};

use crate::TemplateFault;

/// An action that no template contains by itself.
const LAST: &str = "{{__last}}";
const LAST_NAME: &str = "__last";
/// The maximum number of places that are tried to find the line.
const MOST: usize = 1_000;

/// The fault, if a valid template ends before its text does.
pub(crate) fn find(source: &str) -> Option<TemplateFault> {
    if is_whole(source) {
        return None;
    }
    let actions = source.match_indices("{{").map(|(at, _)| at);
    let strays = actions.filter_map(|at| {
        let rest = source.get(at + 2..)?;
        let word = rest.strip_prefix("- ").unwrap_or(rest).trim_start();
        let word = ["end", "else"].into_iter().find(|known| word.starts_with(known))?;
        let close = rest.find("}}")?;
        Some((at, word, source.get(..at + 2 + close + 2)?))
    });
    let stray = strays.take(MOST).find(|(_, _, upto)| !is_whole(upto) && is_read(upto));
    // An action without an end takes the end of another one.
    let (at, message) = match (open(source), stray) {
        (Some((at, word)), _) => {
            (at, format!("{{{{{word}}}}} is not ended: write {{{{end}}}} after its content"))
        }
        (None, Some((at, word, _))) => (at, format!("unexpected {{{{{word}}}}}: it ends nothing")),
        (None, None) => (0, "unexpected {{end}}: it ends nothing".to_owned()),
    };
    let line = source.get(..at).unwrap_or_default().matches('\n').count() + 1;
    Some(TemplateFault { line, message })
}

/// The innermost action that needs an end and has none.
fn open(source: &str) -> Option<(usize, &'static str)> {
    let mut open = Vec::new();
    for (at, _) in source.match_indices("{{") {
        let rest = source.get(at + 2..).unwrap_or_default();
        let word = rest.strip_prefix("- ").unwrap_or(rest).trim_start();
        let is = |known: &&str| {
            word.strip_prefix(known).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        };
        match ["if", "range", "with", "block", "define", "end"].into_iter().find(is) {
            Some("end") => drop(open.pop()),
            Some(word) => open.push((at, word)),
            None => {}
        }
    }
    open.pop()
}

fn is_read(source: &str) -> bool {
    Parser::new(source, "{{", "}}").and_then(Parser::parse).is_ok()
}

/// Whether the parser reaches the end of the text.
fn is_whole(source: &str) -> bool {
    let parsed = Parser::new(&format!("{source}{LAST}"), "{{", "}}").and_then(Parser::parse);
    parsed.is_ok_and(|(main, _)| ends(&main))
}

fn ends(list: &ListNode) -> bool {
    let Some(Node::Action(action)) = list.nodes.last() else { return false };
    let first = action.pipe.commands.first().and_then(|command| command.args.first());
    matches!(first, Some(Expr::Identifier(_, name)) if *name == LAST_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_end_is_found_with_its_line() {
        for whole in
            ["", "a", "{{ if .a }}b{{ else }}c{{ end }}d", "{{/* end */}}", "{{ range .a }}{{ end -}} x\n"]
        {
            assert!(find(whole).is_none(), "{whole}");
        }
        for (stray, line, word) in [
            ("{{ end }}", 1, "end"),
            ("a: 1\n{{ if .a }}x{{ end }}\n{{- end }}\nb: 2", 3, "end"),
            ("a\nb{{ else }}c", 2, "else"),
            ("a\n{{ if .a }}\nb", 2, "{{if}} is not ended"),
            ("{{ if .a }}\n{{- range .b }}c{{ end }}", 1, "{{if}} is not ended"),
            ("{{ with .a }}\n{{- range .b }}c", 2, "{{range}} is not ended"),
        ] {
            let fault = find(stray).unwrap_or_else(|| panic!("{stray}"));
            assert_eq!((fault.line, fault.message.contains(word)), (line, true), "{stray}: {fault}");
        }
    }
}
