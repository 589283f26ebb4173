// The driver `acme/project`: a project in a REST API that speaks JSON.

#include "project.h"

// The state of a project. Only the response that creates it has the token; Purlin keeps it, as the schema says.
static purlin_state state_of(const project *found) {
  project_outputs outputs = {.id = found->id, .name = found->name, .region = found->region, .size = found->size};
  if (found->token.length > 0) outputs.token = &found->token;
  return project_outputs_state(found->id, &outputs);
}

// Whether a project is ready. Otherwise Purlin records its state, and calls `read` later.
static bool is_ready(const project *found, purlin_state state, purlin_failure *failure) {
  if (!found->is_busy) return true;
  return purlin_pending(failure, state, found->after_ms, text_of("the API is still working on the project"));
}

static bool project_name_of(const purlin_request *request, text *name, purlin_failure *failure) {
  project_inputs wanted;
  if (!project_inputs_decode(&request->inputs, &wanted, failure)) return false;
  *name = wanted.name;
  return true;
}

static bool driver_create(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  project_inputs wanted;
  project created;
  if (!project_inputs_decode(&request->inputs, &wanted, failure)) return false;
  if (!api_create(request, &wanted, &created, failure)) return false;
  // From here on, an interrupted call is resolved by this id.
  purlin_checkpoint(created.id);
  *state = state_of(&created);
  return is_ready(&created, *state, failure);
}

static bool driver_read(const purlin_request *request, purlin_observed *observed, purlin_failure *failure) {
  project found;
  bool done = request->id != NULL ? api_get(request, *request->id, &found, failure)
                                  : api_find(request, &found, failure);
  if (!done || found.id.length == 0) return done;
  observed->state = state_of(&found);
  project_inputs values = {.name = found.name, .region = found.region, .size = found.size};
  observed->values = project_inputs_values(&values);
  return is_ready(&found, observed->state, failure);
}

static bool driver_update(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  project_inputs wanted;
  project updated;
  if (!project_inputs_decode(&request->inputs, &wanted, failure)) return false;
  if (!api_update(request, request->state->id, &wanted, &updated, failure)) return false;
  *state = state_of(&updated);
  return is_ready(&updated, *state, failure);
}

static bool driver_delete(const purlin_request *request, purlin_failure *failure) {
  return api_delete(request, request->state->id, failure);
}

static const purlin_type types[] = {{
    .name = "project",
    .inputs = project_inputs_form,
    .outputs = project_outputs_form,
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
