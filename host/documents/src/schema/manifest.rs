//! Schema of a manifest, as far as Purlin reads it: everything else in it belongs to its own kind.

use serde_json::{Value, json};

use super::lifecycle::{PAUSED, PROTECT};
use super::{DIALECT, text};

/// A name or a namespace.
const NAME: &str = "^[^\\s\\p{Cc}#<>'\"`()\\[\\]{}/]+$";

pub(super) fn schema() -> Value {
    let labels = |description: &str| json!({"description": description, "type": ["object", "null"], "additionalProperties": {"type": "string"}});
    let name = |description: &str| json!({"description": description, "type": "string", "pattern": NAME});
    let mut annotations = labels("Annotations, including those of Crossplane.");
    let flag =
        |description: &str| json!({"description": description, "enum": ["true", "false", true, false]});
    annotations["additionalProperties"] = json!(true);
    annotations["properties"] = json!({
        "purlin.dev/paused": flag(PAUSED),
        "purlin.dev/protect": flag(PROTECT),
        "purlin.dev/depends-on": text("Manifests that this one depends on: a YAML list of maps with `name` and, where needed, `kind`, `apiVersion`, `namespace`, `blocking` and `optional`."),
        "crossplane.io/paused": flag("The same as `purlin.dev/paused`."),
        "crossplane.io/external-name": text("The provider id of the object to observe or adopt."),
    });
    let own = "^purlin\\.dev/(?!(paused|protect|depends-on|poll-interval|reconcile-requested-at)$)";
    annotations["propertyNames"] = json!({"not": {"pattern": own}});
    let metadata = json!({
        "description": "The identity of the document.",
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": name("Name; with the namespace, the id of the resource."),
            "namespace": {"description": "Namespace.", "type": ["string", "null"], "pattern": NAME},
            "labels": labels("Labels for `matchLabels` of other manifests."),
            "annotations": annotations,
        },
    });
    let beside = json!({
        "forProvider": {"description": "The params.", "type": ["object", "null"]},
        "deletionPolicy": {"description": "`Orphan`: the resource is not deleted.", "enum": ["Delete", "Orphan", null]},
        "managementPolicies": {
            "description": "Allowed actions. If empty, the resource is paused.",
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
            "properties": {"name": text("Its name."), "kind": text("Its kind. Default: `ProviderConfig`.")},
        },
    });
    json!({
        "$schema": DIALECT,
        "title": "Manifest of a managed resource",
        "description": "A managed resource. In some groups, and where a ResourceType says so, fields of its params that end with `Ref`, `Refs` or `Selector` refer to other manifests.",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {
            "apiVersion": {
                "description": "Group and version. A version alone means the core group.",
                "type": "string",
                "pattern": "^(?!(purlin\\.dev|score\\.dev|(entity|core\\.api)\\.humanitec\\.io)/)",
            },
            "kind": {"description": "Kind.", "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_/-]*$"},
            "metadata": metadata,
            "spec": {
                "description": "The params, or a map with the params in `forProvider`.",
                "type": ["object", "null"],
                "if": {"required": ["forProvider"]},
                "then": {"properties": beside},
            },
        },
    })
}
