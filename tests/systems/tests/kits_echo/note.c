// A driver whose outputs are its inputs.

#include "purlin/purlin.h"

static bool create(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  (void)failure;
  *state = (purlin_state){.id = request->name, .outputs = json_object(), .secrets = json_object()};
  json_set(state->outputs, "all", purlin_get(&request->inputs, "/values/all"));
  json_set(state->secrets, "sealed", purlin_get(&request->inputs, "/secrets/all"));
  return true;
}

static bool delete(const purlin_request *request, purlin_failure *failure) {
  (void)request, (void)failure;
  return true;
}

static const purlin_type types[] = {{
    .name = "kept",
    .input_schema = "{\"type\": \"object\", \"properties\": {\"values\": {\"type\": \"object\"}, "
                    "\"secrets\": {\"type\": \"object\"}}}",
    .output_schema = "{\"type\": \"object\", \"properties\": {\"sealed\": {\"writeOnly\": true}}}",
    .repeat_create = true,
    .create = create,
    .delete = delete,
}};

const purlin_driver the_driver = {
    .name = "shop/memo",
    .version = "0.1.0",
    .description = "Returns its inputs.",
    .types = types,
    .type_count = 1,
};
