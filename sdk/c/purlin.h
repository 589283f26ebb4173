// A driver, and the functions of the host.
//
// A driver defines `the_driver`: its description, and its types, each with a function for each function
// of the contract that it supports. NULL is a missing function; the comment says what the host does instead.
#ifndef PURLIN_H
#define PURLIN_H

#include <stdint.h>

#include "json.h"

// Some texts.
typedef struct texts {
  text *items;
  size_t length;
} texts;

// The place of a deployment.
typedef struct purlin_context {
  text org; // empty if there is none
  text app;
  text env;
  text env_type;
  text namespace; // empty for the global one
  json *labels;   // texts by name, which the operator wants on every real object; those of the inputs win
} purlin_context;

// The resource of a call.
typedef struct purlin_subject {
  text urn;     // its stable logical name
  text guresid; // 40 hexadecimal digits: permanent, unique, usable in names
  text type;
  text class;      // `default` if none is named
  text local_name; // within the environment
  purlin_context context;
} purlin_subject;

// The inputs of a resource.
typedef struct purlin_inputs {
  // {"values":…,"secrets":…,"params":…,"connection":…,"account":…}; never log the secrets. `connection` says
  // how to reach the system that the resource is in, and `account` is the account that the definition
  // names: only its name, if the schema does not describe it, or {}; both are always the current ones.
  json *document;
  texts unknown;   // pointers to unknown values, which are null in the document
  texts sensitive; // pointers to secrets outside of `secrets`
} purlin_inputs;

// A manifest to deliver with the workloads.
typedef struct purlin_manifest_file {
  text name;     // unique within the resource
  text location; // such as `namespace`, `cluster` or `volumes`
  json *data;
} purlin_manifest_file;

// A live resource.
typedef struct purlin_state {
  text id;       // the driver's own name for it: not empty, at most 4 KiB, unique
  json *outputs; // outputs that others may read; NULL is none
  json *secrets; // outputs that are secret; NULL is none
  text cookie;   // data that the driver needs in the next call, at most 10 KiB; stored encrypted
  purlin_manifest_file *manifests;
  size_t manifest_count;
  texts sensitive;  // pointers to more secrets, in {"outputs":…,"manifests":{NAME: data}}
  uint32_t version; // the driver's own number of the form of its cookie, outputs and inputs
  json *notes;      // anything else for people, such as `console-url`, by name; NULL is none
} purlin_state;

// What may follow a preview.
typedef enum purlin_effect { PURLIN_CREATE, PURLIN_UPDATE, PURLIN_DELETE } purlin_effect;

// The request to a function. Its parts depend on the function. That of `preview` has the parts of `effect`, and three
// differences: inputs may hold unknowns, the idempotency key is empty, and `name` is empty for a new resource whose
// inputs hold unknowns.
typedef struct purlin_request {
  purlin_subject subject;
  purlin_inputs inputs;    // the current or the new ones
  // check: its earlier result, with an empty `connection` and `account`, or NULL; update, update_impact: those
  // of the last provisioning
  purlin_inputs *previous;
  text name;               // the result of `name`; not in check and name
  const text *replaces;    // create: the id of the resource that this one replaces, NULL if none exists
  const text *id;          // read: the provider's id, or NULL to search by name
  texts known;             // read by name: ids of other resources, which are not the requested one
  // update, update_impact, delete: the existing resource; read: the record, or NULL. After a lost answer, read
  // has the id and the cookie of a checkpoint that had a cookie, and nothing else.
  purlin_state *state;
  bool data_loss_allowed;  // delete: whether somebody agreed that the data in the object is lost
  text idempotency_key;    // the same for every attempt at the same effect; empty without effects
  uint64_t deadline;       // milliseconds since 1970; `purlin_time_left` does not depend on a clock
  json *hints;             // facts that may be ignored without harm, by name
  purlin_effect effect;    // preview: the function that may follow
} purlin_request;

// Something about one input.
typedef struct purlin_finding {
  text pointer; // into {"values":…,"secrets":…,"params":…,"connection":…,"account":…}
  text message; // what is wrong or noteworthy, and what would be right
} purlin_finding;

typedef struct purlin_findings {
  purlin_finding *items;
  size_t length;
  size_t room;
} purlin_findings;

// Inputs as they will be used. Initially unchanged.
typedef struct purlin_checked {
  json *values;
  json *secrets;
  purlin_findings warnings;
} purlin_checked;

// The existing resource. Without an id there is none.
typedef struct purlin_observed {
  purlin_state state;
  json *values; // as reality has them, in the shape that check returns; NULL if unknown
} purlin_observed;

// The effect of a change.
typedef struct purlin_impact {
  texts replaces; // pointers; none means an update in place
  bool delete_before_replace;
  texts stable_outputs; // pointers into {"outputs":…,"secrets":…}, such as `/outputs/host`
} purlin_impact;

// Why a call did not answer with a result. `purlin_fail` and similar functions fill it in.
typedef struct purlin_failure {
  enum {
    PURLIN_INVALID_INPUTS,     // another attempt does not help
    PURLIN_DENIED,             // the operator has to grant a capability
    PURLIN_NOT_FOUND,          // something that the resource needs does not exist
    PURLIN_CONFLICT,           // an object that is not this resource's, or its contents, stands in the way
    PURLIN_RETRY_AFTER,        // busy or rate-limited
    PURLIN_PENDING,            // create, read, update, delete: nothing failed, and it is not done yet
    PURLIN_PARTIAL,            // something exists that must not be forgotten, and the rest failed
    PURLIN_FAILED,             // anything else
    PURLIN_UNDECIDED,          // something may have been created or changed: the host finds out
    PURLIN_NEEDS_DELETE_BEFORE // create with `replaces`: the old resource must be deleted first
  } kind;
  text message;
  json *details;            // texts by name; see purlin_with_detail
  purlin_findings findings; // of PURLIN_INVALID_INPUTS
  text capability;          // of PURLIN_DENIED: http, tcp, udp, dns, env, dirs, secrets or another one
  text target;              // of PURLIN_DENIED, such as `db.internal:5432`
  uint64_t after_ms;        // of PURLIN_RETRY_AFTER and PURLIN_PENDING
  purlin_state state;       // of PURLIN_PARTIAL and PURLIN_PENDING; without an id there is none
} purlin_failure;

// What a struct is in JSON; the tables of form.h make it. It is known by a function.
typedef struct purlin_form purlin_form;
typedef const purlin_form *purlin_form_of(void);

// What an effect would make; see preview.h.
typedef struct purlin_forecast purlin_forecast;

// A resource type: its description, and the functions for its resources. They return whether they succeeded.
// All failures but PURLIN_PENDING, PURLIN_PARTIAL and PURLIN_UNDECIDED promise that nothing was created or
// changed.
typedef struct purlin_type {
  const char *name;        // or `*` for every type that the driver does not name
  purlin_form_of *inputs;  // its table is given to PURLIN_INPUTS; NULL: see `input_schema`
  purlin_form_of *outputs; // its table is given to PURLIN_OUTPUTS; NULL: see `output_schema`
  // Without tables: JSON Schema (2020-12) of {"values":…,"secrets":…,"params":…,"connection":…,"account":…}, and of
  // the outputs. NULL accepts everything.
  const char *input_schema;
  const char *output_schema;
  // A promise: `create` with the key of an earlier attempt finds its object, or creates nothing
  // outside itself.
  bool repeat_create;
  // Checks what the schema cannot say, fills in what the driver chooses, normalises; no effects. What does not fit
  // the table of the inputs was rejected before. NULL: inputs are used unchanged.
  bool (*check)(const purlin_request *, purlin_checked *, purlin_failure *);
  // Names the real object; no effects. NULL: its `guresid`.
  bool (*name_of)(const purlin_request *, text *, purlin_failure *);
  // Creates the resource. Required.
  bool (*create)(const purlin_request *, purlin_state *, purlin_failure *);
  // Reads it; an empty id if the system does not show it, PURLIN_PENDING if it is not ready, another failure if
  // the driver cannot look. By name, finds only this resource's own. NULL: reality is assumed to equal the
  // record.
  bool (*read)(const purlin_request *, purlin_observed *, purlin_failure *);
  // Decides which changes replace; no effects. NULL: none does.
  bool (*update_impact)(const purlin_request *, purlin_impact *, purlin_failure *);
  // Changes it in place. NULL: every change replaces.
  bool (*update)(const purlin_request *, purlin_state *, purlin_failure *);
  // Deletes it; a missing one is a success, and PURLIN_PENDING one that is still shown. Required.
  bool (*delete)(const purlin_request *, purlin_failure *);
  // Says what an effect would make, from inputs that may hold unknowns; no effects. PURLIN_INVALID_INPUTS are faults
  // of the documents, as those of check are. NULL: nothing is promised. See preview.h.
  bool (*preview)(const purlin_request *, purlin_forecast *, purlin_failure *);
} purlin_type;

// A capability that a driver requests. The operator grants.
typedef struct purlin_requested_capability {
  const char *capability;
  const char *pattern; // NULL or empty if the inputs decide
  const char *reason;  // as a sentence for an operator
} purlin_requested_capability;

// A driver.
typedef struct purlin_driver {
  const char *name;        // ORG/NAME
  const char *version;     // semantic version
  const char *description; // what it provisions, in one sentence
  const purlin_type *types;
  size_t type_count;
  const purlin_requested_capability *requested_capabilities;
  size_t requested_capability_count;
  const char *notes; // anything else for people, such as `homepage`: a JSON object; NULL is none
} purlin_driver;

extern const purlin_driver the_driver;

// The value at a pointer such as `/values/title`; NULL if there is none.
json *purlin_get(const purlin_inputs *inputs, const char *pointer);

// Whether the value there, above it or below it is unknown.
bool purlin_is_unknown(const purlin_inputs *inputs, const char *pointer);

// Fills in an input that the documents leave out, in check: an existing resource keeps the value that it has, and a
// new one gets this. It does nothing if the object that contains the input is left out or unknown. Use it for values
// that the driver chooses, such as a name made from `subject.guresid`, which changes when the resource is renamed.
void purlin_choose(const purlin_request *check, const char *pointer, json *value);

// Whether the value there changes. An unknown value is treated as changed.
bool purlin_changes(const purlin_request *change, const char *pointer);

// A pointer with one more name.
text purlin_pointer(const char *pointer, text name);

void purlin_add_text(texts *to, text more);

// Collects a finding, so that all are reported at once.
void purlin_add_finding(purlin_findings *to, text pointer, text message);

// End a call. They return false, for the driver's function to return.
bool purlin_invalid(purlin_failure *failure, purlin_findings findings);
bool purlin_invalid_input(purlin_failure *failure, const char *pointer, const char *message);
bool purlin_denied(purlin_failure *failure, const char *capability, text target, text message);
bool purlin_not_found(purlin_failure *failure, text message);
bool purlin_conflict(purlin_failure *failure, text message);
bool purlin_retry_after(purlin_failure *failure, uint64_t milliseconds, text message);
// The host records the state, ends the call, and looks again after that time. `create` and `update` have a
// state, `read` may have one, `delete` has none: (purlin_state){0}.
bool purlin_pending(purlin_failure *failure, purlin_state state, uint64_t milliseconds, text message);
bool purlin_partial(purlin_failure *failure, purlin_state state, text message);
bool purlin_fail(purlin_failure *failure, text message);
bool purlin_undecided(purlin_failure *failure, text message);
bool purlin_needs_delete_before(purlin_failure *failure, text message);

// Adds a fact for people, such as `code`, `status`, `request-id` or `operation` of the service that answered.
// It returns false, too. Inputs, denials, retries and pending resources have no details.
bool purlin_with_detail(purlin_failure *failure, const char *name, text value);

typedef enum purlin_level { PURLIN_TRACE, PURLIN_DEBUG, PURLIN_INFO, PURLIN_WARN, PURLIN_ERROR } purlin_level;

// Writes a line for the operator. Never write a secret, although those of the call are masked.
void purlin_log(purlin_level level, text message);

// Adds to a counter. Names are `[a-z][a-z0-9_.]*`; others are ignored.
void purlin_count(const char *name, uint64_t by);

// Records a measurement, in the unit that the name ends with (`_ms`, `_bytes`).
void purlin_measure(const char *name, double value);

// Reports to the host what exists before `create` or `update` finishes: the provider's id, and a cookie for the
// next call, if it is lost. They return once it is stored; the last one is valid.
void purlin_checkpoint(text id);
void purlin_checkpoint_with_cookie(text id, text cookie);

// Shows people the progress (0 to 100; -1 if unknown).
void purlin_progress(text message, int percent);

// Whether the operator cancelled this call. A driver that polls should check each time.
bool purlin_cancelled(void);

// Milliseconds until the host ends the call.
uint64_t purlin_time_left(void);

// The type of a driver with that name, else `*`; NULL if there is none.
const purlin_type *purlin_type_of(const purlin_driver *driver, text name);

// Call `the_driver` as the host does: the function of the type that the request is about. They fail if there is
// no such type or function. Native tests use them.
bool purlin_check(const purlin_request *request, purlin_checked *checked, purlin_failure *failure);
bool purlin_name(const purlin_request *request, text *name, purlin_failure *failure);
bool purlin_create(const purlin_request *request, purlin_state *state, purlin_failure *failure);
bool purlin_read(const purlin_request *request, purlin_observed *observed, purlin_failure *failure);
bool purlin_update_impact(const purlin_request *change, purlin_impact *impact, purlin_failure *failure);
bool purlin_update(const purlin_request *change, purlin_state *state, purlin_failure *failure);
bool purlin_delete(const purlin_request *request, purlin_failure *failure);

// In native tests: the messages, one per line; and clearing them, together with all memory. A test that needs
// another answer of `purlin_cancelled` or `purlin_time_left` defines a function with that name.
text purlin_messages(void);
void purlin_forget(void);

#endif
