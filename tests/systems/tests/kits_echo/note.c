// A driver whose outputs are its inputs, as it foresees.

#include <string.h>

#include "purlin/preview.h"

static bool give(text id, const purlin_request *request, purlin_state *state) {
  *state = (purlin_state){.id = id, .outputs = json_object(), .secrets = json_object()};
  json_set(state->outputs, "all", purlin_get(&request->inputs, "/values/all"));
  json_set(state->secrets, "sealed", purlin_get(&request->inputs, "/secrets/all"));
  text token = purlin_consent_token();
  if (token.at != NULL) json_set(state->outputs, "agreed", json_text(token));
  return true;
}

static bool create(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  (void)failure;
  purlin_reached(text_of("list"), PURLIN_PART_CREATE);
  return give(request->name, request, state);
}

static bool update(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  (void)failure;
  purlin_reached(text_of("list"), PURLIN_PART_UPDATE);
  return give(request->state->id, request, state);
}

static bool delete(const purlin_request *request, purlin_failure *failure) {
  (void)request, (void)failure;
  return true;
}

// Adds a place, if it is within another one, as a place within a third.
static void add_within(texts *to, text place, const char *from, const char *into) {
  size_t length = strlen(from);
  if (place.length < length || strncmp(place.at, from, length) != 0) return;
  purlin_add_text(to, text_format("%s%s", into, place.at + length));
}

// It is certain of all that is known. The only part has the number of values.
static bool preview(const purlin_request *request, purlin_forecast *forecast, purlin_failure *failure) {
  (void)failure;
  if (request->effect == PURLIN_DELETE) return true;
  json *all = purlin_get(&request->inputs, "/values/all");
  forecast->outputs = json_object();
  json_set(forecast->outputs, "all", all);
  forecast->secrets = json_object();
  json_set(forecast->secrets, "sealed", purlin_get(&request->inputs, "/secrets/all"));
  bool is_new = request->effect == PURLIN_CREATE;
  purlin_part part = {.address = text_of("list"),
                      .type_name = text_of("list"),
                      .action = is_new ? PURLIN_PART_CREATE : PURLIN_PART_UPDATE,
                      .after = json_object()};
  texts unknown = request->inputs.unknown;
  for (size_t i = 0; i < unknown.length; i++) {
    add_within(&forecast->unknown, unknown.items[i], "/values/all", "/outputs/all");
    add_within(&forecast->unknown, unknown.items[i], "/secrets/all", "/secrets/sealed");
  }
  if (unknown.length > 0) {
    json_set(part.after, "size", json_null());
    purlin_add_text(&part.unknown, text_of("/after/size"));
  } else {
    size_t size = all != NULL ? all->length : 0;
    json_set(part.after, "size", json_uint(size));
    forecast->token = text_format("%s %zu", is_new ? "create" : "update", size);
  }
  purlin_add_part(&forecast->parts, part);
  return true;
}

static const purlin_type types[] = {{
    .name = "kept",
    .input_schema = "{\"type\": \"object\", \"properties\": {\"values\": {\"type\": \"object\"}, "
                    "\"secrets\": {\"type\": \"object\"}}}",
    .output_schema = "{\"type\": \"object\", \"properties\": {\"sealed\": {\"writeOnly\": true}}}",
    .repeat_create = true,
    .create = create,
    .update = update,
    .delete = delete,
    .preview = preview,
}};

const purlin_driver the_driver = {
    .name = "shop/memo",
    .version = "0.1.0",
    .description = "Returns its inputs.",
    .types = types,
    .type_count = 1,
};
