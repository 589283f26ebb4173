//! The file `check.yaml`: test cases for a driver. It is not deployed, so it has no envelope, and
//! placeholders have no meaning in it.
//!
//! ```yaml
//! cases:
//!   - name: text
//!     type: note                          # the first that the driver names when left out
//!     class: default
//!     inputs: {values: {text: hello}, secrets: {signature: s3cr3t}, params: {}, account: a}
//!     update: {values: {text: good bye}}  # a merge patch; made in place
//!     replace: {values: {title: other}}   # a merge patch; replaces
//!     rotate: {connection: {token: next}} # a merge patch; reaches the same system
//!     invalid:
//!       - {values: {text: null}, at: [/values/text]}          # a merge patch
//!       - {inputs: {values: {title: 7}}, at: [/values/title]} # or other inputs altogether
//!     skip: [{rule: update.cut, why: an update takes a minute}]
//! skip: []
//! ```

use std::path::Path;
use std::sync::Arc;

use purlin_model::{
    CaseInputs, Diagnostic, DriverCase, DriverCases, InvalidCase, Location, SkippedRule, Value,
};

use crate::load::withheld;
use crate::reader::{Fields, Reader};
use crate::template::constant;
use crate::yaml::{self, Node, NodeKind};
use crate::{SourceMap, names, walk};

/// The name of the file. It is beside the component.
pub const CASES_FILE: &str = "check.yaml";

/// Reads a file of cases. None if it has a fault; there may be warnings beside the result.
pub fn load_cases(path: &Path) -> (Option<DriverCases>, Vec<Diagnostic>, SourceMap) {
    let name = walk::display(path);
    match walk::read(path) {
        Ok(text) => cases_in(&name, &text),
        Err(fault) => (None, vec![*fault], SourceMap::default()),
    }
}

/// The same for a text that has been read.
pub fn cases_in(name: &Arc<str>, text: &Arc<str>) -> (Option<DriverCases>, Vec<Diagnostic>, SourceMap) {
    let mut sources = SourceMap::default();
    sources.insert(name.clone(), text.clone());
    let (mut faults, mut found) = (Vec::new(), Vec::new());
    let mut wrong = yaml::parse(name, text, &mut |document| {
        let mut reader = Reader::new(name, text, false);
        reader.faults.extend(document.faults);
        found.push(read(&mut reader, &document.root));
        faults.append(&mut reader.faults);
    });
    faults.append(&mut wrong);
    if !faults.iter().any(Diagnostic::is_error) && found.len() != 1 {
        let message = format!("this file contains {} documents, but only one is allowed", found.len());
        let fault = Diagnostic::error("not-a-document", message).at(&Location::new(name.clone(), 1, 1));
        faults.push(fault.help("begin it with `cases:`, and write each case as an item of that list"));
    }
    // Whatever else was named is none of Purlin's, and may contain secrets.
    if faults.iter().any(Diagnostic::is_error) && !text.lines().any(|line| line.starts_with("cases:")) {
        let help = "name a file of cases: it begins with `cases:`, and each case is an item of that list";
        faults.iter_mut().for_each(|fault| withheld::fault(fault, help));
        sources = SourceMap::default();
    }
    faults.sort_by(|a, b| a.location.cmp(&b.location));
    let is_good = !faults.iter().any(Diagnostic::is_error);
    (found.pop().flatten().filter(|_| is_good), faults, sources)
}

fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<DriverCases> {
    let mut top = reader.fields(root, "the file")?;
    let list = top.need(reader, "cases", "[{name: small, inputs: {values: {}}}]");
    let skip = skipped(reader, &mut top);
    top.done(reader);
    let mut cases: Vec<DriverCase> = Vec::new();
    let list = list?;
    let items = reader.list(list, "`cases`")?;
    if items.is_empty() {
        let help = "write at least one: `- {name: small, inputs: {values: {}}}`";
        reader.wrong_value(&list.span, "`cases` has no item", help);
    }
    for node in items {
        let Some(case) = case(reader, node) else { continue };
        if let Some(first) = cases.iter().find(|first| first.name == case.name) {
            let message = format!("the case `{}` is given twice", case.name);
            let fault = Diagnostic::error("duplicate-document", message)
                .at(&case.location)
                .related(&first.location, "first given here")
                .help("give it another name");
            reader.report(fault);
        }
        cases.push(case);
    }
    Some(DriverCases { cases, skip, location: reader.at(&root.span) })
}

fn case(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<DriverCase> {
    let mut fields = reader.fields(node, "a case")?;
    let name = fields.need(reader, "name", "small");
    let mut case = DriverCase::default();
    if let Some(node) = name {
        case.location = reader.at(&node.span);
        let text = reader.text(node, "`name`")?;
        case.name = names::resource(reader, text, &node.span)?;
    }
    case.type_name = fields.get(reader, "type").and_then(|node| reader.name(node, "`type`"));
    case.class = fields.get(reader, "class").and_then(|node| reader.name(node, "`class`"));
    if let Some(node) = fields.need(reader, "inputs", "{values: {}}") {
        case.inputs = inputs(reader, node, "`inputs`").unwrap_or_default();
    }
    case.update = fields.get(reader, "update").and_then(|node| inputs(reader, node, "`update`"));
    case.replace = fields.get(reader, "replace").and_then(|node| inputs(reader, node, "`replace`"));
    case.rotate = fields.get(reader, "rotate").and_then(|node| rotation(reader, node));
    if let Some(node) = fields.get(reader, "invalid") {
        let items = reader.list(node, "`invalid`").unwrap_or_default();
        case.invalid = items.iter().filter_map(|node| invalid(reader, node)).collect();
    }
    case.skip = skipped(reader, &mut fields);
    fields.done(reader);
    Some(case)
}

fn inputs(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<CaseInputs> {
    let mut fields = reader.fields(node, what)?;
    let inputs = parts(reader, &mut fields);
    fields.done(reader);
    Some(inputs)
}

/// A change of the connection alone.
fn rotation(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<CaseInputs> {
    let mut fields = reader.fields(node, "`rotate`")?;
    let connection = fields.need(reader, "connection", "{token: another-one}");
    fields.done(reader);
    let connection = connection?;
    reader.map(connection, "`connection`")?;
    Some(CaseInputs { connection: constant(connection), ..CaseInputs::default() })
}

fn parts(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>) -> CaseInputs {
    let mut part = |reader: &mut Reader<'_>, name: &'static str| {
        let Some(node) = fields.get(reader, name) else { return Value::Null };
        reader.map(node, &format!("`{name}`")).map_or(Value::Null, |_| constant(node))
    };
    let (values, params) = (part(reader, "values"), part(reader, "params"));
    let connection = part(reader, "connection");
    let secrets = secret(part(reader, "secrets"));
    let account = fields.get(reader, "account").and_then(|node| reader.text(node, "`account`"));
    CaseInputs { values, secrets, params, connection, account: account.map(Into::into) }
}

/// Each leaf is secret; the keys are not.
fn secret(value: Value) -> Value {
    match value {
        Value::Map(map) => Value::Map(map.into_iter().map(|(key, item)| (key, secret(item))).collect()),
        Value::List(items) => Value::List(items.into_iter().map(secret).collect()),
        leaf => leaf.into_secret(),
    }
}

fn invalid(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<InvalidCase> {
    let mut fields = reader.fields(node, "an item of `invalid`")?;
    let at = fields.need(reader, "at", "[/values/NAME]");
    let instead = fields.get(reader, "inputs").and_then(|node| inputs(reader, node, "`inputs`"));
    let change = parts(reader, &mut fields);
    fields.done(reader);
    let mut pointers = Vec::new();
    for item in at.and_then(|node| reader.list(node, "`at`")).unwrap_or_default() {
        let Some(pointer) = reader.string(item, "an item of `at`") else { continue };
        let parts = ["/values", "/secrets", "/params", "/connection"];
        let leads = |part: &str| {
            pointer.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if !parts.iter().any(|part| leads(part)) {
            let message =
                format!("`{pointer}` does not point into `values`, `secrets`, `params` or `connection`");
            reader.wrong_value(&item.span, message, "write a JSON Pointer such as `/values/size`");
        }
        pointers.push(pointer.to_owned());
    }
    if let Some(node) = at
        && matches!(&node.kind, NodeKind::List(items) if items.is_empty())
    {
        reader.wrong_value(
            &node.span,
            "`at` has no item",
            "write the pointers that the driver has to report, such as `[/values/size]`",
        );
    }
    Some(InvalidCase { inputs: instead, change, at: pointers, location: reader.at(&node.span) })
}

fn skipped(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>) -> Vec<SkippedRule> {
    let Some(node) = fields.get(reader, "skip") else { return Vec::new() };
    let mut skipped = Vec::new();
    for node in reader.list(node, "`skip`").unwrap_or_default() {
        let Some(mut fields) = reader.fields(node, "an item of `skip`") else { continue };
        let rule = fields.need(reader, "rule", "update.cut");
        let why = fields.need(reader, "why", "creation takes an hour");
        fields.done(reader);
        let (Some(rule), Some(why)) = (rule, why) else { continue };
        let location = reader.at(&rule.span);
        if let (Some(rule), Some(why)) = (reader.text(rule, "`rule`"), reader.text(why, "`why`")) {
            skipped.push(SkippedRule { rule: rule.into(), why: why.into(), location });
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<DriverCases, Vec<String>> {
        let (cases, faults, _) = cases_in(&"check.yaml".into(), &text.into());
        cases.ok_or_else(|| faults.iter().map(|fault| fault.message.clone()).collect())
    }

    #[test]
    fn a_case_has_inputs_and_changes() {
        let text = "cases:\n- name: a\n  type: note\n  inputs: {values: {n: 1}, secrets: {p: {q: hush}}}\n  update: {values: {n: null}}\n  invalid: [{values: {n: x}, at: [/values/n]}]\n  skip: [{rule: update.cut, why: slow}]\n";
        let cases = read(text).expect("good");
        let case = &cases.cases[0];
        assert_eq!((&*case.name, case.type_name.as_deref()), ("a", Some("note")));
        assert_eq!(case.inputs.values.redact(), json!({"n": 1}));
        assert_eq!(case.inputs.secrets.redact(), json!({"p": {"q": "[secret]"}}));
        assert_eq!(case.update.as_ref().map(|update| update.values.redact()), Some(json!({"n": null})));
        assert_eq!(case.invalid[0].at, ["/values/n"]);
        assert_eq!((&*case.skip[0].rule, &*case.skip[0].why), ("update.cut", "slow"));
    }

    #[test]
    fn every_fault_is_reported() {
        let text = "cases:\n- {name: a b, inputs: {}}\n- {inputs: {value: {}}}\n- {name: c, inputs: {values: 1}, invalid: [{at: [values]}, {at: []}]}\nskips: []\n";
        let faults = read(text).expect_err("faults");
        for wanted in [
            "`a b` cannot be",
            "lacks `name`",
            "no field `value`",
            "`values` takes a map",
            "`values` does not point into",
            "`at` has no item",
            "no field `skips`",
        ] {
            assert!(faults.iter().any(|fault| fault.contains(wanted)), "{wanted}: {faults:#?}");
        }
        for empty in ["", "cases: []\n", "[]", "cases:\n- {name: a, inputs: {}}\n- {name: a, inputs: {}}\n"] {
            assert!(read(empty).is_err(), "{empty:?}");
        }
    }
}
