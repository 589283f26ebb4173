#include "purlin.h"

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

void purlin_add_fault(purlin_faults *to, text pointer, text message) {
  if (to->length == to->room) {
    size_t room = 2 * to->room + 8;
    purlin_fault *items = memory_take(room, sizeof(purlin_fault));
    if (to->length > 0) memcpy(items, to->items, to->length * sizeof(purlin_fault));
    to->items = items;
    to->room = room;
  }
  to->items[to->length++] = (purlin_fault){pointer, message};
}

bool purlin_invalid(purlin_failure *failure, purlin_faults faults) {
  *failure = (purlin_failure){.kind = PURLIN_INVALID_INPUTS, .faults = faults};
  return false;
}

bool purlin_invalid_input(purlin_failure *failure, const char *pointer, const char *message) {
  purlin_faults faults = {0};
  purlin_add_fault(&faults, text_of(pointer), text_of(message));
  return purlin_invalid(failure, faults);
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
