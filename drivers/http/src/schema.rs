//! The schemas of inputs and outputs.

use purlin_sdk::Json;
use serde_json::json;

fn pointer(what: &str) -> Json {
    json!({"type": "string", "pattern": "^(/.*)?$", "description": format!("JSON Pointer: {what}")})
}

fn path(what: &str) -> Json {
    json!({
        "type": "string",
        "pattern": "^/",
        "description": format!(
            "{what} Behind `base_url`; `{{id}}`, `{{name}}`, `{{guresid}}`, `{{outputs.X}}`, `{{params.X}}` and \
             `{{vars.X}}` are filled in, encoded."
        ),
    })
}

fn texts(what: &str) -> Json {
    json!({"type": "object", "additionalProperties": {"type": "string"}, "description": what})
}

fn statuses(what: &str) -> Json {
    let status = json!({"type": "integer", "minimum": 200, "maximum": 599});
    json!({"type": "array", "items": status, "description": what})
}

fn pointers(what: &str) -> Json {
    let one = pointer("where in the answer");
    json!({"type": "object", "additionalProperties": one, "description": what})
}

fn operation(what: &str) -> Json {
    json!({
        "type": ["object", "null"],
        "description": what,
        "additionalProperties": false,
        "properties": {
            "method": {"type": ["string", "null"], "enum": ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", null]},
            "path": path("Where it is sent."),
            "headers": texts("Headers of this request."),
            "body": {"description": "JSON that is sent."},
            "expect": statuses("Statuses that are a success; any from 200 to 299 where none is given."),
        },
    })
}

fn condition(what: &str) -> Json {
    json!({
        "type": ["object", "null"],
        "description": what,
        "required": ["pointer"],
        "additionalProperties": false,
        "properties": {
            "pointer": pointer("what is compared"),
            "equals": {"description": "What it has to be."},
            "in": {"type": "array", "description": "One of which it has to be."},
        },
    })
}

fn connection() -> Json {
    let secret = |mut schema: Json| {
        schema["writeOnly"] = true.into();
        schema
    };
    json!({
        "type": "object",
        "required": ["base_url"],
        "additionalProperties": false,
        "description": "Where the API is, and who asks.",
        "properties": {
            "base_url": {
                "type": "string",
                "x-purlin-reaches": "http",
                "x-purlin-methods": [
                    {"method": "POST", "at": "/values/create/method", "unless": {"/values/id/name": true}},
                    {"method": "GET", "at": "/values/read/method", "unless": {"/values/without": "read"}},
                    {"method": "PUT", "at": "/values/update/method", "if": "/values/update", "later": true},
                    {"method": "DELETE", "at": "/values/delete/method", "unless": {"/values/without": "delete"}, "later": true},
                ],
                "x-purlin-replaces": true,
                "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://",
                "description": "What all paths are put behind. A change replaces the resource.",
            },
            "bearer": secret(json!({"type": ["string", "null"], "description": "A token for every request."})),
            "basic": secret(json!({
                "type": ["object", "null"],
                "required": ["user", "password"],
                "additionalProperties": false,
                "properties": {"user": {"type": "string"}, "password": {"type": "string"}},
                "description": "A user and a password for every request.",
            })),
            "headers": secret(texts("Headers of every request that are secret, such as an API key.")),
            "query": secret(texts("Parameters of the query of every request.")),
        },
    })
}

pub(crate) fn inputs() -> Json {
    let time = |what: &str| json!({"type": ["integer", "null"], "minimum": 20, "description": what});
    json!({
        "type": "object",
        "required": ["values", "connection"],
        "properties": {
            "connection": connection(),
            "values": {
                "type": "object",
                "required": ["create"],
                "additionalProperties": false,
                "properties": {
                    "name": {
                        "type": ["string", "null"],
                        "minLength": 1,
                        "x-purlin-replaces": true,
                        "description": "The resource's name in the API; the guresid where none is given. A change of it replaces.",
                    },
                    "headers": texts("Headers of every request."),
                    "vars": {"type": "object", "description": "Values for paths, as `{vars.X}`."},
                    "id": {
                        "type": "object",
                        "description": "Where the API's id of a new resource comes from: `/id` of the answer where nothing is said.",
                        "additionalProperties": false,
                        "properties": {
                            "pointer": pointer("the id in the answer"),
                            "header": {"type": "string", "description": "A header whose last segment is the id, such as `location`."},
                            "name": {"type": "boolean", "description": "The name is the id: it is made where it is read."},
                        },
                    },
                    "create": operation("Makes it: `POST`, or `PUT` where the name is the id."),
                    "read": operation("Reads it: `GET`, at `create.path` with `/{id}` behind it where no path is given."),
                    "update": operation("Changes it: `PUT`, where it is read, with the body of `create`. Without it every change of the body replaces."),
                    "delete": operation("Deletes it: `DELETE`, where it is read."),
                    "without": {
                        "type": "array",
                        "items": {"enum": ["read", "delete"]},
                        "description": "What the API does not have.",
                    },
                    "outputs": pointers("Outputs, from what is read."),
                    "secret_outputs": pointers("Secret outputs, from what is read or else from the answer to `create`."),
                    "find": {
                        "type": ["object", "null"],
                        "description": "How it is looked for by its name: before it is made, and after an answer was lost.",
                        "required": ["path", "name"],
                        "additionalProperties": false,
                        "properties": {
                            "path": path("A list."),
                            "items": pointer("the items; the whole answer where none is given"),
                            "name": pointer("the name in an item"),
                            "id": pointer("the id in an item; where the answer to `create` has it, where none is given"),
                            "next": {"type": ["string", "null"], "description": "JSON Pointer to the URL of the next page, or `link` for the header."},
                        },
                    },
                    "mark": {
                        "type": ["string", "null"],
                        "description": "JSON Pointer to what tells whose it is: a text with the guresid in it, or a list that has it.",
                    },
                    "observe": {
                        "type": "object",
                        "additionalProperties": pointer("the same in what is read"),
                        "description": "From places in `/create/body`, `/update/body` or `/vars` of the values to places in what is read: what differs is drift.",
                    },
                    "wait": {
                        "type": ["object", "null"],
                        "description": "When it is ready.",
                        "required": ["until"],
                        "additionalProperties": false,
                        "properties": {
                            "path": path("What is asked; where it is read, where none is given."),
                            "until": condition("What is waited for."),
                            "fail": condition("What ends the waiting."),
                            "every_ms": time("Between two looks; 1000 where nothing is said."),
                            "at_most_ms": time("The longest wait; until the call has to end where nothing is said."),
                        },
                    },
                    "operation": {
                        "type": ["object", "null"],
                        "description": "How an operation is followed that goes on after an answer with status 202.",
                        "required": ["header", "until"],
                        "additionalProperties": false,
                        "properties": {
                            "header": {"type": "string", "description": "The header that has its URL, such as `operation-location`."},
                            "id": pointer("the id of what was made, once it has ended"),
                            "until": condition("When it has ended well."),
                            "fail": condition("When it has failed."),
                            "every_ms": time("Between two looks; 1000 where nothing is said."),
                            "at_most_ms": time("The longest wait; until the call has to end where nothing is said."),
                        },
                    },
                    "retry": statuses("Statuses that mean that nothing was done, and that it should be tried again."),
                    "gone": statuses("Statuses that mean that there is none; 404 and 410 where none is given."),
                    "gone_when": condition("What tells in an answer that it is deleted although it is there."),
                    "holds_data": {
                        "type": ["boolean", "null"],
                        "description": "Whether deleting it loses data; then that takes consent of its own.",
                        "if": {"const": true},
                        "then": {"x-purlin-holds-data": true},
                    },
                    "idempotency_header": {
                        "type": ["string", "null"],
                        "description": "The header that the API takes an idempotency key in.",
                    },
                    "replaces": {
                        "type": "array",
                        "items": pointer("a place in the values, such as `/create/body/region`"),
                        "description": "Places whose change needs a new resource.",
                    },
                },
            },
            "secrets": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "body": {"description": "Laid over the body of `create` and `update`."},
                },
            },
        },
    })
}

pub(crate) fn outputs() -> Json {
    json!({
        "type": "object",
        "required": ["id", "url"],
        "properties": {
            "id": {"type": "string", "description": "The API's id."},
            "url": {"type": "string", "description": "Where it is read."},
        },
    })
}
