// Connects the generated bindings and purlin.h: records of the contract become requests, answers
// become records. Results are copied into separate memory, which the bindings free.

#include "purlin.h"

#ifdef __wasm__

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "form.h"

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

static text in_option(driver_option_string_t string) { return string.is_some ? in(string.val) : text_of(""); }

static json *in_labels(driver_list_tuple2_string_string_t from) {
  json *labels = json_object();
  for (size_t i = 0; i < from.len; i++) json_set(labels, in(from.ptr[i].f0).at, json_text(in(from.ptr[i].f1)));
  return labels;
}

// Values by name, such as notes.
static json *in_facts(purlin_driver_types_list_tuple2_string_json_t from) {
  json *facts = json_object();
  for (size_t i = 0; i < from.len; i++) json_set(facts, in(from.ptr[i].f0).at, in_json(from.ptr[i].f1));
  return facts;
}

static void out_facts(const json *from, purlin_driver_types_list_tuple2_string_json_t *to) {
  to->len = from != NULL && from->kind == JSON_OBJECT ? from->length : 0;
  to->ptr = list(to->len, sizeof *to->ptr);
  for (size_t i = 0; i < to->len; i++) {
    to->ptr[i] = (purlin_driver_types_tuple2_string_json_t){out(from->names[i]), out(json_write(from->items[i]))};
  }
}

static purlin_subject in_subject(const purlin_driver_types_subject_t *from) {
  const purlin_driver_types_context_t *context = &from->context;
  return (purlin_subject){
      .urn = in(from->urn),
      .guresid = in(from->guresid),
      .type = in(from->type_name),
      .class = in(from->class_),
      .local_name = in(from->local_name),
      .context = {in_option(context->org), in(context->app), in(context->env), in(context->env_type),
                  in_option(context->namespace_), in_labels(context->labels)},
  };
}

static purlin_inputs in_inputs(const purlin_driver_types_inputs_t *from) {
  purlin_inputs inputs = {.document = json_object()};
  json_set(inputs.document, "values", in_json(from->values));
  json_set(inputs.document, "secrets", in_json(from->secrets));
  json_set(inputs.document, "params", in_json(from->params));
  json_set(inputs.document, "connection", in_json(from->connection));
  json_set(inputs.document, "account", in_json(from->account));
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
  state->sensitive = in_texts(from->sensitive.ptr, from->sensitive.len);
  state->version = from->version;
  state->notes = in_facts(from->notes);
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
  out_texts(state->sensitive, &to->sensitive.ptr, &to->sensitive.len);
  to->version = state->version;
  out_facts(state->notes, &to->notes);
}

static void out_findings(purlin_findings from, purlin_driver_types_list_finding_t *to) {
  to->len = from.length;
  to->ptr = list(from.length, sizeof *to->ptr);
  for (size_t i = 0; i < from.length; i++) {
    to->ptr[i] = (purlin_driver_types_finding_t){out(from.items[i].pointer), out(from.items[i].message)};
  }
}

// What happened, and what is known about it.
static purlin_driver_types_problem_t out_problem(const purlin_failure *from) {
  const json *details = from->details;
  purlin_driver_types_problem_t problem = {.message = out(from->message)};
  problem.details.len = details != NULL ? details->length : 0;
  problem.details.ptr = list(problem.details.len, sizeof *problem.details.ptr);
  for (size_t i = 0; i < problem.details.len; i++) {
    problem.details.ptr[i] =
        (driver_tuple2_string_string_t){out(details->names[i]), out(json_as_text(details->items[i]))};
  }
  return problem;
}

static bool out_failure(const purlin_failure *from, purlin_driver_types_failure_t *to) {
  *to = (purlin_driver_types_failure_t){.tag = (uint8_t)from->kind};
  switch (from->kind) {
  case PURLIN_INVALID_INPUTS:
    out_findings(from->findings, &to->val.invalid_inputs);
    break;
  case PURLIN_DENIED:
    to->val.denied = (purlin_driver_types_denial_t){out(from->capability), out(from->target), out(from->message)};
    break;
  case PURLIN_NOT_FOUND:
    to->val.not_found = out_problem(from);
    break;
  case PURLIN_CONFLICT:
    to->val.conflict = out_problem(from);
    break;
  case PURLIN_RETRY_AFTER:
    to->val.retry_after = (purlin_driver_types_retry_t){from->after_ms, out(from->message)};
    break;
  case PURLIN_PENDING:
    to->val.pending = (purlin_driver_types_pending_t){.after_ms = from->after_ms, .message = out(from->message)};
    to->val.pending.state.is_some = from->state.id.length > 0;
    if (from->state.id.length > 0) out_state(&from->state, &to->val.pending.state.val);
    break;
  case PURLIN_PARTIAL:
    out_state(&from->state, &to->val.partial.state);
    to->val.partial.problem = out_problem(from);
    break;
  case PURLIN_UNDECIDED:
    to->val.undecided = out_problem(from);
    break;
  case PURLIN_NEEDS_DELETE_BEFORE:
    to->val.needs_delete_before = out_problem(from);
    break;
  default:
    to->tag = PURLIN_FAILED;
    to->val.failed = out_problem(from);
  }
  return false;
}

static purlin_request in_request(const purlin_driver_types_subject_t *subject,
                                 const purlin_driver_types_inputs_t *inputs, const purlin_driver_types_call_t *call) {
  return (purlin_request){
      .subject = in_subject(subject),
      .inputs = in_inputs(inputs),
      .idempotency_key = in(call->idempotency_key),
      .deadline = call->deadline,
      .hints = in_facts(call->hints),
  };
}

// The names of what a type implements.
static void out_implements(const purlin_type *type, driver_list_string_t *to) {
  const struct {
    const char *name;
    bool is_there;
  } all[] = {
      {"check", type->check != NULL},   {"name", type->name_of != NULL},
      {"read", type->read != NULL},     {"update-impact", type->update_impact != NULL},
      {"update", type->update != NULL}, {"repeat-create", type->repeat_create},
  };
  texts names = {0};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i].is_there) purlin_add_text(&names, text_of(all[i].name));
  }
  out_texts(names, &to->ptr, &to->len);
}

void exports_purlin_driver_lifecycle_describe(purlin_driver_types_driver_info_t *ret) {
  const purlin_driver *d = &the_driver;
  purlin_failure failure;
  if (!purlin_describe(&failure)) {
    fprintf(stderr, "%s\n", failure.message.at);
    abort();
  }
  ret->name = out(text_of(d->name));
  ret->version = out(text_of(d->version));
  ret->description = out(text_of(d->description));
  ret->types.len = d->type_count;
  ret->types.ptr = list(d->type_count, sizeof *ret->types.ptr);
  for (size_t i = 0; i < d->type_count; i++) {
    const purlin_type *type = &d->types[i];
    purlin_driver_types_type_schema_t *schema = &ret->types.ptr[i];
    schema->type_name = out(text_of(type->name));
    out_implements(type, &schema->implements);
    texts faults = {0};
    schema->inputs = out(json_write(purlin_input_schema(type, &faults)));
    schema->outputs = out(json_write(purlin_output_schema(type, &faults)));
  }
  ret->requested_capabilities.len = d->requested_capability_count;
  ret->requested_capabilities.ptr =
      list(d->requested_capability_count, sizeof *ret->requested_capabilities.ptr);
  for (size_t i = 0; i < d->requested_capability_count; i++) {
    const purlin_requested_capability *requested = &d->requested_capabilities[i];
    const char *pattern = requested->pattern != NULL ? requested->pattern : "";
    ret->requested_capabilities.ptr[i] = (purlin_driver_types_requested_capability_t){
        out(text_of(requested->capability)), {*pattern != '\0', out(text_of(pattern))},
        out(text_of(requested->reason))};
  }
  out_facts(json_read(text_of(d->notes != NULL ? d->notes : "{}"), NULL), &ret->notes);
}

bool exports_purlin_driver_lifecycle_check(purlin_driver_types_check_request_t *from,
                                           purlin_driver_types_checked_t *ret, purlin_driver_types_failure_t *err) {
  purlin_request request = in_request(&from->subject, &from->inputs, &from->call);
  purlin_inputs previous = {0};
  if (from->previous.is_some) {
    previous = in_inputs(&from->previous.val);
    request.previous = &previous;
  }
  purlin_failure failure;
  purlin_checked checked;
  if (!purlin_check(&request, &checked, &failure)) return out_failure(&failure, err);
  ret->values = out_object(checked.values);
  ret->secrets = out_object(checked.secrets);
  out_findings(checked.warnings, &ret->warnings);
  return true;
}

bool exports_purlin_driver_lifecycle_name(purlin_driver_types_name_request_t *from, driver_string_t *ret,
                                          purlin_driver_types_failure_t *err) {
  purlin_request request = in_request(&from->subject, &from->inputs, &from->call);
  purlin_failure failure;
  text name;
  if (!purlin_name(&request, &name, &failure)) return out_failure(&failure, err);
  *ret = out(name);
  return true;
}

static purlin_request in_creation(const purlin_driver_types_create_request_t *from, text *replaces) {
  purlin_request request = in_request(&from->subject, &from->inputs, &from->call);
  request.name = in(from->name);
  *replaces = in_option(from->replaces);
  if (from->replaces.is_some) request.replaces = replaces;
  return request;
}

bool exports_purlin_driver_lifecycle_create(purlin_driver_types_create_request_t *from,
                                            purlin_driver_types_state_t *ret, purlin_driver_types_failure_t *err) {
  text replaces;
  purlin_request request = in_creation(from, &replaces);
  purlin_failure failure;
  purlin_state state;
  if (!purlin_create(&request, &state, &failure)) return out_failure(&failure, err);
  out_state(&state, ret);
  return true;
}

bool exports_purlin_driver_lifecycle_read(purlin_driver_types_read_request_t *from,
                                          exports_purlin_driver_lifecycle_option_observed_t *ret,
                                          purlin_driver_types_failure_t *err) {
  purlin_request request = in_request(&from->subject, &from->inputs, &from->call);
  request.name = in(from->name);
  text id = in_option(from->id);
  if (from->id.is_some) request.id = &id;
  if (from->state.is_some) request.state = in_state(&from->state.val);
  request.known = in_texts(from->known.ptr, from->known.len);
  purlin_failure failure;
  purlin_observed observed;
  if (!purlin_read(&request, &observed, &failure)) return out_failure(&failure, err);
  *ret = (exports_purlin_driver_lifecycle_option_observed_t){.is_some = observed.state.id.length > 0};
  if (ret->is_some) {
    out_state(&observed.state, &ret->val.state);
    ret->val.values.is_some = observed.values != NULL;
    if (observed.values != NULL) ret->val.values.val = out_object(observed.values);
  }
  return true;
}

static purlin_request in_change(const purlin_driver_types_change_t *from, purlin_inputs *before) {
  purlin_request request = in_request(&from->subject, &from->after, &from->call);
  *before = in_inputs(&from->before);
  request.previous = before;
  request.name = in(from->name);
  request.state = in_state(&from->state);
  return request;
}

bool exports_purlin_driver_lifecycle_update_impact(purlin_driver_types_change_t *from,
                                                   purlin_driver_types_impact_t *ret,
                                                   purlin_driver_types_failure_t *err) {
  purlin_inputs before;
  purlin_request request = in_change(from, &before);
  purlin_failure failure;
  purlin_impact impact;
  if (!purlin_update_impact(&request, &impact, &failure)) return out_failure(&failure, err);
  out_texts(impact.replaces, &ret->replaces.ptr, &ret->replaces.len);
  ret->delete_before_replace = impact.delete_before_replace;
  out_texts(impact.stable_outputs, &ret->stable_outputs.ptr, &ret->stable_outputs.len);
  return true;
}

bool exports_purlin_driver_lifecycle_update(purlin_driver_types_change_t *from, purlin_driver_types_state_t *ret,
                                            purlin_driver_types_failure_t *err) {
  purlin_inputs before;
  purlin_request request = in_change(from, &before);
  purlin_failure failure;
  purlin_state state;
  if (!purlin_update(&request, &state, &failure)) return out_failure(&failure, err);
  out_state(&state, ret);
  return true;
}

static purlin_request in_deletion(const purlin_driver_types_delete_request_t *from) {
  purlin_request request = in_request(&from->subject, &from->inputs, &from->call);
  request.state = in_state(&from->state);
  request.data_loss_allowed = from->data_loss_allowed;
  return request;
}

bool exports_purlin_driver_lifecycle_delete(purlin_driver_types_delete_request_t *from,
                                            purlin_driver_types_failure_t *err) {
  purlin_request request = in_deletion(from);
  purlin_failure failure;
  return purlin_delete(&request, &failure) || out_failure(&failure, err);
}

// Previews. Without PURLIN_PREVIEW in the driver, nothing calls this, and the linker omits it.

static driver_option_string_t out_option(text from) {
  return (driver_option_string_t){from.length > 0, out(from)};
}

// The bindings have a type of their own for the same pairs.
static void out_notes(const json *from, purlin_preview_types_list_tuple2_string_json_t *to) {
  purlin_driver_types_list_tuple2_string_json_t facts;
  out_facts(from, &facts);
  to->len = facts.len;
  to->ptr = list(facts.len, sizeof *to->ptr);
  for (size_t i = 0; i < facts.len; i++) {
    to->ptr[i] = (purlin_preview_types_tuple2_string_json_t){facts.ptr[i].f0, facts.ptr[i].f1};
  }
}

static void out_part(const purlin_part *from, purlin_preview_types_part_t *to) {
  *to = (purlin_preview_types_part_t){
      .address = out(from->address),
      .moved_from = out_option(from->moved_from),
      .type_name = out(from->type_name),
      .action = (purlin_preview_types_action_t)from->action,
      .holds_data = out_option(from->holds_data),
  };
  to->before.is_some = from->before != NULL;
  if (from->before != NULL) to->before.val = out(json_write(from->before));
  to->after.is_some = from->after != NULL;
  if (from->after != NULL) to->after.val = out(json_write(from->after));
  out_texts(from->unknown, &to->unknown.ptr, &to->unknown.len);
  out_texts(from->sensitive, &to->sensitive.ptr, &to->sensitive.len);
  out_texts(from->replaces, &to->replaces.ptr, &to->replaces.len);
  out_notes(from->notes, &to->notes);
}

static void out_forecast(const purlin_forecast *from, purlin_preview_types_forecast_t *to) {
  to->outputs = out_object(from->outputs);
  to->secrets = out_object(from->secrets);
  out_texts(from->unknown, &to->unknown.ptr, &to->unknown.len);
  out_texts(from->sensitive, &to->sensitive.ptr, &to->sensitive.len);
  to->parts.len = from->parts.length;
  to->parts.ptr = list(from->parts.length, sizeof *to->parts.ptr);
  for (size_t i = 0; i < from->parts.length; i++) out_part(&from->parts.items[i], &to->parts.ptr[i]);
  to->token.is_some = from->token.at != NULL;
  to->token.val.len = from->token.length;
  to->token.val.ptr = list(from->token.length, 1);
  if (from->token.length > 0) memcpy(to->token.val.ptr, from->token.at, from->token.length);
  out_notes(from->notes, &to->notes);
}

bool exports_purlin_preview_preview_preview(purlin_preview_types_effect_t *from,
                                            purlin_preview_types_forecast_t *ret,
                                            purlin_driver_types_failure_t *err) {
  purlin_inputs before;
  text replaces;
  purlin_request request;
  switch (from->tag) {
  case PURLIN_PREVIEW_TYPES_EFFECT_CREATE:
    request = in_creation(&from->val.create, &replaces);
    request.effect = PURLIN_CREATE;
    break;
  case PURLIN_PREVIEW_TYPES_EFFECT_UPDATE:
    request = in_change(&from->val.update, &before);
    request.effect = PURLIN_UPDATE;
    break;
  default:
    request = in_deletion(&from->val.delete_);
    request.effect = PURLIN_DELETE;
  }
  purlin_failure failure;
  purlin_forecast forecast;
  if (!purlin_preview(&request, &forecast, &failure)) return out_failure(&failure, err);
  out_forecast(&forecast, ret);
  return true;
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
  purlin_metrics_metrics_count(&named, by);
}

void purlin_measure(const char *name, double value) {
  driver_string_t named = lent(text_of(name));
  purlin_metrics_metrics_measure(&named, value);
}

void purlin_checkpoint_with_cookie(text id, text cookie) {
  driver_string_t safe = lent(id);
  driver_list_u8_t bytes = {(uint8_t *)cookie.at, cookie.length};
  purlin_driver_operation_checkpoint(&safe, cookie.at == NULL ? NULL : &bytes);
}

void purlin_progress(text message, int percent) {
  driver_string_t line = lent(message);
  uint8_t far = percent > 100 ? 100 : (uint8_t)percent;
  purlin_driver_operation_progress(&line, percent < 0 ? NULL : &far);
}

text purlin_consent_token(void) {
  driver_list_u8_t token;
  return purlin_preview_consent_token(&token) ? text_copy(token.ptr, token.len) : (text){0};
}

void purlin_reached(text address, purlin_action action) {
  driver_string_t part = lent(address);
  purlin_preview_consent_reached(&part, (purlin_preview_types_action_t)action);
}

bool purlin_cancelled(void) { return purlin_driver_operation_cancelled(); }

uint64_t purlin_time_left(void) { return purlin_driver_operation_time_left(); }

#endif
