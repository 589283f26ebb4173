// What a driver is, and what it may say to the host.
//
// A driver defines `the_driver`: what it is, and a function for each thing that it can do. NULL
// stands for a function that it does not have; the comment says what the host does instead.
#ifndef PURLIN_H
#define PURLIN_H

#include <stdint.h>

#include "json.h"

// Some texts.
typedef struct texts {
  text *items;
  size_t length;
} texts;

// Where a deployment takes place.
typedef struct purlin_context {
  text org; // may be empty
  text app;
  text env;
  text env_type;
  text namespace;  // the empty one is global
  text deployment; // differs from run to run: never derive names from it
} purlin_context;

// What a call is about.
typedef struct purlin_resource {
  text urn;     // its stable logical name
  text guresid; // 40 hexadecimal digits: permanent, unique, fit for names
  text type;
  text class; // `default` when none was asked for
  text id;    // within the environment
  purlin_context context;
} purlin_resource;

// What a resource is made from.
typedef struct purlin_inputs {
  // {"values":…,"secrets":…,"params":…,"connection":…}; never log the secrets. `connection` says how to
  // reach the system that the resource is in; it is always the current one.
  json *document;
  text account;    // the definition's `driver_account`, empty where there is none
  texts unknown;   // pointers to what is not known yet, and null in the document
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
  json *outputs; // what others may read; NULL is none
  json *secrets; // outputs that are secret; NULL is none
  text cookie;   // what the driver wants back at the next call, at most 10 KiB; kept encrypted
  purlin_manifest_file *manifests;
  size_t manifest_count;
} purlin_state;

// What a function is asked. Which parts there are depends on the function.
typedef struct purlin_request {
  purlin_resource resource;
  purlin_inputs inputs;    // those that it has, or is to have
  // check: those it returned before, without `connection`, or NULL; update, update_impact: those it was made with
  purlin_inputs *previous;
  text name;               // what `name` said; not in check and name
  const text *replaces;    // create: the id of the resource that this one replaces, NULL where none exists
  const text *id;          // read: the provider's id, or NULL to look for it by name
  texts known;             // read by name: ids of other resources, which are not the one that is looked for
  purlin_state *state;     // update, update_impact, delete: what exists; read: what is recorded, or NULL
  text idempotency_key;    // the same for every attempt at the same effect
  uint64_t deadline;       // milliseconds since 1970
} purlin_request;

// One input that cannot be used, or a warning.
typedef struct purlin_fault {
  text pointer; // into {"values":…,"secrets":…,"params":…,"connection":…}
  text message; // what is wrong, and what would be right
} purlin_fault;

typedef struct purlin_faults {
  purlin_fault *items;
  size_t length;
  size_t room;
} purlin_faults;

// Inputs as they will be used. They begin as they came.
typedef struct purlin_checked {
  json *values;
  json *secrets;
  purlin_faults warnings;
} purlin_checked;

// What there is. Without an id nothing is there.
typedef struct purlin_observed {
  purlin_state state;
  json *values; // as reality has them, in the shape that check returns; NULL when it cannot be told
} purlin_observed;

// What a change would do.
typedef struct purlin_impact {
  texts replaces; // pointers; none means an update in place
  bool delete_before_replace;
  texts stable_outputs;
} purlin_impact;

// Why a call did not succeed. `purlin_fail` and its kin fill it in.
typedef struct purlin_failure {
  enum {
    PURLIN_INVALID_INPUTS,     // trying again changes nothing
    PURLIN_DENIED,             // the operator has to grant a capability
    PURLIN_NOT_FOUND,          // the resource, or one it needs, does not exist
    PURLIN_CONFLICT,           // somebody else's change stands in the way
    PURLIN_RETRY_AFTER,        // busy or rate-limited
    PURLIN_PARTIAL,            // something exists that must not be forgotten
    PURLIN_FAILED,             // anything else
    PURLIN_UNDECIDED,          // something may have been made or changed: the host finds out
    PURLIN_NEEDS_DELETE_BEFORE // create with `replaces`: what it replaces has to be deleted first
  } kind;
  text message;
  purlin_faults faults; // of PURLIN_INVALID_INPUTS
  text capability;      // of PURLIN_DENIED: http, tcp, udp, dns, env, dirs or secrets
  text target;          // of PURLIN_DENIED, such as `db.internal:5432`
  uint64_t after_ms;    // of PURLIN_RETRY_AFTER
  purlin_state state;   // of PURLIN_PARTIAL
} purlin_failure;

// What a driver says of one resource type.
typedef struct purlin_type {
  const char *name;    // or `*` for any
  const char *inputs;  // JSON Schema (2020-12) of {"values":…,"secrets":…,"params":…,"connection":…}
  const char *outputs; // JSON Schema; secret ones with "writeOnly": true
} purlin_type;

// A capability that a driver would like. The operator grants.
typedef struct purlin_wish {
  const char *capability;
  const char *pattern; // empty where the inputs decide
  const char *reason;  // in a sentence to an operator
} purlin_wish;

// A driver. Its functions return whether they succeeded. All failures but PURLIN_PARTIAL and
// PURLIN_UNDECIDED promise that nothing was made or changed.
typedef struct purlin_driver {
  const char *name;        // ORG/NAME
  const char *version;     // semantic version
  const char *description; // what it provisions, in a sentence
  const purlin_type *types;
  size_t type_count;
  const purlin_wish *wishes;
  size_t wish_count;
  // A promise: `create` with the key of an earlier attempt finds what that made, or makes nothing
  // outside itself.
  bool repeat_create;
  // Validates, fills in defaults, normalises; no effects. NULL: inputs are taken as they are.
  bool (*check)(const purlin_request *, purlin_checked *, purlin_failure *);
  // Names the real thing; no effects. NULL: its `guresid`.
  bool (*name_of)(const purlin_request *, text *, purlin_failure *);
  // Makes the resource. Every driver has it.
  bool (*create)(const purlin_request *, purlin_state *, purlin_failure *);
  // Looks at it; by name, finds only this resource's own. NULL: reality is what was recorded.
  bool (*read)(const purlin_request *, purlin_observed *, purlin_failure *);
  // Says which changes replace; no effects. NULL: none does.
  bool (*update_impact)(const purlin_request *, purlin_impact *, purlin_failure *);
  // Changes it in place. NULL: every change replaces.
  bool (*update)(const purlin_request *, purlin_state *, purlin_failure *);
  // Deletes it; what is gone is a success. Every driver has it.
  bool (*delete)(const purlin_request *, purlin_failure *);
} purlin_driver;

extern const purlin_driver the_driver;

// What stands at a pointer such as `/values/title`; NULL where nothing does.
json *purlin_get(const purlin_inputs *inputs, const char *pointer);

// Whether what stands there, above it or below it is not known yet.
bool purlin_is_unknown(const purlin_inputs *inputs, const char *pointer);

// Whether what stands there changes. What is not known yet counts as changed.
bool purlin_changes(const purlin_request *change, const char *pointer);

// A pointer with one more name.
text purlin_pointer(const char *pointer, text name);

void purlin_add_text(texts *to, text more);

// Gathers a fault, so that all are told at once.
void purlin_add_fault(purlin_faults *to, text pointer, text message);

// Ends a call. They return false, for the driver's function to return.
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

// Writes a line for the operator. Never a secret, though those of the call are masked.
void purlin_log(purlin_level level, text message);

// Adds to a counter. Names are `[a-z][a-z0-9_.]*`; others are ignored.
void purlin_count(const char *name, uint64_t by);

// Records a measurement, in the unit that the name ends with (`_ms`, `_bytes`).
void purlin_record(const char *name, double value);

// Tells the host the provider's id before `create` is finished. It returns once the id is safe.
void purlin_checkpoint(text id);

// Tells people what is going on; -1 where it is not known how far it is (0 to 100).
void purlin_progress(text message, int percent);

// Whether the operator wants this call to end. A driver that polls should ask each time.
bool purlin_cancelled(void);

// In native tests: what was said, a line each; and forgetting it, together with all memory.
text purlin_said(void);
void purlin_forget(void);

#endif
