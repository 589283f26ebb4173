// The host, as far as a native test needs one: it keeps the driver's messages.

#include "preview.h"

#ifndef __wasm__

#include <inttypes.h>

static growing messages;

static void say(text line) {
  grow(&messages, line.at, line.length);
  grow(&messages, "\n", 1);
}

void purlin_log(purlin_level level, text message) {
  static const char *const levels[] = {"trace", "debug", "info", "warn", "error"};
  say(text_format("%s %s", levels[level], message.at));
}

void purlin_count(const char *name, uint64_t by) { say(text_format("count %s %" PRIu64, name, by)); }

void purlin_measure(const char *name, double value) { say(text_format("measure %s %g", name, value)); }

void purlin_checkpoint_with_cookie(text id, text cookie) {
  say(cookie.at == NULL ? text_format("checkpoint %s", id.at)
                        : text_format("checkpoint %s with the cookie `%s`", id.at, cookie.at));
}

void purlin_progress(text message, int percent) {
  say(percent < 0 ? text_format("progress %s", message.at) : text_format("progress %s %d%%", message.at, percent));
}

void purlin_reached(text address, purlin_action action) {
  static const char *const actions[] = {"none", "create", "read", "update", "create-then-delete", "delete-then-create",
                                        "delete", "adopt", "forget"};
  say(text_format("reached %s %s", address.at, actions[action]));
}

__attribute__((weak)) text purlin_consent_token(void) { return (text){0}; }

__attribute__((weak)) bool purlin_cancelled(void) { return false; }

// An hour.
__attribute__((weak)) uint64_t purlin_time_left(void) { return 3600000; }

text purlin_messages(void) { return grown(&messages); }

void purlin_forget(void) {
  messages = (growing){0};
  memory_drop();
}

#endif
