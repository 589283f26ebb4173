//! Schema of a manifest, as far as Purlin reads it: everything else in it belongs to its own kind.

use serde_json::{Value, json};

use super::{DIALECT, closed, text};

/// A name or a namespace.
const NAME: &str = "^[^\\s\\p{Cc}#<>'\"`()\\[\\]{}/]+$";

pub(super) fn schema() -> Value {
    let labels = |description: &str| json!({"description": description, "type": ["object", "null"], "additionalProperties": {"type": "string"}});
    let name = |description: &str| json!({"description": description, "type": "string", "pattern": NAME});
    let mut annotations = labels("Annotations. Those of Crossplane are read, too.");
    let flag =
        |description: &str| json!({"description": description, "enum": ["true", "false", true, false]});
    annotations["additionalProperties"] = json!(true);
    annotations["properties"] = json!({
        "purlin.dev/paused": flag("No driver call is made for the resource."),
        "purlin.dev/protect": flag("Deleting or replacing the resource is an error."),
        "crossplane.io/paused": flag("The same as `purlin.dev/paused`."),
        "crossplane.io/external-name": text("The provider id of what is observed or adopted."),
    });
    let own = "^purlin\\.dev/(?!(paused|protect)$)";
    annotations["propertyNames"] = json!({"not": {"pattern": own}});
    let metadata = json!({
        "description": "What names it.",
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": name("Name; with the namespace, the id of the resource."),
            "namespace": {"description": "Namespace.", "type": ["string", "null"], "pattern": NAME},
            "labels": labels("What `matchLabels` of other manifests select by."),
            "annotations": annotations,
        },
    });
    let dependency = closed(
        "A manifest that this one depends on.",
        &["name"],
        json!({
            "apiVersion": text("Its group and version; needed where several groups have the kind."),
            "kind": text("Its kind; any when left out."),
            "name": text("Its name."),
            "namespace": text("Its namespace; that of this manifest when left out."),
            "blocking": {"description": "False: there is no order between the two. True when left out.", "type": "boolean"},
            "optional": {"description": "True: it may be missing.", "type": "boolean"},
        }),
    );
    let mut dependency_with_kind = dependency;
    dependency_with_kind["dependentRequired"] = json!({"apiVersion": ["kind"]});
    let depends_on = json!({
        "description": "Manifests that this one depends on beside its reference fields.",
        "type": ["array", "null"],
        "items": dependency_with_kind,
    });
    let beside = json!({
        "forProvider": {"description": "The params.", "type": ["object", "null"]},
        "dependsOn": depends_on.clone(),
        "deletionPolicy": {"description": "`Orphan`: the resource is left in place.", "enum": ["Delete", "Orphan", null]},
        "managementPolicies": {
            "description": "What may be done with the resource; nothing while it is empty.",
            "anyOf": [
                {"type": "null"},
                {"type": "array", "items": {"const": "*"}},
                {"type": "array", "items": {"const": "Delete"}},
                {"type": "array", "contains": {"const": "Observe"}, "items": {"enum": ["Observe", "Create", "Update", "LateInitialize", "Delete"]}},
            ],
        },
        "providerConfigRef": {
            "description": "The configuration of the provider: an optional dependency.",
            "type": ["object", "null"],
            "required": ["name"],
            "properties": {"name": text("Its name."), "kind": text("Its kind; `ProviderConfig` when left out.")},
        },
    });
    json!({
        "$schema": DIALECT,
        "title": "Manifest of a managed resource",
        "description": "A managed resource. Fields of its params that end with `Ref`, `Refs` or `Selector` refer to other manifests.",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {
            "apiVersion": {
                "description": "Group and version; a version alone is the core group.",
                "type": "string",
                "pattern": "^(?!(purlin\\.dev|score\\.dev|(entity|core\\.api)\\.humanitec\\.io)/)",
            },
            "kind": {"description": "Kind.", "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_/-]*$"},
            "metadata": metadata,
            "spec": {
                "description": "The params, or what they stand in as `forProvider`.",
                "type": ["object", "null"],
                "properties": {"dependsOn": depends_on.clone()},
                "if": {"required": ["forProvider"]},
                "then": {"properties": beside},
            },
            "dependsOn": depends_on,
        },
    })
}
