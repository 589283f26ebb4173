// The driver `acme/project`: a project in a REST API that speaks JSON.

#include "project.h"

// The outputs of a project, without the token: only `create` gets it, and Purlin keeps it, as the
// schema says.
static purlin_state state_of(const project *found) {
  purlin_state state = {.id = found->id, .outputs = json_object()};
  json_set(state.outputs, "id", json_text(found->id));
  json_set(state.outputs, "name", json_text(found->name));
  json_set(state.outputs, "region", json_text(found->region));
  json_set(state.outputs, "size", json_int(found->size));
  return state;
}

// Whether a project is ready. Otherwise Purlin records its state, and calls `read` later.
static bool is_ready(const project *found, purlin_state state, purlin_failure *failure) {
  if (!found->is_busy) return true;
  return purlin_pending(failure, state, found->after_ms, text_of("the API is still working on the project"));
}

static bool project_name_of(const purlin_request *request, text *name, purlin_failure *failure) {
  (void)failure;
  *name = json_as_text(purlin_get(&request->inputs, "/values/name"));
  return true;
}

static bool driver_create(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  project created;
  if (!api_create(request, &created, failure)) return false;
  // From here on, an interrupted call is resolved by this id.
  purlin_checkpoint(created.id);
  *state = state_of(&created);
  if (created.token.length > 0) {
    state->secrets = json_object();
    json_set(state->secrets, "token", json_text(created.token));
  }
  return is_ready(&created, *state, failure);
}

static bool driver_read(const purlin_request *request, purlin_observed *observed, purlin_failure *failure) {
  project found;
  bool done = request->id != NULL ? api_get(request, *request->id, &found, failure)
                                  : api_find(request, &found, failure);
  if (!done || found.id.length == 0) return done;
  observed->state = state_of(&found);
  observed->values = json_object();
  json_set(observed->values, "name", json_text(found.name));
  json_set(observed->values, "region", json_text(found.region));
  json_set(observed->values, "size", json_int(found.size));
  return is_ready(&found, observed->state, failure);
}

static bool driver_update(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  project updated;
  if (!api_update(request, request->state->id, &updated, failure)) return false;
  *state = state_of(&updated);
  return is_ready(&updated, *state, failure);
}

static bool driver_delete(const purlin_request *request, purlin_failure *failure) {
  return api_delete(request, request->state->id, failure);
}

static const purlin_type types[] = {{
    .name = "project",
    .inputs = INPUT_SCHEMA,
    .outputs = OUTPUT_SCHEMA,
    // The API accepts idempotency keys: a repeated `create` returns the result of the first one, with the
    // token. Remove this line if your API may forget keys before an interrupted deployment continues.
    .repeat_create = true,
    .name_of = project_name_of,
    .create = driver_create,
    .read = driver_read,
    .update = driver_update,
    .delete = driver_delete,
}};

static const purlin_requested_capability requested_capabilities[] = {
    {.capability = "http", .reason = "the API that `connection.server` names"}};

const purlin_driver the_driver = {
    .name = "acme/project",
    .version = "0.1.0",
    .description = "A project in a REST API.",
    .types = types,
    .type_count = 1,
    .requested_capabilities = requested_capabilities,
    .requested_capability_count = 1,
};
