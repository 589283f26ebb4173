//! Schemas of `lifecycle`, in definitions and in Deployments.

use serde_json::{Value, json};

use super::closed;

const TYPE: &str = "[A-Za-z0-9][A-Za-z0-9_/-]*";
const CLASS: &str = "[a-z0-9][a-z0-9-]*";
/// An id, except `@` alone.
const ID: &str =
    "(@[^\\s\\p{Cc}#<>'\"`()\\[\\]{}]+|[^@\\s\\p{Cc}#<>'\"`()\\[\\]{}][^\\s\\p{Cc}#<>'\"`()\\[\\]{}]*)";
/// A path to inputs: a JSON Pointer, or segments separated by `.` or in brackets.
const PATH: &str = concat!(
    r"^(/account|/(values|secrets|params)(/(~[01]|[^~/])*)*|account|(values|secrets|params)",
    r#"(\.\*(?=$|[.\[])|\[\*\](?=$|[.\[])|\.[^\s\p{Cc}.\[\]'"`{}()$|<>:;,?!=&*\\]+|\['[^']+'\]|\["[^"]+"\]|\[[0-9]+\])*)$"#
);

/// In a definition: descriptors are relative to each of its resources.
pub(super) fn of_definition() -> Value {
    let relative = format!("^{TYPE}(\\.(@|{CLASS}))?(#(@|{ID}))?$");
    closed("Wishes about replacing and deleting.", &[], fields(&relative))
}

/// In a Deployment: by descriptor, for single resources.
pub(super) fn of_deployment() -> Value {
    let full = format!("^{TYPE}(\\.{CLASS})?#{ID}$");
    let urn = format!("^urn:purlin:[^:/]+/[^:/]+::[^:/]+::[^:]+::{TYPE}\\.{CLASS}::{ID}$");
    let mut fields = fields(&full);
    fields["aliases"] = json!({
        "description": "What it was called before: descriptors, or URNs.",
        "type": "array",
        "items": {"type": "string", "if": {"pattern": "^urn:"}, "then": {"pattern": urn}, "else": {"pattern": full}},
    });
    let id = |description: &str| json!({"description": description, "type": "string", "pattern": "\\S", "not": {"pattern": "\\$\\{"}});
    fields["import"] = id("Provider id of what exists and is to be adopted.");
    fields["observe"] = id("Provider id of what exists and is only read, as others manage it.");
    let mut wishes =
        closed("Settings for this resource; they override those of its definition.", &[], fields);
    wishes["not"] = json!({"required": ["import", "observe"]});
    json!({
        "description": "Wishes about replacing, deleting, adopting and renaming, by descriptor `TYPE[.CLASS]#ID`.",
        "type": "object",
        "propertyNames": {"pattern": full},
        "additionalProperties": wishes,
    })
}

/// The common part of both.
fn fields(descriptor: &str) -> Value {
    let list = |description: &str, pattern: &str| {
        json!({
            "description": description,
            "type": "array",
            "items": {"type": "string", "pattern": pattern},
        })
    };
    let flag = |description: &str| json!({"description": description, "type": "boolean"});
    json!({
        "protect": flag("Deleting or replacing it is refused."),
        "retain": flag("It is forgotten where it would be deleted."),
        "allow_data_loss": flag(
            "Deleting or replacing it may lose its data: `--allow-data-loss` is not needed for it."
        ),
        "paused": flag("No driver call is made for it."),
        "delete_before_replace": flag(
            "True: the old one goes before the new one is made. False: the new one has to be made first. As the driver demands when left out."
        ),
        "ignore_changes": list("Inputs whose changes do not count, such as `values.size`.", PATH),
        "replace_on_changes": list("Inputs whose changes replace, such as `values.zone`.", PATH),
        "replace_with": list("Descriptors of resources with which it is replaced.", descriptor),
        "deleted_with": {
            "description": "Descriptor of the resource with which it goes, without a call of its own.",
            "type": "string",
            "pattern": descriptor,
        },
        "depends_on": list("Descriptors of further resources that it waits for.", descriptor),
    })
}
