// A driver, and the functions of the host.
//
// A driver defines `the_driver`: its description, and a function for each function of the contract
// that it supports. NULL is a missing function; the comment says what the host does instead.
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
  text org; // may be empty
  text app;
  text env;
  text env_type;
  text namespace;  // empty for the global one
  text deployment; // differs from run to run: never derive names from it
} purlin_context;

// The resource of a call.
typedef struct purlin_resource {
  text urn;     // its stable logical name
  text guresid; // 40 hexadecimal digits: permanent, unique, usable in names
  text type;
  text class; // `default` if none is named
  text id;    // within the environment
  purlin_context context;
} purlin_resource;

// The inputs of a resource.
typedef struct purlin_inputs {
  // {"values":…,"secrets":…,"params":…,"connection":…}; never log the secrets. `connection` says how to
  // reach the system that the resource is in; it is always the current one.
  json *document;
  text account;    // the definition's `driver_account`, empty if there is none
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
} purlin_state;

// The request to a function. Its parts depend on the function.
typedef struct purlin_request {
  purlin_resource resource;
  purlin_inputs inputs;    // the current or the new ones
  // check: its earlier result, without `connection`, or NULL; update, update_impact: those it was created with
  purlin_inputs *previous;
  text name;               // the result of `name`; not in check and name
  const text *replaces;    // create: the id of the resource that this one replaces, NULL if none exists
  const text *id;          // read: the provider's id, or NULL to search by name
  texts known;             // read by name: ids of other resources, which are not the requested one
  purlin_state *state;     // update, update_impact, delete: the existing resource; read: the record, or NULL
  text idempotency_key;    // the same for every attempt at the same effect
  uint64_t deadline;       // milliseconds since 1970
} purlin_request;

// One input that cannot be used, or a warning.
typedef struct purlin_fault {
  text pointer; // into {"values":…,"secrets":…,"params":…,"connection":…}
  text message; // the fault, and how to correct it
} purlin_fault;

typedef struct purlin_faults {
  purlin_fault *items;
  size_t length;
  size_t room;
} purlin_faults;

// Inputs as they will be used. Initially unchanged.
typedef struct purlin_checked {
  json *values;
  json *secrets;
  purlin_faults warnings;
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
  texts stable_outputs;
} purlin_impact;

// Why a call failed. `purlin_fail` and similar functions fill it in.
typedef struct purlin_failure {
  enum {
    PURLIN_INVALID_INPUTS,     // another attempt does not help
    PURLIN_DENIED,             // the operator has to grant a capability
    PURLIN_NOT_FOUND,          // the resource, or one it needs, does not exist
    PURLIN_CONFLICT,           // somebody else's change blocks it
    PURLIN_RETRY_AFTER,        // busy or rate-limited
    PURLIN_PARTIAL,            // something exists that must not be forgotten
    PURLIN_FAILED,             // anything else
    PURLIN_UNDECIDED,          // something may have been created or changed: the host finds out
    PURLIN_NEEDS_DELETE_BEFORE // create with `replaces`: the old resource must be deleted first
  } kind;
  text message;
  purlin_faults faults; // of PURLIN_INVALID_INPUTS
  text capability;      // of PURLIN_DENIED: http, tcp, udp, dns, env, dirs or secrets
  text target;          // of PURLIN_DENIED, such as `db.internal:5432`
  uint64_t after_ms;    // of PURLIN_RETRY_AFTER
  purlin_state state;   // of PURLIN_PARTIAL
} purlin_failure;

// A driver's description of one resource type.
typedef struct purlin_type {
  const char *name;    // or `*` for any
  const char *inputs;  // JSON Schema (2020-12) of {"values":…,"secrets":…,"params":…,"connection":…}
  const char *outputs; // JSON Schema; secret ones with "writeOnly": true
} purlin_type;

// A capability that a driver requests. The operator grants.
typedef struct purlin_requested_capability {
  const char *capability;
  const char *pattern; // empty if the inputs decide
  const char *reason;  // as a sentence for an operator
} purlin_requested_capability;

// A driver. Its functions return whether they succeeded. All failures but PURLIN_PARTIAL and
// PURLIN_UNDECIDED promise that nothing was created or changed.
typedef struct purlin_driver {
  const char *name;        // ORG/NAME
  const char *version;     // semantic version
  const char *description; // what it provisions, in one sentence
  const purlin_type *types;
  size_t type_count;
  const purlin_requested_capability *requested_capabilities;
  size_t requested_capability_count;
  // A promise: `create` with the key of an earlier attempt finds its object, or creates nothing
  // outside itself.
  bool repeat_create;
  // Validates, fills in defaults, normalises; no effects. NULL: inputs are used unchanged.
  bool (*check)(const purlin_request *, purlin_checked *, purlin_failure *);
  // Names the real object; no effects. NULL: its `guresid`.
  bool (*name_of)(const purlin_request *, text *, purlin_failure *);
  // Creates the resource. Required.
  bool (*create)(const purlin_request *, purlin_state *, purlin_failure *);
  // Reads it; an empty id if the system does not show it, a failure if the driver cannot look. By name, finds
  // only this resource's own. NULL: reality is assumed to equal the record.
  bool (*read)(const purlin_request *, purlin_observed *, purlin_failure *);
  // Decides which changes replace; no effects. NULL: none does.
  bool (*update_impact)(const purlin_request *, purlin_impact *, purlin_failure *);
  // Changes it in place. NULL: every change replaces.
  bool (*update)(const purlin_request *, purlin_state *, purlin_failure *);
  // Deletes it; a missing one is a success. Required.
  bool (*delete)(const purlin_request *, purlin_failure *);
} purlin_driver;

extern const purlin_driver the_driver;

// The value at a pointer such as `/values/title`; NULL if there is none.
json *purlin_get(const purlin_inputs *inputs, const char *pointer);

// Whether the value there, above it or below it is unknown.
bool purlin_is_unknown(const purlin_inputs *inputs, const char *pointer);

// Whether the value there changes. An unknown value is treated as changed.
bool purlin_changes(const purlin_request *change, const char *pointer);

// A pointer with one more name.
text purlin_pointer(const char *pointer, text name);

void purlin_add_text(texts *to, text more);

// Collects a fault, so that all are reported at once.
void purlin_add_fault(purlin_faults *to, text pointer, text message);

// End a call. They return false, for the driver's function to return.
bool purlin_invalid(purlin_failure *failure, purlin_faults faults);
bool purlin_invalid_input(purlin_failure *failure, const char *pointer, const char *message);
bool purlin_denied(purlin_failure *failure, const char *capability, text target, text message);
bool purlin_not_found(purlin_failure *failure, text message);
bool purlin_conflict(purlin_failure *failure, text message);
bool purlin_retry_after(purlin_failure *failure, uint64_t milliseconds, text message);
bool purlin_partial(purlin_failure *failure, purlin_state state, text message);
bool purlin_fail(purlin_failure *failure, text message);
bool purlin_undecided(purlin_failure *failure, text message);
bool purlin_needs_delete_before(purlin_failure *failure, text message);

typedef enum purlin_level { PURLIN_TRACE, PURLIN_DEBUG, PURLIN_INFO, PURLIN_WARN, PURLIN_ERROR } purlin_level;

// Writes a line for the operator. Never write a secret, although those of the call are masked.
void purlin_log(purlin_level level, text message);

// Adds to a counter. Names are `[a-z][a-z0-9_.]*`; others are ignored.
void purlin_count(const char *name, uint64_t by);

// Records a measurement, in the unit that the name ends with (`_ms`, `_bytes`).
void purlin_record(const char *name, double value);

// Reports the provider's id to the host before `create` finishes. Returns once the id is stored.
void purlin_checkpoint(text id);

// Shows people the progress (0 to 100; -1 if unknown).
void purlin_progress(text message, int percent);

// Whether the operator cancelled this call. A driver that polls should check each time.
bool purlin_cancelled(void);

// In native tests: the messages, one per line; and clearing them, together with all memory.
text purlin_messages(void);
void purlin_forget(void);

#endif
