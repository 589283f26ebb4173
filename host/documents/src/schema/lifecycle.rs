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

/// The descriptions of settings that are annotations of manifests too.
pub(super) const PROTECT: &str = "Whether deleting or replacing the resource is an error.";
pub(super) const PAUSED: &str = "Whether Purlin makes no driver calls for the resource.";

/// In a definition: descriptors are relative to each of its resources.
pub(super) fn of_definition() -> Value {
    let relative = format!("^{TYPE}(\\.(@|{CLASS}))?(#(@|{ID}))?$");
    closed("Settings for replacing and deleting.", &[], fields(&relative))
}

/// In a Deployment: by descriptor, for single resources.
pub(super) fn of_deployment() -> Value {
    let full = format!("^{TYPE}(\\.{CLASS})?#{ID}$");
    let urn = format!("^urn:purlin:[^:/]+/[^:/]+::[^:/]+::[^:]+::{TYPE}\\.{CLASS}::{ID}$");
    let mut fields = fields(&full);
    fields["aliases"] = json!({
        "description": "Its previous names: descriptors or URNs.",
        "type": "array",
        "items": {"type": "string", "if": {"pattern": "^urn:"}, "then": {"pattern": urn}, "else": {"pattern": full}},
    });
    let id = |description: &str| json!({"description": description, "type": "string", "pattern": "\\S", "not": {"pattern": "\\$\\{"}});
    fields["import"] = id("Provider id of the existing object to adopt.");
    fields["observe"] = id("Provider id of the existing object to read, which others manage.");
    let mut options =
        closed("Settings for this resource; they override those of its definition.", &[], fields);
    options["not"] = json!({"required": ["import", "observe"]});
    json!({
        "description": "Settings for replacing, deleting, adopting and renaming, by descriptor `TYPE[.CLASS]#ID`.",
        "type": "object",
        "propertyNames": {"pattern": full},
        "additionalProperties": options,
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
        "protect": flag(PROTECT),
        "retain": flag("Whether the resource is only removed from the state instead of deleted."),
        "allow_data_loss": flag(
            "Whether the resource may lose its data without `--allow-data-loss`."
        ),
        "paused": flag(PAUSED),
        "delete_before_replace": flag(
            "True: the old resource is deleted before the new one is created. False: the new one must be created first. Default: the driver decides."
        ),
        "ignore_changes": list("Inputs whose changes are ignored, such as `values.size`.", PATH),
        "replace_on_changes": list("Inputs whose changes replace the resource, such as `values.zone`.", PATH),
        "replace_with": list("Descriptors of resources: if one is replaced, so is this one.", descriptor),
        "deleted_with": {
            "description": "Descriptor of the resource whose deletion also deletes this one, without a driver call.",
            "type": "string",
            "pattern": descriptor,
        },
        "depends_on": list("Descriptors of additional dependencies.", descriptor),
    })
}
