//! Which entries of its data a template reads.

use gotmpl::parse::{BranchNode, Expr, ListNode, Node, PipeNode, SmolStr};

/// The line of the first place where a template reads an entry of its data: `.NAME` where the dot is
/// still the data, or `$.NAME`. Definitions are not searched, because each call gives them other data.
pub(crate) fn find(list: &ListNode, name: &str) -> Option<usize> {
    Reader { name }.list(list, true)
}

struct Reader<'a> {
    name: &'a str,
}

impl Reader<'_> {
    /// `is_data` is whether the dot is the data.
    fn list(&self, list: &ListNode, is_data: bool) -> Option<usize> {
        list.nodes.iter().find_map(|node| match node {
            Node::Action(action) => self.pipe(&action.pipe, is_data),
            Node::If(branch) => self.branch(branch, is_data, is_data),
            Node::With(branch) | Node::Range(branch) => self.branch(branch, is_data, false),
            Node::Template(call) => call.pipe.as_ref().and_then(|pipe| self.pipe(pipe, is_data)),
            Node::List(list) => self.list(list, is_data),
            Node::Text(_) | Node::Define(_) | Node::Break(_) | Node::Continue(_) => None,
        })
    }

    fn branch(&self, branch: &BranchNode, is_data: bool, in_body: bool) -> Option<usize> {
        self.pipe(&branch.pipe, is_data)
            .or_else(|| self.list(&branch.body, in_body))
            .or_else(|| self.list(branch.else_body.as_ref()?, is_data))
    }

    fn pipe(&self, pipe: &PipeNode, is_data: bool) -> Option<usize> {
        let mut all = pipe.commands.iter().flat_map(|command| &command.args);
        all.find_map(|expression| self.expression(expression, is_data))
    }

    fn expression(&self, expression: &Expr, is_data: bool) -> Option<usize> {
        let is_it = |fields: &[SmolStr]| fields.first().is_some_and(|first| first == self.name);
        match expression {
            Expr::Field(pos, fields) => (is_data && is_it(fields)).then_some(pos.line),
            Expr::Variable(pos, name, fields) => (*name == "$" && is_it(fields)).then_some(pos.line),
            Expr::Pipe(_, pipe) => self.pipe(pipe, is_data),
            Expr::Chain(_, inner, _) => self.expression(inner, is_data),
            _ => None,
        }
    }
}
