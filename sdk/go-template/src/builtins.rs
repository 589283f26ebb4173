//! The functions that are built into Go's templates. The template crate does not export them, so
//! they are called by a template with one call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use gotmpl::parse::{ActionNode, CommandNode, Expr, ListNode, Node, PipeNode, Pos, SmolStr};
use gotmpl::{Template, TemplateError, Value, ValueFunc};

pub(crate) const NAMES: [&str; 19] = [
    "and", "or", "not", "len", "index", "slice", "call", "print", "printf", "println", "html", "js",
    "urlquery", "eq", "ne", "lt", "le", "gt", "ge",
];

const CATCH: &str = "__catch";
const CALL: &str = "call";

/// Calls of them, each created once for a number of arguments.
#[derive(Default)]
pub(crate) struct Builtins {
    made: BTreeMap<(SmolStr, usize), Template>,
    caught: Arc<Mutex<Option<Value>>>,
}

impl Builtins {
    pub(crate) fn call(&mut self, name: &SmolStr, args: &[Value]) -> Result<Value, TemplateError> {
        let caught = Arc::clone(&self.caught);
        let call =
            self.made.entry((name.clone(), args.len())).or_insert_with(|| template(name, args.len(), caught));
        let data =
            args.iter().enumerate().map(|(index, value)| (field(index).as_str().into(), value.clone()));
        call.execute_template_fmt(&mut String::new(), CALL, &Value::Map(Arc::new(data.collect())))?;
        let caught = self.caught.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(caught.unwrap_or(Value::Nil))
    }
}

/// `{{ __catch (NAME .a0 .a1 …) }}`
fn template(name: &SmolStr, count: usize, caught: Arc<Mutex<Option<Value>>>) -> Template {
    let catch: ValueFunc = Arc::new(move |args| {
        *caught.lock().unwrap_or_else(PoisonError::into_inner) = args.first().cloned();
        Ok(Value::String("".into()))
    });
    let pos = Pos::new(0, 1);
    let mut args = vec![Expr::Identifier(pos, name.clone())];
    args.extend((0..count).map(|index| Expr::Field(pos, vec![field(index)])));
    let pipe = |args| PipeNode {
        pos,
        decl: Vec::new(),
        commands: vec![CommandNode { pos, args }],
        is_assign: false,
    };
    let outer = vec![Expr::Identifier(pos, CATCH.into()), Expr::Pipe(pos, pipe(args))];
    let nodes = vec![Node::Action(ActionNode { pos, pipe: pipe(outer) })];
    Template::new("")
        .funcs(BTreeMap::from([(CATCH.to_owned(), catch)]))
        .add_parse_tree(CALL, ListNode { pos, nodes })
}

fn field(index: usize) -> SmolStr {
    format!("a{index}").into()
}
