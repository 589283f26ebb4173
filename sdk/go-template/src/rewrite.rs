//! The additions to a parsed template before it runs: marks with the line, checks that a shown
//! value exists and a kept one is not too large, and changes so that `set` and similar functions
//! change the variable that they are called with, as they do in Go, where maps are references.

use std::collections::BTreeMap;

use gotmpl::ValueFunc;
use gotmpl::parse::{
    ActionNode, BranchNode, CommandNode, Expr, ListNode, Node, Number, PipeNode, Pos, SmolStr,
};

use crate::{TemplateFault, builtins};

/// `{{ __at LINE }}`
pub(crate) const AT: &str = "__at";
/// `{{ … | __shown SOURCE }}`
pub(crate) const SHOWN: &str = "__shown";
/// `{{ __there "FUNCTION" "$x" $x }}`
pub(crate) const THERE: &str = "__there";
/// `{{ $x := … | __kept }}`
pub(crate) const KEPT: &str = "__kept";
const MUTATORS: [&str; 6] = ["set", "unset", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"];

pub(crate) fn rewrite(
    list: &mut ListNode,
    source: &str,
    functions: &BTreeMap<String, ValueFunc>,
    faults: &mut Vec<TemplateFault>,
) {
    Rewriter { source, functions, faults }.list(list);
}

struct Rewriter<'a> {
    source: &'a str,
    functions: &'a BTreeMap<String, ValueFunc>,
    faults: &'a mut Vec<TemplateFault>,
}

impl Rewriter<'_> {
    fn list(&mut self, list: &mut ListNode) {
        let nodes = std::mem::take(&mut list.nodes);
        for node in nodes {
            match node {
                Node::Text(_) | Node::Break(_) | Node::Continue(_) => list.nodes.push(node),
                Node::Action(action) => {
                    list.nodes.push(mark(action.pos));
                    self.action(action, &mut list.nodes);
                }
                Node::If(mut branch) => {
                    list.nodes.push(mark(branch.pos));
                    self.branch(&mut branch, true);
                    list.nodes.push(Node::If(branch));
                }
                Node::With(mut branch) => {
                    list.nodes.push(mark(branch.pos));
                    self.branch(&mut branch, true);
                    list.nodes.push(Node::With(branch));
                }
                Node::Range(mut branch) => {
                    list.nodes.push(mark(branch.pos));
                    self.branch(&mut branch, false);
                    list.nodes.push(Node::Range(branch));
                }
                Node::Template(mut template) => {
                    list.nodes.push(mark(template.pos));
                    if let Some(pipe) = &mut template.pipe {
                        self.pipe(pipe);
                    }
                    list.nodes.push(Node::Template(template));
                }
                Node::Define(mut define) => {
                    self.list(&mut define.body);
                    list.nodes.push(Node::Define(define));
                }
                Node::List(mut inner) => {
                    self.list(&mut inner);
                    list.nodes.push(Node::List(inner));
                }
            }
        }
    }

    fn branch(&mut self, branch: &mut BranchNode, keeps: bool) {
        self.pipe(&branch.pipe);
        if keeps && !branch.pipe.decl.is_empty() {
            branch.pipe.commands.push(command(branch.pos, KEPT, []));
        }
        self.list(&mut branch.body);
        if let Some(other) = &mut branch.else_body {
            self.list(other);
        }
    }

    fn action(&mut self, mut action: ActionNode, nodes: &mut Vec<Node>) {
        self.pipe(&action.pipe);
        let pos = action.pos;
        match self.changed_variable(&action.pipe) {
            Changed::Variable(name) => {
                let changed = SmolStr::from(name.as_str());
                nodes.push(check_for_map(&action.pipe, &changed));
                let mut change = action.clone();
                change.pipe.decl = vec![changed.clone()];
                change.pipe.is_assign = true;
                change.pipe.commands.push(command(pos, KEPT, []));
                nodes.push(Node::Action(change));
                action.pipe.commands =
                    vec![CommandNode { pos, args: vec![Expr::Variable(pos, changed, Vec::new())] }];
            }
            Changed::Elsewhere(function) => self.faults.push(TemplateFault {
                line: pos.line,
                message: format!(
                    "`{function}` can change a variable only: write `{{{{ $x := … }}}}` first, then `{function} $x …`"
                ),
            }),
            Changed::Nothing => {}
        }
        if action.pipe.decl.is_empty() {
            let shown = Expr::String(pos, self.text_at(pos).into());
            action.pipe.commands.push(command(pos, SHOWN, [shown]));
        } else {
            action.pipe.commands.push(command(pos, KEPT, []));
        }
        nodes.push(Node::Action(action));
    }

    /// The variable that `{{ set $x … }}` and `{{ $_ := set $x … }}` change.
    fn changed_variable(&self, pipe: &PipeNode) -> Changed {
        let [only] = pipe.commands.as_slice() else { return Changed::Nothing };
        let [Expr::Identifier(_, function), target, ..] = only.args.as_slice() else {
            return Changed::Nothing;
        };
        if !MUTATORS.contains(&function.as_str()) {
            return Changed::Nothing;
        }
        match target {
            Expr::Variable(_, name, fields) if fields.is_empty() && name != "$" => {
                Changed::Variable(name.to_string())
            }
            // The result is discarded: only the change can be intended.
            _ if pipe.decl.first().is_some_and(|name| name == "$_") => {
                Changed::Elsewhere(function.to_string())
            }
            _ => Changed::Nothing,
        }
    }

    fn pipe(&mut self, pipe: &PipeNode) {
        for command in &pipe.commands {
            for arg in &command.args {
                self.expression(arg);
            }
        }
    }

    fn expression(&mut self, expression: &Expr) {
        match expression {
            Expr::Identifier(pos, name) => {
                let name = name.as_str();
                if !builtins::NAMES.contains(&name) && !self.functions.contains_key(name) {
                    self.faults.push(TemplateFault { line: pos.line, message: self.unknown(name) });
                }
            }
            Expr::Pipe(_, pipe) => self.pipe(pipe),
            Expr::Chain(_, inner, _) => self.expression(inner),
            _ => {}
        }
    }

    fn unknown(&self, name: &str) -> String {
        let known = self.functions.keys().map(String::as_str).chain(builtins::NAMES);
        let near = known
            .map(|known| (strsim::damerau_levenshtein(known, name), known))
            .min()
            .filter(|(distance, known)| *distance * 3 <= known.len());
        match near {
            Some((_, near)) => format!("there is no function `{name}`; did you mean `{near}`?"),
            None => format!("there is no function `{name}`"),
        }
    }

    /// The action that begins at a place, without its braces.
    fn text_at(&self, pos: Pos) -> &str {
        let text = self.source.get(pos.offset..).unwrap_or_default();
        let text = text.strip_prefix("{{").unwrap_or(text);
        let text = text.split("}}").next().unwrap_or_default();
        text.trim_start_matches("- ").trim_end_matches(" -").trim()
    }
}

enum Changed {
    Nothing,
    Variable(String),
    Elsewhere(String),
}

fn mark(pos: Pos) -> Node {
    let line = i64::try_from(pos.line).unwrap_or(0);
    let commands = vec![command(pos, AT, [Expr::Number(pos, Number::Int(line))])];
    let pipe = PipeNode { pos, decl: Vec::new(), commands, is_assign: false };
    Node::Action(ActionNode { pos, pipe })
}

/// In Go, an action without a change is discarded: this first checks that there was a map.
fn check_for_map(pipe: &PipeNode, variable: &SmolStr) -> Node {
    let pos = pipe.pos;
    let function = pipe.commands.first().and_then(|command| command.args.first());
    let function = match function {
        Some(Expr::Identifier(_, name)) => name.as_str(),
        _ => "",
    };
    let text = |text: &str| Expr::String(pos, text.into());
    let value = Expr::Variable(pos, variable.clone(), Vec::new());
    let commands = vec![command(pos, THERE, [text(function), text(variable), value])];
    Node::Action(ActionNode { pos, pipe: PipeNode { pos, decl: Vec::new(), commands, is_assign: false } })
}

fn command<const N: usize>(pos: Pos, name: &str, args: [Expr; N]) -> CommandNode {
    let mut all = vec![Expr::Identifier(pos, name.into())];
    all.extend(args);
    CommandNode { pos, args: all }
}
