//! Walks a template and writes its text, as Go does, with a mask beside every value, so that the
//! secret parts of the text are known.
//!
//! Everything that a condition on a secret decides is secret too: the text that it outputs, and
//! every variable that either of its branches changes.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use gotmpl::parse::{
    ActionNode, BranchNode, CommandNode, Expr, ListNode, Node, Number, PipeNode, SmolStr, TemplateNode,
};
use gotmpl::{TemplateError, Value, ValueFunc};

use crate::builtins::{self, Builtins};
use crate::mask::{MaskedValue, SecretMask};
use crate::passthrough::Tokens;
use crate::rendered::Rendered;
use crate::rewrite::{AT, KEPT, SHOWN, THERE};
use crate::{MAX_TEXT, MAX_TURNS, bounded};

/// The maximum nesting of templates and branches.
const MAX_DEPTH: usize = 200;
const ROOT: SmolStr = SmolStr::new_static("$");

/// Text with a maximum length.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_TEXT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Why the walk of a list of nodes ends early.
enum Stop {
    Fault(Box<TemplateError>),
    Break,
    Continue,
}

impl From<TemplateError> for Stop {
    fn from(error: TemplateError) -> Self {
        Self::Fault(Box::new(error))
    }
}

type Ran<T> = Result<T, Stop>;

/// One render.
pub(crate) struct Run<'a> {
    pub(crate) functions: &'a BTreeMap<String, ValueFunc>,
    pub(crate) templates: BTreeMap<&'a str, &'a ListNode>,
    builtins: Builtins,
    /// Names in scope, the innermost last.
    names: Vec<BTreeMap<SmolStr, MaskedValue>>,
    out: Rendered,
    depth: usize,
    turns: u64,
    /// The number of enclosing conditions on secrets.
    shade: usize,
    /// The current line.
    pub(crate) line: usize,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        functions: &'a BTreeMap<String, ValueFunc>,
        templates: BTreeMap<&'a str, &'a ListNode>,
    ) -> Self {
        Self {
            functions,
            templates,
            builtins: Builtins::default(),
            names: Vec::new(),
            out: Rendered::default(),
            depth: 0,
            turns: MAX_TURNS,
            shade: 0,
            line: 0,
        }
    }

    /// Walks a template with its data.
    pub(crate) fn run(&mut self, main: &ListNode, data: MaskedValue) -> Result<Rendered, TemplateError> {
        self.names = vec![BTreeMap::from([(ROOT, data.clone())])];
        match self.list(main, &data) {
            Ok(()) => Ok(std::mem::take(&mut self.out)),
            Err(Stop::Fault(error)) => Err(*error),
            Err(Stop::Break) => Err(exec("unexpected break outside of range")),
            Err(Stop::Continue) => Err(exec("unexpected continue outside of range")),
        }
    }

    fn list(&mut self, list: &ListNode, dot: &MaskedValue) -> Ran<()> {
        list.nodes.iter().try_for_each(|node| self.node(node, dot))
    }

    fn node(&mut self, node: &Node, dot: &MaskedValue) -> Ran<()> {
        match node {
            Node::Text(text) => self.write(&text.text, false),
            Node::Action(action) => self.action(action, dot),
            Node::If(branch) => self.deeper(|run| run.choice(branch, dot, false)),
            Node::With(branch) => self.deeper(|run| run.choice(branch, dot, true)),
            Node::Range(branch) => self.deeper(|run| run.range(branch, dot)),
            Node::Template(call) => self.deeper(|run| run.template(call, dot)),
            Node::Define(_) => Ok(()),
            Node::List(list) => self.list(list, dot),
            Node::Break(_) => Err(Stop::Break),
            Node::Continue(_) => Err(Stop::Continue),
        }
    }

    fn deeper(&mut self, walk: impl FnOnce(&mut Self) -> Ran<()>) -> Ran<()> {
        if self.depth >= MAX_DEPTH {
            return Err(TemplateError::RecursionLimit.into());
        }
        self.depth += 1;
        let walked = walk(self);
        self.depth -= 1;
        walked
    }

    fn write(&mut self, text: &str, secret: bool) -> Ran<()> {
        let start = self.out.text.len();
        if start + text.len() > MAX_TEXT {
            return Err(TemplateError::Write.into());
        }
        self.out.text.push_str(text);
        if secret || self.shade > 0 {
            self.out.secret.push(start..self.out.text.len());
        }
        Ok(())
    }

    fn action(&mut self, action: &ActionNode, dot: &MaskedValue) -> Ran<()> {
        let held = self.pipeline(dot, &action.pipe)?;
        if !action.pipe.decl.is_empty() || is_mark(action) {
            return Ok(());
        }
        let secret = !held.mask.is_open();
        match &held.value {
            Value::Nil => self.write("<no value>", secret),
            Value::String(text) => self.write(text, secret),
            other => {
                // The text of a value may be far larger than the value in memory.
                let mut text = Bounded(String::new());
                write!(text, "{other}").map_err(|_| TemplateError::Write)?;
                self.write(&text.0, secret)
            }
        }
    }

    /// `if` and `with`.
    fn choice(&mut self, branch: &BranchNode, dot: &MaskedValue, with: bool) -> Ran<()> {
        self.names.push(BTreeMap::new());
        let walked = self.pipeline(dot, &branch.pipe).and_then(|held| {
            let secret = held.mask.decides(&held.value);
            let (taken, dot) = match held.value.is_truthy() {
                true => (Some(&branch.body), if with { &held } else { dot }),
                false => (branch.else_body.as_ref(), dot),
            };
            self.shaded(secret, branch, |run| taken.map_or(Ok(()), |list| run.list(list, dot)))
        });
        self.names.pop();
        walked
    }

    /// Walks nodes under a condition, which may be secret.
    fn shaded(
        &mut self,
        secret: bool,
        branch: &BranchNode,
        walk: impl FnOnce(&mut Self) -> Ran<()>,
    ) -> Ran<()> {
        if !secret {
            return walk(self);
        }
        let start = self.out.text.len();
        self.shade += 1;
        let walked = walk(self);
        let mut changes = Changes::default();
        changes.of(&branch.body);
        branch.else_body.iter().for_each(|list| changes.of(list));
        for name in changes.names {
            if let Some(held) = self.names.iter_mut().rev().find_map(|names| names.get_mut(&name)) {
                held.mask = SecretMask::Made;
            }
        }
        // The end of the loop depends on the secret, and so does everything after it.
        if !changes.leaves {
            self.shade -= 1;
        }
        if self.out.text.len() == start {
            self.out.left_out = true;
        }
        walked
    }

    fn range(&mut self, branch: &BranchNode, dot: &MaskedValue) -> Ran<()> {
        let over = self.commands(dot, &branch.pipe)?;
        let MaskedValue { value, mask } = &over;
        let secret = mask.is_whole();
        // The name or number of an item reveals how many there are.
        let index = |value: Value| if secret { MaskedValue::made(value) } else { MaskedValue::open(value) };
        match value {
            Value::List(items) if !items.is_empty() => self.shaded(secret, branch, |run| {
                let items = items.iter().enumerate().map(|(at, item)| {
                    let number = Value::Int(i64::try_from(at).unwrap_or(i64::MAX));
                    (index(number), MaskedValue { value: item.clone(), mask: mask.item(at) })
                });
                run.turns(branch, items)
            }),
            Value::Map(entries) if !entries.is_empty() => self.shaded(secret, branch, |run| {
                let entries = entries.iter().map(|(name, entry)| {
                    let held = MaskedValue { value: entry.clone(), mask: mask.field(name) };
                    (index(Value::String(Arc::clone(name))), held)
                });
                run.turns(branch, entries)
            }),
            Value::Int(_) | Value::Uint(_) if branch.pipe.decl.len() > 1 => {
                let shown = if secret { "a number".to_owned() } else { value.to_string() };
                Err(exec(format!("can't use {shown} to iterate over more than one variable")).into())
            }
            Value::Int(count) if *count > 0 => self.shaded(secret, branch, |run| {
                run.turns(branch, (0..*count).map(|at| (index(Value::Int(at)), index(Value::Int(at)))))
            }),
            Value::Uint(count) if *count > 0 => self.shaded(secret, branch, |run| {
                run.turns(branch, (0..*count).map(|at| (index(Value::Uint(at)), index(Value::Uint(at)))))
            }),
            Value::List(_) | Value::Map(_) | Value::Int(_) | Value::Uint(_) | Value::Nil => {
                let none = branch.else_body.as_ref();
                let secret = mask.decides(value);
                self.shaded(secret, branch, |run| none.map_or(Ok(()), |list| run.list(list, dot)))
            }
            other => Err(TemplateError::NotIterable(other.type_name().to_owned()).into()),
        }
    }

    fn turns(
        &mut self,
        branch: &BranchNode,
        items: impl Iterator<Item = (MaskedValue, MaskedValue)>,
    ) -> Ran<()> {
        for (index, item) in items {
            self.turns = self.turns.checked_sub(1).ok_or(TemplateError::RangeIterLimit)?;
            self.names.push(BTreeMap::new());
            let mut give = |name: &SmolStr, held: MaskedValue| match branch.pipe.is_assign {
                true => self.assign(name, held),
                false => self.name(name, held),
            };
            match branch.pipe.decl.as_slice() {
                [] => {}
                [only] => give(only, item.clone()),
                [number, each, ..] => {
                    give(number, index);
                    give(each, item.clone());
                }
            }
            let walked = self.list(&branch.body, &item);
            self.names.pop();
            match walked {
                Ok(()) | Err(Stop::Continue) => {}
                Err(Stop::Break) => break,
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    fn template(&mut self, call: &TemplateNode, dot: &MaskedValue) -> Ran<()> {
        let dot = match &call.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => dot.clone(),
        };
        let found = self.templates.get(call.name.as_str()).copied();
        let list = found.ok_or_else(|| TemplateError::UndefinedTemplate(call.name.to_string()))?;
        // It sees none of its caller's names.
        let names = std::mem::replace(&mut self.names, vec![BTreeMap::from([(ROOT, dot.clone())])]);
        let walked = self.list(list, &dot);
        self.names = names;
        walked
    }

    fn name(&mut self, name: &SmolStr, mut held: MaskedValue) {
        if self.shade > 0 {
            held.mask = SecretMask::Made;
        }
        if let Some(names) = self.names.last_mut() {
            names.insert(name.clone(), held);
        }
    }

    fn assign(&mut self, name: &SmolStr, mut held: MaskedValue) {
        if self.shade > 0 {
            held.mask = SecretMask::Made;
        }
        match self.names.iter_mut().rev().find_map(|names| names.get_mut(name)) {
            Some(there) => *there = held,
            None => self.name(name, held),
        }
    }

    fn pipeline(&mut self, dot: &MaskedValue, pipe: &PipeNode) -> Ran<MaskedValue> {
        let held = self.commands(dot, pipe)?;
        match pipe.decl.as_slice() {
            [] => {}
            [name] if pipe.is_assign => self.assign(name, held.clone()),
            [name] => self.name(name, held.clone()),
            more => {
                let message = format!("cannot assign {} variables outside a range pipeline", more.len());
                return Err(exec(message).into());
            }
        }
        Ok(held)
    }

    fn commands(&mut self, dot: &MaskedValue, pipe: &PipeNode) -> Ran<MaskedValue> {
        let mut held = None;
        for command in &pipe.commands {
            held = Some(self.command(dot, command, held.take())?);
        }
        Ok(held.unwrap_or_default())
    }

    fn command(
        &mut self,
        dot: &MaskedValue,
        command: &CommandNode,
        piped: Option<MaskedValue>,
    ) -> Ran<MaskedValue> {
        let Some((first, args)) = command.args.split_first() else { return Ok(MaskedValue::default()) };
        match first {
            Expr::Identifier(_, name) => return self.function(dot, name, args, piped),
            Expr::Chain(_, inner, fields) => {
                if let Expr::Identifier(_, name) = &**inner {
                    let held = self.function(dot, name, args, piped)?;
                    return fields_of(held, fields);
                }
            }
            Expr::Nil(_) => return Err(exec("nil is not a command").into()),
            _ => {}
        }
        if piped.is_some() || !args.is_empty() {
            return Err(exec(format!("can't give argument to non-function {}", kind(first))).into());
        }
        self.expression(dot, first)
    }

    fn function(
        &mut self,
        dot: &MaskedValue,
        name: &SmolStr,
        args: &[Expr],
        piped: Option<MaskedValue>,
    ) -> Ran<MaskedValue> {
        if *name == "and" || *name == "or" {
            return self.logic(dot, name, args, piped);
        }
        let mut all = Vec::with_capacity(args.len() + 1);
        for arg in args {
            let held = self.expression(dot, arg)?;
            if matches!(held.value, Value::Nil)
                && ["print", "printf", "println"].contains(&name.as_str())
                && let Some(source) = written(arg)
            {
                let message = format!(
                    "`{source}` has no value that `{name}` could show; if it may be missing, use `default`"
                );
                return Err(exec(message).into());
            }
            all.push(held);
        }
        all.extend(piped);
        self.call(name, all)
    }

    /// `and` and `or`, which evaluate only as many arguments as they need.
    fn logic(
        &mut self,
        dot: &MaskedValue,
        name: &SmolStr,
        args: &[Expr],
        piped: Option<MaskedValue>,
    ) -> Ran<MaskedValue> {
        if args.is_empty() && piped.is_none() {
            return Err(TemplateError::ArgCount { name: name.to_string(), expected: 1, got: 0 }.into());
        }
        let ends = *name == "or";
        let (mut last, mut secret) = (MaskedValue::default(), false);
        let mut piped = piped.into_iter();
        for at in 0..=args.len() {
            let held = match (args.get(at), at == args.len()) {
                (Some(arg), _) => self.expression(dot, arg)?,
                (None, true) => match piped.next() {
                    Some(held) => held,
                    None => break,
                },
                (None, false) => break,
            };
            secret |= held.mask.decides(&held.value);
            last = held;
            if last.value.is_truthy() == ends {
                break;
            }
        }
        if secret {
            last.mask = SecretMask::Made;
        }
        Ok(last)
    }

    fn call(&mut self, name: &SmolStr, mut args: Vec<MaskedValue>) -> Ran<MaskedValue> {
        match name.as_str() {
            AT => {
                if let Some(Value::Int(at)) = args.first().map(|held| &held.value) {
                    self.line = usize::try_from(*at).unwrap_or(0);
                }
                return Ok(MaskedValue::open(Value::String("".into())));
            }
            SHOWN => {
                let shown = args.pop().unwrap_or_default();
                return match (&shown.value, args.first().map(|held| &held.value)) {
                    (Value::Nil, Some(Value::String(source))) => {
                        Err(exec(format!("`{source}` has no value; if it may be missing, use `default`"))
                            .into())
                    }
                    _ => Ok(shown),
                };
            }
            THERE => {
                let [function, name, there] = args.as_slice() else { return Ok(MaskedValue::default()) };
                return match there.value {
                    Value::Nil => Err(exec(format!(
                        "`{}` is to change `{}`, which has no value: begin with `{{{{ {} := … | default dict }}}}`",
                        function.value, name.value, name.value
                    ))
                    .into()),
                    _ => Ok(MaskedValue::default()),
                };
            }
            KEPT => {
                let kept = args.pop().unwrap_or_default();
                bounded(&kept.value).map_err(exec)?;
                return Ok(kept);
            }
            _ => {}
        }
        if args.iter().all(|held| held.mask.is_open()) {
            let args: Vec<Value> = args.into_iter().map(|held| held.value).collect();
            return Ok(MaskedValue::open(self.invoke(name, &args)?));
        }
        if let Some((tokens, hidden)) = Tokens::hide(name, &args) {
            let moved = self.invoke(name, &hidden);
            return Ok(tokens.restore(&moved.map_err(|_| error_without_reason(name))?));
        }
        let args: Vec<Value> = args.into_iter().map(|held| held.value).collect();
        let made = self.invoke(name, &args).map_err(|_| error_without_reason(name))?;
        Ok(MaskedValue::made(made))
    }

    fn invoke(&mut self, name: &SmolStr, args: &[Value]) -> Result<Value, TemplateError> {
        match self.functions.get(name.as_str()) {
            Some(function) => function(args),
            None if builtins::NAMES.contains(&name.as_str()) => self.builtins.call(name, args),
            None => Err(TemplateError::UndefinedFunction(name.to_string())),
        }
    }

    fn expression(&mut self, dot: &MaskedValue, expression: &Expr) -> Ran<MaskedValue> {
        Ok(match expression {
            Expr::Dot(_) => dot.clone(),
            Expr::Field(_, fields) => return fields_of(dot.clone(), fields),
            Expr::Variable(_, name, fields) => {
                let held = self.names.iter().rev().find_map(|names| names.get(name)).cloned();
                let held = held.ok_or_else(|| TemplateError::UndefinedVariable(name.to_string()))?;
                return fields_of(held, fields);
            }
            Expr::String(_, text) => MaskedValue::open(Value::String(Arc::clone(text))),
            Expr::Number(_, Number::Int(int)) => MaskedValue::open(Value::Int(*int)),
            Expr::Number(_, Number::Float(float)) => MaskedValue::open(Value::Float(*float)),
            // As in Go, where a number literal is an `int`.
            Expr::Number(_, Number::Uint(large)) => return Err(exec(format!("{large} overflows int")).into()),
            Expr::Bool(_, truth) => MaskedValue::open(Value::Bool(*truth)),
            Expr::Nil(_) => MaskedValue::default(),
            Expr::Pipe(_, pipe) => return self.pipeline(dot, pipe),
            Expr::Identifier(_, name) => return self.function(dot, name, &[], None),
            Expr::Chain(_, inner, fields) => {
                let held = self.expression(dot, inner)?;
                return fields_of(held, fields);
            }
        })
    }
}

fn fields_of(held: MaskedValue, fields: &[SmolStr]) -> Ran<MaskedValue> {
    fields.iter().try_fold(held, |MaskedValue { value, mask }, name| match &value {
        Value::Map(entries) => {
            let entry = entries.get(name.as_str()).cloned().unwrap_or(Value::Nil);
            Ok(MaskedValue { value: entry, mask: mask.field(name) })
        }
        Value::Nil => Ok(MaskedValue::default()),
        other => Err(exec(format!("can't evaluate field {name} in type {}", other.type_name())).into()),
    })
}

/// The effects of branches on the code after them.
#[derive(Default)]
struct Changes {
    /// Variables that they assign to.
    names: Vec<SmolStr>,
    /// Whether they leave an enclosing loop, or begin its next iteration.
    leaves: bool,
}

impl Changes {
    fn of(&mut self, list: &ListNode) {
        self.within(list, false);
    }

    fn within(&mut self, list: &ListNode, looped: bool) {
        for node in &list.nodes {
            match node {
                Node::Action(action) => self.pipe(&action.pipe),
                Node::If(branch) | Node::With(branch) => self.branch(branch, looped),
                Node::Range(branch) => self.branch(branch, true),
                Node::List(list) => self.within(list, looped),
                Node::Break(_) | Node::Continue(_) => self.leaves |= !looped,
                Node::Template(_) | Node::Text(_) | Node::Define(_) => {}
            }
        }
    }

    fn branch(&mut self, branch: &BranchNode, looped: bool) {
        self.pipe(&branch.pipe);
        self.within(&branch.body, looped);
        branch.else_body.iter().for_each(|list| self.within(list, looped));
    }

    fn pipe(&mut self, pipe: &PipeNode) {
        if pipe.is_assign {
            self.names.extend(pipe.decl.iter().cloned());
        }
        for expression in pipe.commands.iter().flat_map(|command| &command.args) {
            self.expression(expression);
        }
    }

    fn expression(&mut self, expression: &Expr) {
        match expression {
            Expr::Pipe(_, pipe) => self.pipe(pipe),
            Expr::Chain(_, inner, _) => self.expression(inner),
            _ => {}
        }
    }
}

/// Whether an action only has effects, and writes nothing.
fn is_mark(action: &ActionNode) -> bool {
    let first = action.pipe.commands.first().and_then(|command| command.args.first());
    matches!(first, Some(Expr::Identifier(_, name)) if *name == AT || *name == THERE)
}

/// The text of an expression that names a value.
fn written(expression: &Expr) -> Option<String> {
    let path = |fields: &[SmolStr]| fields.iter().map(|field| format!(".{field}")).collect::<String>();
    match expression {
        Expr::Field(_, fields) => Some(path(fields)),
        Expr::Variable(_, name, fields) => Some(format!("{name}{}", path(fields))),
        Expr::Pipe(_, pipe) => match pipe.commands.as_slice() {
            [only] if only.args.len() == 1 => written(only.args.first()?),
            _ => None,
        },
        _ => None,
    }
}

/// The error may reveal the secret.
fn error_without_reason(name: &SmolStr) -> TemplateError {
    exec(format!("`{name}` fails; its arguments contain a secret, so the reason is not shown"))
}

fn exec(message: impl Into<String>) -> TemplateError {
    TemplateError::Exec(message.into())
}

fn kind(expression: &Expr) -> &'static str {
    match expression {
        Expr::Dot(_) => "<.>",
        Expr::Field(..) => "<field>",
        Expr::Variable(..) => "<variable>",
        Expr::Identifier(..) => "<identifier>",
        Expr::String(..) => "<string>",
        Expr::Number(..) => "<number>",
        Expr::Bool(..) => "<bool>",
        Expr::Nil(_) => "<nil>",
        Expr::Pipe(..) => "<pipeline>",
        Expr::Chain(..) => "<chain>",
    }
}
