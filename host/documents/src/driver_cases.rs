//! The file `check.yaml`: test cases for a driver. It is not deployed, so it has no envelope, and
//! placeholders have no meaning in it.
//!
//! ```yaml
//! cases:
//!   - name: text
//!     type: note                          # the first that the driver names when left out
//!     class: default
//!     inputs: {values: {text: hello}, secrets: {signature: s3cr3t}, params: {}, account: {name: a}}
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
    CaseInputs, Class, Diagnostic, DriverCase, DriverCases, InvalidCase, Location, SkippedRule, TypeName,
    Value,
};
use serde_json::json;

use crate::declare::{Field, Form, Opened, form};
use crate::kinds::{List, NAME, Object, Text, kind, matching};
use crate::load::withheld;
use crate::reader::Reader;
use crate::template::constant;
use crate::yaml::{self, Node, NodeKind};
use crate::{SourceMap, names, walk};

form! {
    /// Test cases of `purlin driver check`.
    pub(crate) struct CasesFile {
        /// Valid inputs, and changes to them.
        CASES: Cases = needed "cases", "[{name: small, inputs: {values: {}}}]";
        /// Rules that are not checked for the driver.
        SKIP: List<Skipped> = "skip", "[{rule: update.cut, why: creation takes an hour}]";
    }

    fn constrain(schema: &mut serde_json::Value) {
        schema["title"] = "Purlin driver cases".into();
    }
}

/// At least one case.
pub(crate) struct Cases;

impl crate::declare::Kind for Cases {
    const FIELDS: &'static [crate::declare::Declared] = Case::FIELDS;

    fn schema() -> serde_json::Value {
        let mut schema = List::<Case>::schema();
        schema["minItems"] = 1.into();
        schema
    }
}

form! {
    /// A case.
    pub(crate) struct Case {
        /// A unique name.
        NAME: CaseName = needed "name", "small";
        /// Resource type. Default: the first type of the driver.
        TYPE: TypeName = "type";
        /// Resource class.
        CLASS: Class = "class" default "default";
        /// The inputs of the resource.
        INPUTS: Inputs = needed "inputs", "{values: {}}";
        /// A merge patch of the inputs that updates in place.
        UPDATE: Inputs = "update", "{values: {NAME: VALUE}}";
        /// A merge patch of the inputs that replaces.
        REPLACE: Inputs = "replace", "{values: {NAME: VALUE}}";
        /// Another connection that reaches the same system.
        ROTATE: Rotation = "rotate", "{connection: {NAME: VALUE}}";
        /// Merge patches of the inputs that the driver must reject.
        INVALID: List<Invalid> = "invalid", "[{values: {NAME: VALUE}, at: [/values/NAME]}]";
        /// Rules that are not checked for the case.
        SKIP: List<Skipped> = "skip", "[{rule: update.cut, why: creation takes an hour}]";
    }
}

kind! {
    /// The name of a case.
    pub(crate) struct CaseName: matching(NAME)
}

form! {
    /// The inputs of a resource.
    pub(crate) struct Inputs {
        /// `inputs.values` of a definition.
        VALUES: Object = "values", "{NAME: VALUE}";
        /// `inputs.secrets` of a definition.
        SECRETS: Object = "secrets", "{NAME: VALUE}";
        /// Params of a developer.
        PARAMS: Object = "params", "{NAME: VALUE}";
        /// `inputs.connection` of a definition.
        CONNECTION: Object = "connection", "{NAME: VALUE}";
        /// The account that `driver_account` of a definition names, with its name.
        ACCOUNT: Object = "account", "{name: ACCOUNT}";
    }
}

form! {
    /// Another connection that reaches the same system.
    pub(crate) struct Rotation {
        /// A merge patch of the connection.
        CONNECTION: Object = needed "connection", "{token: another-one}";
    }
}

form! {
    /// A merge patch, and the rejected inputs.
    pub(crate) struct Invalid {
        /// `inputs.values` of a definition.
        VALUES: Object = "values", "{NAME: VALUE}";
        /// `inputs.secrets` of a definition.
        SECRETS: Object = "secrets", "{NAME: VALUE}";
        /// Params of a developer.
        PARAMS: Object = "params", "{NAME: VALUE}";
        /// `inputs.connection` of a definition.
        CONNECTION: Object = "connection", "{NAME: VALUE}";
        /// The account that `driver_account` of a definition names, with its name.
        ACCOUNT: Object = "account", "{name: ACCOUNT}";
        /// Inputs that replace those of the case.
        INPUTS: Inputs = "inputs", "{values: {}}";
        /// JSON Pointers, all of which the driver must report.
        AT: Pointers = needed "at", "[/values/NAME]";
    }
}

kind! {
    /// JSON Pointers to inputs.
    pub(crate) struct Pointers: json!({
        "type": "array",
        "minItems": 1,
        "items": {"type": "string", "pattern": "^/(values|secrets|params|connection|account)(/|$)"},
    })
}

form! {
    /// A rule.
    pub(crate) struct Skipped {
        /// Id of the rule.
        RULE: Text = needed "rule", "update.cut";
        /// Why it does not apply.
        WHY: Text = needed "why", "creation takes an hour";
    }
}

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
    let file = CasesFile::open(reader, root, "the file")?;
    let list = file.node(CasesFile::CASES);
    let skip = skipped(reader, file.node(CasesFile::SKIP));
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
    let fields = Case::open(reader, node, "a case")?;
    let mut case = DriverCase::default();
    if let Some(node) = fields.node(Case::NAME) {
        case.location = reader.at(&node.span);
        let text = reader.text(node, "`name`")?;
        case.name = names::resource(reader, text, &node.span)?;
    }
    case.type_name = fields.read(reader, Case::TYPE);
    case.class = fields.read(reader, Case::CLASS);
    let mut inputs = |field| {
        let node = fields.node(field)?;
        let inputs = Inputs::open(reader, node, &format!("`{}`", fields.name(field)))?;
        Some(parts(reader, &inputs))
    };
    case.inputs = inputs(Case::INPUTS).unwrap_or_default();
    case.update = inputs(Case::UPDATE);
    case.replace = inputs(Case::REPLACE);
    case.rotate = fields.node(Case::ROTATE).and_then(|node| rotation(reader, node));
    if let Some(node) = fields.node(Case::INVALID) {
        let items = reader.list(node, "`invalid`").unwrap_or_default();
        case.invalid = items.iter().filter_map(|node| invalid(reader, node)).collect();
    }
    case.skip = skipped(reader, fields.node(Case::SKIP));
    Some(case)
}

/// A change of the connection alone.
fn rotation(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<CaseInputs> {
    let connection = Rotation::open(reader, node, "`rotate`")?.node(Rotation::CONNECTION)?;
    reader.map(connection, "`connection`")?;
    Some(CaseInputs { connection: constant(connection), ..CaseInputs::default() })
}

fn parts(reader: &mut Reader<'_>, inputs: &Opened<'_, '_, Inputs>) -> CaseInputs {
    let mut part = |field: Field<Inputs, Object>| {
        let Some(node) = inputs.node(field) else { return Value::Null };
        reader.map(node, &format!("`{}`", inputs.name(field))).map_or(Value::Null, |_| constant(node))
    };
    let (values, params) = (part(Inputs::VALUES), part(Inputs::PARAMS));
    let (connection, secrets) = (part(Inputs::CONNECTION), secret(part(Inputs::SECRETS)));
    let account = part(Inputs::ACCOUNT);
    CaseInputs { values, secrets, params, connection, account }
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
    let fields = Invalid::open(reader, node, "an item of `invalid`")?;
    let at = fields.node(Invalid::AT);
    let instead = fields.node(Invalid::INPUTS).and_then(|node| Inputs::open(reader, node, "`inputs`"));
    let instead = instead.map(|inputs| parts(reader, &inputs));
    let change = parts(reader, &fields.as_form());
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

fn skipped(reader: &mut Reader<'_>, node: Option<&Node<'_>>) -> Vec<SkippedRule> {
    let items = node.and_then(|node| reader.list(node, "`skip`")).unwrap_or_default();
    let mut skipped = Vec::new();
    for item in items {
        let Some(fields) = Skipped::open(reader, item, "an item of `skip`") else { continue };
        let (rule, why) = (fields.placed(reader, Skipped::RULE), fields.read(reader, Skipped::WHY));
        if let (Some((rule, location)), Some(why)) = (rule, why) {
            skipped.push(SkippedRule { rule, why, location });
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
