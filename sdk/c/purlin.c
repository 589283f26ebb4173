#include "purlin.h"

#include "form.h"
#include "preview.h"

#include <string.h>

json *purlin_get(const purlin_inputs *inputs, const char *pointer) { return json_at(inputs->document, pointer); }

// Whether a pointer is at a place or below it.
static bool within(text outer, text inner) {
  return outer.length <= inner.length && (outer.length == 0 || memcmp(outer.at, inner.at, outer.length) == 0) &&
         (outer.length == inner.length || inner.at[outer.length] == '/');
}

bool purlin_is_unknown(const purlin_inputs *inputs, const char *pointer) {
  for (size_t i = 0; i < inputs->unknown.length; i++) {
    text unknown = inputs->unknown.items[i];
    if (within(unknown, text_of(pointer)) || within(text_of(pointer), unknown)) return true;
  }
  return false;
}

void purlin_choose(const purlin_request *check, const char *pointer, json *value) {
  const purlin_inputs *inputs = &check->inputs, *previous = check->previous;
  if (purlin_is_unknown(inputs, pointer) || !json_is_null(purlin_get(inputs, pointer))) return;
  if (previous != NULL && !json_is_null(purlin_get(previous, pointer))) value = purlin_get(previous, pointer);
  json_put(inputs->document, pointer, value);
}

bool purlin_changes(const purlin_request *change, const char *pointer) {
  if (purlin_is_unknown(&change->inputs, pointer) || change->previous == NULL) return true;
  return !json_same(purlin_get(&change->inputs, pointer), purlin_get(change->previous, pointer));
}

text purlin_pointer(const char *pointer, text name) {
  growing whole = {0};
  grow(&whole, pointer, strlen(pointer));
  grow(&whole, "/", 1);
  for (size_t i = 0; i < name.length; i++) {
    char c = name.at[i];
    if (c == '~' || c == '/') {
      grow(&whole, c == '~' ? "~0" : "~1", 2);
    } else {
      grow(&whole, &c, 1);
    }
  }
  return grown(&whole);
}

void purlin_add_text(texts *to, text more) {
  text *items = memory_take(to->length + 1, sizeof(text));
  if (to->length > 0) memcpy(items, to->items, to->length * sizeof(text));
  items[to->length++] = more;
  to->items = items;
}

void purlin_add_finding(purlin_findings *to, text pointer, text message) {
  if (to->length == to->room) {
    size_t room = 2 * to->room + 8;
    purlin_finding *items = memory_take(room, sizeof(purlin_finding));
    if (to->length > 0) memcpy(items, to->items, to->length * sizeof(purlin_finding));
    to->items = items;
    to->room = room;
  }
  to->items[to->length++] = (purlin_finding){pointer, message};
}

void purlin_add_part(purlin_parts *to, purlin_part part) {
  if (to->length >= to->room) {
    size_t room = 2 * to->length + 8;
    purlin_part *items = memory_take(room, sizeof(purlin_part));
    if (to->length > 0) memcpy(items, to->items, to->length * sizeof(purlin_part));
    to->items = items;
    to->room = room;
  }
  to->items[to->length++] = part;
}

bool purlin_invalid(purlin_failure *failure, purlin_findings findings) {
  *failure = (purlin_failure){.kind = PURLIN_INVALID_INPUTS, .findings = findings};
  return false;
}

bool purlin_invalid_input(purlin_failure *failure, const char *pointer, const char *message) {
  purlin_findings findings = {0};
  purlin_add_finding(&findings, text_of(pointer), text_of(message));
  return purlin_invalid(failure, findings);
}

bool purlin_denied(purlin_failure *failure, const char *capability, text target, text message) {
  *failure = (purlin_failure){
      .kind = PURLIN_DENIED, .capability = text_of(capability), .target = target, .message = message};
  return false;
}

bool purlin_not_found(purlin_failure *failure, text message) {
  *failure = (purlin_failure){.kind = PURLIN_NOT_FOUND, .message = message};
  return false;
}

bool purlin_conflict(purlin_failure *failure, text message) {
  *failure = (purlin_failure){.kind = PURLIN_CONFLICT, .message = message};
  return false;
}

bool purlin_retry_after(purlin_failure *failure, uint64_t milliseconds, text message) {
  *failure = (purlin_failure){.kind = PURLIN_RETRY_AFTER, .after_ms = milliseconds, .message = message};
  return false;
}

bool purlin_pending(purlin_failure *failure, purlin_state state, uint64_t milliseconds, text message) {
  *failure = (purlin_failure){
      .kind = PURLIN_PENDING, .state = state, .after_ms = milliseconds, .message = message};
  return false;
}

bool purlin_partial(purlin_failure *failure, purlin_state state, text message) {
  *failure = (purlin_failure){.kind = PURLIN_PARTIAL, .state = state, .message = message};
  return false;
}

bool purlin_fail(purlin_failure *failure, text message) {
  *failure = (purlin_failure){.kind = PURLIN_FAILED, .message = message};
  return false;
}

bool purlin_undecided(purlin_failure *failure, text message) {
  *failure = (purlin_failure){.kind = PURLIN_UNDECIDED, .message = message};
  return false;
}

bool purlin_needs_delete_before(purlin_failure *failure, text message) {
  *failure = (purlin_failure){.kind = PURLIN_NEEDS_DELETE_BEFORE, .message = message};
  return false;
}

bool purlin_with_detail(purlin_failure *failure, const char *name, text value) {
  if (failure->details == NULL) failure->details = json_object();
  json_set(failure->details, name, json_text(value));
  return false;
}

void purlin_checkpoint(text id) { purlin_checkpoint_with_cookie(id, (text){0}); }

const purlin_type *purlin_type_of(const purlin_driver *driver, text name) {
  const purlin_type *any = NULL;
  for (size_t i = 0; i < driver->type_count; i++) {
    const purlin_type *type = &driver->types[i];
    if (text_is(name, type->name)) return type;
    if (strcmp(type->name, "*") == 0) any = type;
  }
  return any;
}

// The type of a request; if there is none, the failure says so.
static const purlin_type *type_of(const purlin_request *request, purlin_failure *failure) {
  const purlin_type *type = purlin_type_of(&the_driver, request->subject.type);
  *failure = (purlin_failure){.kind = PURLIN_FAILED};
  if (type == NULL) {
    text name = text_copy(request->subject.type.at, request->subject.type.length);
    purlin_fail(failure, text_format("the driver `%s` does not provision the type `%s`", the_driver.name, name.at));
  }
  return type;
}

// The host does not call what a type lacks.
static bool lacks(const purlin_type *type, const char *function, purlin_failure *failure) {
  return purlin_fail(failure, text_format("the type `%s` does not implement `%s`", type->name, function));
}

// A function without effects may not return `undecided`; it fails instead.
static bool without_effects(purlin_failure *failure) {
  if (failure->kind == PURLIN_UNDECIDED) failure->kind = PURLIN_FAILED;
  return false;
}

// Results replace the caller's only after a success, because the request may refer to those.

bool purlin_check(const purlin_request *request, purlin_checked *checked, purlin_failure *failure) {
  const purlin_type *type = type_of(request, failure);
  if (type == NULL) return false;
  if (type->check == NULL) return lacks(type, "check", failure);
  if (type->inputs != NULL) {
    purlin_findings faults = purlin_faults(&request->inputs, type->inputs());
    if (faults.length > 0) return purlin_invalid(failure, faults);
  }
  purlin_checked result = {.values = purlin_get(&request->inputs, "/values"),
                           .secrets = purlin_get(&request->inputs, "/secrets")};
  if (!type->check(request, &result, failure)) return without_effects(failure);
  *checked = result;
  return true;
}

bool purlin_name(const purlin_request *request, text *name, purlin_failure *failure) {
  const purlin_type *type = type_of(request, failure);
  if (type == NULL) return false;
  if (type->name_of == NULL) return lacks(type, "name", failure);
  text result = {0};
  if (!type->name_of(request, &result, failure)) return without_effects(failure);
  *name = result;
  return true;
}

bool purlin_create(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  const purlin_type *type = type_of(request, failure);
  if (type == NULL) return false;
  if (type->create == NULL) return lacks(type, "create", failure);
  purlin_state result = {0};
  if (!type->create(request, &result, failure)) return false;
  *state = result;
  return true;
}

bool purlin_read(const purlin_request *request, purlin_observed *observed, purlin_failure *failure) {
  const purlin_type *type = type_of(request, failure);
  if (type == NULL) return false;
  if (type->read == NULL) return lacks(type, "read", failure);
  purlin_observed result = {0};
  if (!type->read(request, &result, failure)) return without_effects(failure);
  *observed = result;
  return true;
}

bool purlin_update_impact(const purlin_request *change, purlin_impact *impact, purlin_failure *failure) {
  const purlin_type *type = type_of(change, failure);
  if (type == NULL) return false;
  if (type->update_impact == NULL) return lacks(type, "update-impact", failure);
  purlin_impact result = {0};
  if (!type->update_impact(change, &result, failure)) return without_effects(failure);
  *impact = result;
  return true;
}

bool purlin_update(const purlin_request *change, purlin_state *state, purlin_failure *failure) {
  const purlin_type *type = type_of(change, failure);
  if (type == NULL) return false;
  if (type->update == NULL) return lacks(type, "update", failure);
  purlin_state result = {0};
  if (!type->update(change, &result, failure)) return false;
  *state = result;
  return true;
}

bool purlin_delete(const purlin_request *request, purlin_failure *failure) {
  const purlin_type *type = type_of(request, failure);
  if (type == NULL) return false;
  return type->delete != NULL ? type->delete(request, failure) : lacks(type, "delete", failure);
}

__attribute__((weak)) const bool purlin_exports_preview = false;

bool purlin_preview(const purlin_request *effect, purlin_forecast *forecast, purlin_failure *failure) {
  const purlin_type *type = type_of(effect, failure);
  if (type == NULL) return false;
  purlin_forecast result = {0};
  if (type->preview != NULL && !type->preview(effect, &result, failure)) return without_effects(failure);
  *forecast = result;
  return true;
}
