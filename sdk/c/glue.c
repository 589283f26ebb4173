// Connects the generated bindings and purlin.h: records of the contract become requests, answers
// become records. Results are copied into separate memory, which the bindings free.

#include "purlin.h"

#ifdef __wasm__

#include <string.h>

#include "driver.h"

// The bindings need an object file with the contract's types; `purlin driver build` adds these.
__attribute__((weak)) void __component_type_object_force_link_driver(void) {}

static text in(driver_string_t string) { return text_copy(string.ptr, string.len); }

static driver_string_t out(text bytes) {
  driver_string_t string = {NULL, 0};
  text clean = text_lossy(bytes);
  if (clean.length > 0) driver_string_dup_n(&string, clean.at, clean.length);
  return string;
}

// Memory for a list that the bindings free.
static void *list(size_t count, size_t size) {
  extern void *cabi_realloc(void *, size_t, size_t, size_t);
  return cabi_realloc(NULL, 0, 8, count * size);
}

static texts in_texts(const driver_string_t *strings, size_t length) {
  texts all = {memory_take(length, sizeof(text)), length};
  for (size_t i = 0; i < length; i++) all.items[i] = in(strings[i]);
  return all;
}

static void out_texts(texts from, driver_string_t **strings, size_t *length) {
  *strings = list(from.length, sizeof(driver_string_t));
  *length = from.length;
  for (size_t i = 0; i < from.length; i++) (*strings)[i] = out(from.items[i]);
}

// The host rejects invalid JSON before it gets here.
static json *in_json(driver_string_t string) { return json_read(in(string), NULL); }

static driver_string_t out_object(const json *object) {
  return out(json_is_null(object) ? text_of("{}") : json_write(object));
}

static purlin_resource in_resource(const purlin_driver_types_resource_t *from) {
  const purlin_driver_types_context_t *context = &from->context;
  return (purlin_resource){
      .urn = in(from->urn),
      .guresid = in(from->guresid),
      .type = in(from->type_name),
      .class = in(from->class_),
      .id = in(from->id),
      .context = {in(context->org), in(context->app), in(context->env), in(context->env_type),
                  in(context->namespace_), in(context->deployment)},
  };
}

static purlin_inputs in_inputs(const purlin_driver_types_inputs_t *from) {
  purlin_inputs inputs = {.document = json_object()};
  json_set(inputs.document, "values", in_json(from->values));
  json_set(inputs.document, "secrets", in_json(from->secrets));
  json_set(inputs.document, "params", in_json(from->params));
  json_set(inputs.document, "connection", in_json(from->connection));
  inputs.account = from->account.is_some ? in(from->account.val) : text_of("");
  inputs.unknown = in_texts(from->unknown.ptr, from->unknown.len);
  inputs.sensitive = in_texts(from->sensitive.ptr, from->sensitive.len);
  return inputs;
}

static purlin_state *in_state(const purlin_driver_types_state_t *from) {
  purlin_state *state = memory_take(1, sizeof(purlin_state));
  state->id = in(from->id);
  state->outputs = in_json(from->outputs);
  state->secrets = in_json(from->secrets);
  state->cookie = text_copy(from->cookie.ptr, from->cookie.len);
  state->manifest_count = from->manifests.len;
  state->manifests = memory_take(from->manifests.len, sizeof(purlin_manifest_file));
  for (size_t i = 0; i < from->manifests.len; i++) {
    const purlin_driver_types_manifest_file_t *file = &from->manifests.ptr[i];
    state->manifests[i] = (purlin_manifest_file){in(file->name), in(file->location), in_json(file->data)};
  }
  return state;
}

static void out_state(const purlin_state *state, purlin_driver_types_state_t *to) {
  to->id = out(state->id);
  to->outputs = out_object(state->outputs);
  to->secrets = out_object(state->secrets);
  to->cookie.len = state->cookie.length;
  to->cookie.ptr = list(state->cookie.length, 1);
  if (state->cookie.length > 0) memcpy(to->cookie.ptr, state->cookie.at, state->cookie.length);
  to->manifests.len = state->manifest_count;
  to->manifests.ptr = list(state->manifest_count, sizeof *to->manifests.ptr);
  for (size_t i = 0; i < state->manifest_count; i++) {
    const purlin_manifest_file *file = &state->manifests[i];
    to->manifests.ptr[i] = (purlin_driver_types_manifest_file_t){
        out(file->name), out(file->location), out(json_write(file->data))};
  }
}

static void out_faults(purlin_faults from, purlin_driver_types_list_invalid_input_t *to) {
  to->len = from.length;
  to->ptr = list(from.length, sizeof *to->ptr);
  for (size_t i = 0; i < from.length; i++) {
    to->ptr[i] = (purlin_driver_types_invalid_input_t){out(from.items[i].pointer), out(from.items[i].message)};
  }
}

static bool out_failure(const purlin_failure *from, purlin_driver_types_failure_t *to) {
  *to = (purlin_driver_types_failure_t){.tag = (uint8_t)from->kind};
  switch (from->kind) {
  case PURLIN_INVALID_INPUTS:
    out_faults(from->faults, &to->val.invalid_inputs);
    break;
  case PURLIN_DENIED:
    to->val.denied = (purlin_driver_types_denial_t){out(from->capability), out(from->target), out(from->message)};
    break;
  case PURLIN_NOT_FOUND:
    to->val.not_found = out(from->message);
    break;
  case PURLIN_CONFLICT:
    to->val.conflict = out(from->message);
    break;
  case PURLIN_RETRY_AFTER:
    to->val.retry_after = (purlin_driver_types_retry_t){from->after_ms, out(from->message)};
    break;
  case PURLIN_PARTIAL:
    out_state(&from->state, &to->val.partial.state);
    to->val.partial.message = out(from->message);
    break;
  case PURLIN_UNDECIDED:
    to->val.undecided = out(from->message);
    break;
  case PURLIN_NEEDS_DELETE_BEFORE:
    to->val.needs_delete_before = out(from->message);
    break;
  default:
    to->tag = PURLIN_FAILED;
    to->val.failed = out(from->message);
  }
  return false;
}

// A function without effects may not return `undecided`; it fails instead.
static bool out_failure_without_effects(purlin_failure *from, purlin_driver_types_failure_t *to) {
  if (from->kind == PURLIN_UNDECIDED) from->kind = PURLIN_FAILED;
  return out_failure(from, to);
}

// A missing function of the driver is not called; without it there is no answer.
static bool missing(purlin_failure *failure) {
  return purlin_fail(failure, text_of("this driver does not implement that"));
}

static void add_call(purlin_request *request, const purlin_driver_types_call_t *call) {
  request->idempotency_key = in(call->idempotency_key);
  request->deadline = call->deadline;
}

void exports_purlin_driver_lifecycle_describe(exports_purlin_driver_lifecycle_manifest_t *ret) {
  const purlin_driver *d = &the_driver;
  ret->name = out(text_of(d->name));
  ret->version = out(text_of(d->version));
  ret->description = out(text_of(d->description));
  const bool has[] = {d->check != NULL,         d->name_of != NULL, d->read != NULL,
                      d->update_impact != NULL, d->update != NULL,  d->repeat_create};
  ret->implements = 0;
  for (size_t i = 0; i < sizeof has; i++) ret->implements |= (uint8_t)(has[i] << i);
  ret->types.len = d->type_count;
  ret->types.ptr = list(d->type_count, sizeof *ret->types.ptr);
  for (size_t i = 0; i < d->type_count; i++) {
    const purlin_type *type = &d->types[i];
    ret->types.ptr[i] = (exports_purlin_driver_lifecycle_type_schema_t){
        out(text_of(type->name)), out(text_of(type->inputs)), out(text_of(type->outputs))};
  }
  ret->requested_capabilities.len = d->requested_capability_count;
  ret->requested_capabilities.ptr =
      list(d->requested_capability_count, sizeof *ret->requested_capabilities.ptr);
  for (size_t i = 0; i < d->requested_capability_count; i++) {
    const purlin_requested_capability *requested = &d->requested_capabilities[i];
    ret->requested_capabilities.ptr[i] = (exports_purlin_driver_lifecycle_requested_capability_t){
        out(text_of(requested->capability)), out(text_of(requested->pattern)),
        out(text_of(requested->reason))};
  }
}

bool exports_purlin_driver_lifecycle_check(exports_purlin_driver_lifecycle_check_request_t *from,
                                           exports_purlin_driver_lifecycle_checked_t *ret,
                                           exports_purlin_driver_lifecycle_failure_t *err) {
  purlin_request request = {.resource = in_resource(&from->resource), .inputs = in_inputs(&from->inputs)};
  purlin_inputs previous = {0};
  if (from->previous.is_some) {
    previous.document = in_json(from->previous.val);
    request.previous = &previous;
  }
  purlin_checked checked = {.values = purlin_get(&request.inputs, "/values"),
                            .secrets = purlin_get(&request.inputs, "/secrets")};
  purlin_failure failure = {.kind = PURLIN_FAILED};
  if (!(the_driver.check ? the_driver.check(&request, &checked, &failure) : missing(&failure))) {
    return out_failure_without_effects(&failure, err);
  }
  ret->values = out_object(checked.values);
  ret->secrets = out_object(checked.secrets);
  out_faults(checked.warnings, (purlin_driver_types_list_invalid_input_t *)&ret->warnings);
  return true;
}

bool exports_purlin_driver_lifecycle_name(exports_purlin_driver_lifecycle_name_request_t *from, driver_string_t *ret,
                                          exports_purlin_driver_lifecycle_failure_t *err) {
  purlin_request request = {.resource = in_resource(&from->resource), .inputs = in_inputs(&from->inputs)};
  purlin_failure failure = {.kind = PURLIN_FAILED};
  text name = {0};
  if (!(the_driver.name_of ? the_driver.name_of(&request, &name, &failure) : missing(&failure))) {
    return out_failure_without_effects(&failure, err);
  }
  *ret = out(name);
  return true;
}

bool exports_purlin_driver_lifecycle_create(exports_purlin_driver_lifecycle_create_request_t *from,
                                            exports_purlin_driver_lifecycle_state_t *ret,
                                            exports_purlin_driver_lifecycle_failure_t *err) {
  purlin_request request = {.resource = in_resource(&from->resource), .inputs = in_inputs(&from->inputs)};
  request.name = in(from->name);
  text replaces = from->replaces.is_some ? in(from->replaces.val) : (text){0};
  if (from->replaces.is_some) request.replaces = &replaces;
  add_call(&request, &from->call);
  purlin_failure failure = {.kind = PURLIN_FAILED};
  purlin_state state = {0};
  if (!the_driver.create(&request, &state, &failure)) return out_failure(&failure, err);
  out_state(&state, ret);
  return true;
}

bool exports_purlin_driver_lifecycle_read(exports_purlin_driver_lifecycle_read_request_t *from,
                                          exports_purlin_driver_lifecycle_option_observed_t *ret,
                                          exports_purlin_driver_lifecycle_failure_t *err) {
  purlin_request request = {.resource = in_resource(&from->resource), .inputs = in_inputs(&from->inputs)};
  request.name = in(from->name);
  text id = from->id.is_some ? in(from->id.val) : (text){0};
  if (from->id.is_some) request.id = &id;
  if (from->state.is_some) request.state = in_state(&from->state.val);
  request.known = in_texts(from->known.ptr, from->known.len);
  add_call(&request, &from->call);
  purlin_failure failure = {.kind = PURLIN_FAILED};
  purlin_observed observed = {0};
  if (!(the_driver.read ? the_driver.read(&request, &observed, &failure) : missing(&failure))) {
    return out_failure_without_effects(&failure, err);
  }
  *ret = (exports_purlin_driver_lifecycle_option_observed_t){.is_some = observed.state.id.length > 0};
  if (ret->is_some) {
    out_state(&observed.state, &ret->val.state);
    ret->val.values.is_some = observed.values != NULL;
    if (observed.values != NULL) ret->val.values.val = out_object(observed.values);
  }
  return true;
}

static purlin_request in_change(const exports_purlin_driver_lifecycle_change_t *from, purlin_inputs *before) {
  purlin_request request = {.resource = in_resource(&from->resource), .inputs = in_inputs(&from->after)};
  *before = in_inputs(&from->before);
  request.previous = before;
  request.name = in(from->name);
  request.state = in_state(&from->state);
  add_call(&request, &from->call);
  return request;
}

bool exports_purlin_driver_lifecycle_update_impact(exports_purlin_driver_lifecycle_change_t *from,
                                                   exports_purlin_driver_lifecycle_impact_t *ret,
                                                   exports_purlin_driver_lifecycle_failure_t *err) {
  purlin_inputs before;
  purlin_request request = in_change(from, &before);
  purlin_failure failure = {.kind = PURLIN_FAILED};
  purlin_impact impact = {0};
  if (!(the_driver.update_impact ? the_driver.update_impact(&request, &impact, &failure) : missing(&failure))) {
    return out_failure_without_effects(&failure, err);
  }
  out_texts(impact.replaces, (driver_string_t **)&ret->replaces.ptr, &ret->replaces.len);
  ret->delete_before_replace = impact.delete_before_replace;
  out_texts(impact.stable_outputs, &ret->stable_outputs.ptr, &ret->stable_outputs.len);
  return true;
}

bool exports_purlin_driver_lifecycle_update(exports_purlin_driver_lifecycle_change_t *from,
                                            exports_purlin_driver_lifecycle_state_t *ret,
                                            exports_purlin_driver_lifecycle_failure_t *err) {
  purlin_inputs before;
  purlin_request request = in_change(from, &before);
  purlin_failure failure = {.kind = PURLIN_FAILED};
  purlin_state state = {0};
  if (!(the_driver.update ? the_driver.update(&request, &state, &failure) : missing(&failure))) {
    return out_failure(&failure, err);
  }
  out_state(&state, ret);
  return true;
}

bool exports_purlin_driver_lifecycle_delete(exports_purlin_driver_lifecycle_delete_request_t *from,
                                            exports_purlin_driver_lifecycle_failure_t *err) {
  purlin_request request = {.resource = in_resource(&from->resource), .inputs = in_inputs(&from->inputs)};
  request.state = in_state(&from->state);
  add_call(&request, &from->call);
  purlin_failure failure = {.kind = PURLIN_FAILED};
  return the_driver.delete(&request, &failure) || out_failure(&failure, err);
}

// The host's own functions. They only read their arguments.

static driver_string_t lent(text message) {
  text clean = text_lossy(message);
  return (driver_string_t){(uint8_t *)clean.at, clean.length};
}

void purlin_log(purlin_level level, text message) {
  driver_string_t line = lent(message);
  purlin_driver_log_write((purlin_driver_log_level_t)level, &line);
}

void purlin_count(const char *name, uint64_t by) {
  driver_string_t named = lent(text_of(name));
  purlin_driver_metrics_count(&named, by);
}

void purlin_record(const char *name, double value) {
  driver_string_t named = lent(text_of(name));
  purlin_driver_metrics_record_value(&named, value);
}

void purlin_checkpoint(text id) {
  driver_string_t safe = lent(id);
  purlin_driver_operation_checkpoint(&safe);
}

void purlin_progress(text message, int percent) {
  driver_string_t line = lent(message);
  uint8_t far = percent > 100 ? 100 : (uint8_t)percent;
  purlin_driver_operation_progress(&line, percent < 0 ? NULL : &far);
}

bool purlin_cancelled(void) { return purlin_driver_operation_cancelled(); }

#endif
