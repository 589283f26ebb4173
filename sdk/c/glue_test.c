// The glue, natively: requests of the contract become those of purlin.h, and answers go back. glue.c is compiled
// as for the component; this file takes the place of the bindings.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "form.h"

static int faults;

#define EXPECT(claim) \
  do { \
    if (!(claim)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim); \
      faults++; \
    } \
  } while (0)

// The bindings, and the host behind them.

static growing said;

static void say(text line) { grow(&said, line.at, line.length); }

static text heard(const driver_string_t *string) { return text_copy(string->ptr, string->len); }

void *cabi_realloc(void *ptr, size_t old_size, size_t align, size_t new_size) {
  EXPECT(ptr == NULL && old_size == 0 && align == 8);
  return memory_take(new_size, 1);
}

void driver_string_dup_n(driver_string_t *ret, const char *s, size_t len) {
  ret->ptr = memory_take(len, 1);
  ret->len = len;
  memcpy(ret->ptr, s, len);
}

void purlin_driver_log_write(purlin_driver_log_level_t level, driver_string_t *message) {
  say(text_format("%d %s;", level, heard(message).at));
}

void purlin_driver_operation_checkpoint(driver_string_t *id, driver_list_u8_t *maybe_cookie) {
  say(text_format("checkpoint %s", heard(id).at));
  if (maybe_cookie != NULL) {
    say(text_format(" %zu:%s", maybe_cookie->len, text_copy(maybe_cookie->ptr, maybe_cookie->len).at));
  }
  say(text_of(";"));
}

void purlin_driver_operation_progress(driver_string_t *message, uint8_t *maybe_percent) {
  say(text_format("progress %s %d;", heard(message).at, maybe_percent == NULL ? -1 : *maybe_percent));
}

bool purlin_driver_operation_cancelled(void) { return true; }

uint64_t purlin_driver_operation_time_left(void) { return 42; }

void purlin_metrics_metrics_count(driver_string_t *name, uint64_t by) {
  say(text_format("count %s %d;", heard(name).at, (int)by));
}

void purlin_metrics_metrics_measure(driver_string_t *name, double value) {
  say(text_format("measure %s %g;", heard(name).at, value));
}

bool purlin_preview_consent_token(driver_list_u8_t *ret) {
  *ret = (driver_list_u8_t){(uint8_t *)"\0plan", 5};
  return true;
}

void purlin_preview_consent_reached(driver_string_t *address, purlin_preview_consent_action_t action) {
  say(text_format("reached %s %d;", heard(address).at, action));
}

// A driver of two types.

static bool (*answer)(const purlin_request *, purlin_failure *);

static bool check_bucket(const purlin_request *request, purlin_checked *checked, purlin_failure *failure) {
  (void)failure;
  EXPECT(text_is(json_write(request->previous->document), "{\"values\":{\"a\":1},\"secrets\":{},\"params\":{},"
                                                          "\"connection\":{},\"account\":{}}"));
  purlin_add_finding(&checked->warnings, text_of("/values/a"), text_of("is old"));
  return true;
}

static bool create_bucket(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  (void)failure;
  const purlin_context *context = &request->subject.context;
  EXPECT(text_is(request->subject.local_name, "shared.a") && text_is(request->subject.type, "bucket"));
  EXPECT(text_is(context->org, "") && text_is(context->namespace, "ns") && text_is(context->app, "app"));
  EXPECT(text_is(json_write(context->labels), "{\"owner\":\"ada\"}"));
  EXPECT(text_is(json_write(request->hints), "{\"fast\":true}") && request->deadline == 1234);
  EXPECT(text_is(json_as_text(purlin_get(&request->inputs, "/account/name")), "acme"));
  EXPECT(request->replaces == NULL && text_is(request->name, "name"));
  purlin_checkpoint(text_of("id"));
  purlin_checkpoint_with_cookie(text_of("id"), text_of("c"));
  purlin_checkpoint_with_cookie(text_of("id"), text_of(""));
  purlin_progress(text_of("half"), 50);
  purlin_log(PURLIN_WARN, text_of("careful"));
  purlin_count("tries", 2);
  purlin_measure("wait_ms", 1.5);
  EXPECT(purlin_cancelled() && purlin_time_left() == 42);
  static purlin_manifest_file manifest;
  manifest = (purlin_manifest_file){text_of("m"), text_of("namespace"), json_read(text_of("{\"kind\":\"X\"}"), NULL)};
  *state = (purlin_state){.id = text_of("id"),
                          .outputs = json_read(text_of("{\"a\":{\"b\":18446744073709551615}}"), NULL),
                          .cookie = {"\0\xff", 2},
                          .manifests = &manifest,
                          .manifest_count = 1,
                          .version = 7,
                          .notes = json_read(text_of("{\"console-url\":\"https://a\",\"health\":{\"ok\":true}}"), NULL)};
  purlin_add_text(&state->sensitive, text_of("/outputs/a/b"));
  purlin_add_text(&state->sensitive, text_of("/manifests/m"));
  return true;
}

static bool update_bucket(const purlin_request *change, purlin_state *state, purlin_failure *failure) {
  if (answer != NULL) return answer(change, failure);
  *state = *change->state;
  return true;
}

static bool delete_bucket(const purlin_request *request, purlin_failure *failure) {
  return request->data_loss_allowed || purlin_pending(failure, (purlin_state){0}, 5, text_of("it is still shown"));
}

static bool create_other(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  EXPECT(text_is(*request->replaces, "old"));
  *state = (purlin_state){.id = text_of("id")};
  return purlin_pending(failure, *state, 9, text_of("it is being built"));
}

static bool read_other(const purlin_request *request, purlin_observed *observed, purlin_failure *failure) {
  (void)failure;
  // A recovery, after a checkpoint with a cookie.
  if (request->state == NULL) return true;
  EXPECT(text_is(*request->id, "id") && text_is(request->state->id, "id") && text_is(request->state->cookie, "job"));
  EXPECT(text_is(request->idempotency_key, "key") && text_is(request->known.items[0], "known"));
  observed->state = *request->state;
  return true;
}

static bool preview_bucket(const purlin_request *request, purlin_forecast *forecast, purlin_failure *failure) {
  if (request->effect == PURLIN_DELETE) {
    EXPECT(request->data_loss_allowed && text_is(request->state->id, "id") && text_is(request->name, ""));
    return purlin_conflict(failure, text_of("it is in use"));
  }
  if (request->effect == PURLIN_UPDATE) {
    EXPECT(request->replaces == NULL && text_is(request->state->id, "id") && text_is(request->name, "name"));
    EXPECT(text_is(json_write(purlin_get(request->previous, "/values/a")), "1"));
    EXPECT(!purlin_is_unknown(&request->inputs, "/values/a"));
    forecast->token = text_copy("\0p", 2);
    return true;
  }
  EXPECT(request->state == NULL && request->previous == NULL && text_is(*request->replaces, "old"));
  EXPECT(purlin_is_unknown(&request->inputs, "/values/a") && text_is(request->name, ""));
  json *outputs = json_read(text_of("{\"a\":null,\"b\":1}"), NULL);
  *forecast = (purlin_forecast){.outputs = outputs, .secrets = json_read(text_of("{\"c\":2}"), NULL)};
  purlin_add_text(&forecast->unknown, text_of("/outputs/a"));
  purlin_add_text(&forecast->sensitive, text_of("/outputs/b"));
  forecast->notes = json_read(text_of("{\"took\":3}"), NULL);
  purlin_part part = {.address = text_of("net"), .type_name = text_of("network"), .action = PURLIN_PART_CREATE};
  purlin_add_part(&forecast->parts, part);
  part = (purlin_part){.address = text_of("db.b"),
                       .moved_from = text_of("db.a"),
                       .action = PURLIN_PART_DELETE_THEN_CREATE,
                       .before = json_read(text_of("{\"key\":\"k\"}"), NULL),
                       .after = json_read(text_of("{\"key\":null}"), NULL),
                       .holds_data = text_of("every row"),
                       .notes = json_read(text_of("{\"reason\":\"it moved\"}"), NULL)};
  purlin_add_text(&part.unknown, text_of("/after/key"));
  purlin_add_text(&part.sensitive, text_of("/before/key"));
  purlin_add_text(&part.replaces, text_of("/after/zone"));
  purlin_add_part(&forecast->parts, part);
  return true;
}

#define BUCKET_INPUTS(field, optional) optional(values, uint64_t, a, "A number.")
PURLIN_INPUTS(bucket_inputs, BUCKET_INPUTS);

#define BUCKET_OUTPUTS(field, optional) optional(json_any, a, "", .secret = true)
PURLIN_OUTPUTS(bucket_outputs, BUCKET_OUTPUTS);

static purlin_type types[] = {
    {.name = "bucket",
     .inputs = bucket_inputs_form,
     .outputs = bucket_outputs_form,
     .check = check_bucket,
     .create = create_bucket,
     .update = update_bucket,
     .delete = delete_bucket,
     .preview = preview_bucket},
    {.name = "*",
     .input_schema = "{}",
     .output_schema = "{}",
     .repeat_create = true,
     .create = create_other,
     .read = read_other,
     .delete = delete_bucket},
};
static const purlin_requested_capability requested_capabilities[] = {
    {.capability = "http", .reason = "the API"}, {.capability = "env", .pattern = "A_*", .reason = "names"}};

const purlin_driver the_driver = {
    .name = "acme/bucket",
    .version = "0.1.0",
    .description = "A bucket.",
    .types = types,
    .type_count = 2,
    .requested_capabilities = requested_capabilities,
    .requested_capability_count = 2,
    .notes = "{\"homepage\": \"https://acme.example\"}",
};

PURLIN_PREVIEW;

// Requests.

static driver_string_t lend(const char *string) { return (driver_string_t){(uint8_t *)string, strlen(string)}; }

static bool is(driver_string_t string, const char *expected) {
  return text_is(text_copy(string.ptr, string.len), expected);
}

static purlin_driver_types_subject_t subject(const char *type) {
  static driver_tuple2_string_string_t label;
  label = (driver_tuple2_string_string_t){lend("owner"), lend("ada")};
  return (purlin_driver_types_subject_t){
      .type_name = lend(type),
      .local_name = lend("shared.a"),
      .context = {.app = lend("app"), .namespace_ = {true, lend("ns")}, .labels = {&label, 1}},
  };
}

static purlin_driver_types_inputs_t inputs(const char *values, const char *account) {
  return (purlin_driver_types_inputs_t){
      .values = lend(values),
      .secrets = lend("{}"),
      .params = lend("{}"),
      .connection = lend("{}"),
      .account = lend(account),
  };
}

static purlin_driver_types_call_t call(void) {
  static purlin_driver_types_tuple2_string_json_t hint;
  hint = (purlin_driver_types_tuple2_string_json_t){lend("fast"), lend("true")};
  return (purlin_driver_types_call_t){.idempotency_key = lend("key"), .deadline = 1234, .hints = {&hint, 1}};
}

static purlin_driver_types_state_t record(const char *id) {
  return (purlin_driver_types_state_t){.id = lend(id), .outputs = lend("{}"), .secrets = lend("{}")};
}

static void each_type_is_described(void) {
  purlin_driver_types_driver_info_t info;
  exports_purlin_driver_lifecycle_describe(&info);
  EXPECT(is(info.name, "acme/bucket") && is(info.version, "0.1.0") && is(info.description, "A bucket."));
  EXPECT(info.types.len == 2 && is(info.types.ptr[0].type_name, "bucket") && is(info.types.ptr[1].type_name, "*"));
  EXPECT(is(info.types.ptr[0].inputs,
            "{\"type\":\"object\",\"properties\":{\"values\":{\"type\":\"object\",\"additionalProperties\":false,"
            "\"properties\":{\"a\":{\"type\":[\"integer\",\"null\"],\"minimum\":0,\"description\":\"A number.\"}}}}}"));
  EXPECT(is(info.types.ptr[0].outputs, "{\"type\":\"object\",\"additionalProperties\":false,"
                                       "\"properties\":{\"a\":{\"writeOnly\":true}}}"));
  EXPECT(is(info.types.ptr[1].inputs, "{}") && is(info.types.ptr[1].outputs, "{}"));
  const driver_list_string_t *first = &info.types.ptr[0].implements, *second = &info.types.ptr[1].implements;
  EXPECT(first->len == 2 && is(first->ptr[0], "check") && is(first->ptr[1], "update"));
  EXPECT(second->len == 2 && is(second->ptr[0], "read") && is(second->ptr[1], "repeat-create"));
  const purlin_driver_types_requested_capability_t *requested = info.requested_capabilities.ptr;
  EXPECT(info.requested_capabilities.len == 2 && is(requested[0].capability, "http") && !requested[0].pattern.is_some);
  EXPECT(requested[1].pattern.is_some && is(requested[1].pattern.val, "A_*") && is(requested[1].reason, "names"));
  EXPECT(info.notes.len == 1 && is(info.notes.ptr[0].f0, "homepage") &&
         is(info.notes.ptr[0].f1, "\"https://acme.example\""));
}

static void inputs_are_checked_beside_earlier_ones(void) {
  purlin_driver_types_check_request_t request = {subject("bucket"), inputs("{\"a\":2}", "{}"), {0}, call()};
  request.previous.is_some = true;
  request.previous.val = inputs("{\"a\":1}", "{}");
  purlin_driver_types_checked_t checked;
  purlin_driver_types_failure_t failure;
  EXPECT(exports_purlin_driver_lifecycle_check(&request, &checked, &failure));
  EXPECT(is(checked.values, "{\"a\":2}") && is(checked.secrets, "{}") && checked.warnings.len == 1);
  EXPECT(is(checked.warnings.ptr[0].pointer, "/values/a") && is(checked.warnings.ptr[0].message, "is old"));
  // The driver is not asked about what does not fit its table.
  request.inputs = inputs("{\"a\":18446744073709551616,\"b\":1}", "{}");
  EXPECT(!exports_purlin_driver_lifecycle_check(&request, &checked, &failure));
  const purlin_driver_types_list_finding_t *findings = &failure.val.invalid_inputs;
  EXPECT(failure.tag == PURLIN_DRIVER_TYPES_FAILURE_INVALID_INPUTS && findings->len == 2);
  EXPECT(is(findings->ptr[0].pointer, "/values/a") && is(findings->ptr[0].message, "is too large or too small"));
  EXPECT(is(findings->ptr[1].pointer, "/values/b") && is(findings->ptr[1].message, "is unknown; the names are a"));
}

static purlin_driver_types_state_t created(void) {
  purlin_driver_types_create_request_t request = {
      subject("bucket"), inputs("{}", "{\"name\":\"acme\"}"), lend("name"), {0}, call()};
  purlin_driver_types_state_t state = {0};
  purlin_driver_types_failure_t failure;
  EXPECT(exports_purlin_driver_lifecycle_create(&request, &state, &failure));
  return state;
}

static void a_state_comes_back_as_it_was(void) {
  said = (growing){0};
  purlin_driver_types_change_t request = {
      subject("bucket"), created(), inputs("{}", "{}"), inputs("{}", "{}"), lend("name"), call()};
  EXPECT(text_is(grown(&said), "checkpoint id;checkpoint id 1:c;checkpoint id 0:;progress half 50;3 careful;"
                               "count tries 2;measure wait_ms 1.5;"));
  purlin_driver_types_state_t state;
  purlin_driver_types_failure_t failure;
  EXPECT(exports_purlin_driver_lifecycle_update(&request, &state, &failure));
  EXPECT(is(state.id, "id") && is(state.outputs, "{\"a\":{\"b\":18446744073709551615}}") && is(state.secrets, "{}"));
  EXPECT(state.cookie.len == 2 && memcmp(state.cookie.ptr, "\0\xff", 2) == 0 && state.version == 7);
  EXPECT(state.sensitive.len == 2 && is(state.sensitive.ptr[0], "/outputs/a/b") &&
         is(state.sensitive.ptr[1], "/manifests/m"));
  EXPECT(state.notes.len == 2 && is(state.notes.ptr[0].f0, "console-url") && is(state.notes.ptr[0].f1, "\"https://a\""));
  EXPECT(is(state.notes.ptr[1].f0, "health") && is(state.notes.ptr[1].f1, "{\"ok\":true}"));
  EXPECT(state.manifests.len == 1 && is(state.manifests.ptr[0].name, "m") &&
         is(state.manifests.ptr[0].location, "namespace") && is(state.manifests.ptr[0].data, "{\"kind\":\"X\"}"));
}

static bool is_partial(const purlin_request *change, purlin_failure *failure) {
  purlin_partial(failure, *change->state, text_of("half of it"));
  return purlin_with_detail(failure, "code", text_of("E7"));
}

static bool is_undecided(const purlin_request *change, purlin_failure *failure) {
  (void)change;
  purlin_undecided(failure, text_of("who knows"));
  purlin_with_detail(failure, "status", text_of("502"));
  return purlin_with_detail(failure, "request-id", text_of("r-1"));
}

static bool is_nothing(const purlin_request *change, purlin_failure *failure) {
  (void)change, (void)failure;
  return false;
}

static void failures_arrive_with_their_details(void) {
  purlin_driver_types_change_t request = {
      subject("bucket"), record("id"), inputs("{}", "{}"), inputs("{}", "{}"), lend("name"), call()};
  purlin_driver_types_state_t state;
  purlin_driver_types_failure_t failure;
  answer = is_partial;
  EXPECT(!exports_purlin_driver_lifecycle_update(&request, &state, &failure));
  EXPECT(failure.tag == PURLIN_DRIVER_TYPES_FAILURE_PARTIAL && is(failure.val.partial.state.id, "id"));
  const purlin_driver_types_problem_t *problem = &failure.val.partial.problem;
  EXPECT(is(problem->message, "half of it") && problem->details.len == 1);
  EXPECT(is(problem->details.ptr[0].f0, "code") && is(problem->details.ptr[0].f1, "E7"));
  answer = is_undecided;
  EXPECT(!exports_purlin_driver_lifecycle_update(&request, &state, &failure));
  problem = &failure.val.undecided;
  EXPECT(failure.tag == PURLIN_DRIVER_TYPES_FAILURE_UNDECIDED && problem->details.len == 2);
  EXPECT(is(problem->details.ptr[1].f0, "request-id") && is(problem->details.ptr[1].f1, "r-1"));
  answer = is_nothing;
  EXPECT(!exports_purlin_driver_lifecycle_update(&request, &state, &failure));
  EXPECT(failure.tag == PURLIN_DRIVER_TYPES_FAILURE_FAILED && failure.val.failed.details.len == 0);
  answer = NULL;
}

static void what_is_not_ready_is_pending(void) {
  purlin_driver_types_create_request_t create = {
      subject("other"), inputs("{}", "{}"), lend("name"), {true, lend("old")}, call()};
  purlin_driver_types_state_t state;
  purlin_driver_types_failure_t failure;
  EXPECT(!exports_purlin_driver_lifecycle_create(&create, &state, &failure));
  const purlin_driver_types_pending_t *pending = &failure.val.pending;
  EXPECT(failure.tag == PURLIN_DRIVER_TYPES_FAILURE_PENDING && pending->after_ms == 9);
  EXPECT(pending->state.is_some && is(pending->state.val.id, "id") && is(pending->message, "it is being built"));

  purlin_driver_types_delete_request_t delete = {subject("bucket"), record("id"), inputs("{}", "{}"), false, call()};
  EXPECT(!exports_purlin_driver_lifecycle_delete(&delete, &failure));
  EXPECT(failure.tag == PURLIN_DRIVER_TYPES_FAILURE_PENDING && !pending->state.is_some && pending->after_ms == 5);
  delete.data_loss_allowed = true;
  EXPECT(exports_purlin_driver_lifecycle_delete(&delete, &failure));
}

static void a_recovery_has_the_cookie_of_a_checkpoint(void) {
  driver_string_t known = lend("known");
  purlin_driver_types_read_request_t request = {
      subject("other"), {true, lend("id")}, lend("name"), inputs("{}", "{}"), {true, record("id")}, {&known, 1}, call()};
  request.state.val.cookie = (driver_list_u8_t){(uint8_t *)"job", 3};
  exports_purlin_driver_lifecycle_option_observed_t observed;
  purlin_driver_types_failure_t failure;
  EXPECT(exports_purlin_driver_lifecycle_read(&request, &observed, &failure));
  EXPECT(observed.is_some && is(observed.val.state.id, "id") && !observed.val.values.is_some);
  request.state.is_some = false;
  EXPECT(exports_purlin_driver_lifecycle_read(&request, &observed, &failure) && !observed.is_some);
}

static void what_is_missing_is_a_failure(void) {
  purlin_driver_types_name_request_t request = {subject("bucket"), inputs("{}", "{}"), call()};
  driver_string_t name;
  purlin_driver_types_failure_t failure;
  EXPECT(!exports_purlin_driver_lifecycle_name(&request, &name, &failure));
  EXPECT(failure.tag == PURLIN_DRIVER_TYPES_FAILURE_FAILED &&
         is(failure.val.failed.message, "the type `bucket` does not implement `name`"));
}

static void a_forecast_arrives_with_its_parts(void) {
  driver_string_t unknown = lend("/values/a");
  purlin_preview_types_effect_t effect = {.tag = PURLIN_PREVIEW_TYPES_EFFECT_CREATE};
  effect.val.create = (purlin_driver_types_create_request_t){
      subject("bucket"), inputs("{\"a\":null}", "{}"), lend(""), {true, lend("old")}, call()};
  effect.val.create.inputs.unknown = (purlin_driver_types_list_pointer_t){&unknown, 1};
  purlin_preview_types_forecast_t forecast;
  purlin_driver_types_failure_t failure;
  EXPECT(exports_purlin_preview_preview_preview(&effect, &forecast, &failure));
  EXPECT(is(forecast.outputs, "{\"a\":null,\"b\":1}") && is(forecast.secrets, "{\"c\":2}"));
  EXPECT(forecast.unknown.len == 1 && is(forecast.unknown.ptr[0], "/outputs/a"));
  EXPECT(forecast.sensitive.len == 1 && is(forecast.sensitive.ptr[0], "/outputs/b"));
  EXPECT(!forecast.token.is_some && forecast.notes.len == 1 && is(forecast.notes.ptr[0].f0, "took"));
  EXPECT(forecast.parts.len == 2);
  const purlin_preview_types_part_t *net = &forecast.parts.ptr[0], *db = &forecast.parts.ptr[1];
  EXPECT(is(net->address, "net") && is(net->type_name, "network") && net->action == PURLIN_PREVIEW_TYPES_ACTION_CREATE);
  EXPECT(!net->moved_from.is_some && !net->before.is_some && !net->after.is_some && !net->holds_data.is_some);
  EXPECT(net->unknown.len + net->sensitive.len + net->replaces.len + net->notes.len == 0);
  EXPECT(is(db->address, "db.b") && db->moved_from.is_some && is(db->moved_from.val, "db.a"));
  EXPECT(db->action == PURLIN_PREVIEW_TYPES_ACTION_DELETE_THEN_CREATE);
  EXPECT(db->before.is_some && is(db->before.val, "{\"key\":\"k\"}"));
  EXPECT(db->after.is_some && is(db->after.val, "{\"key\":null}"));
  EXPECT(db->unknown.len == 1 && is(db->unknown.ptr[0], "/after/key"));
  EXPECT(db->sensitive.len == 1 && is(db->sensitive.ptr[0], "/before/key"));
  EXPECT(db->replaces.len == 1 && is(db->replaces.ptr[0], "/after/zone"));
  EXPECT(db->holds_data.is_some && is(db->holds_data.val, "every row"));
  EXPECT(db->notes.len == 1 && is(db->notes.ptr[0].f0, "reason") && is(db->notes.ptr[0].f1, "\"it moved\""));

  effect = (purlin_preview_types_effect_t){.tag = PURLIN_PREVIEW_TYPES_EFFECT_UPDATE};
  effect.val.update = (purlin_driver_types_change_t){
      subject("bucket"), record("id"), inputs("{\"a\":1}", "{}"), inputs("{\"a\":2}", "{}"), lend("name"), call()};
  EXPECT(exports_purlin_preview_preview_preview(&effect, &forecast, &failure));
  EXPECT(is(forecast.outputs, "{}") && is(forecast.secrets, "{}") && forecast.parts.len == 0);
  EXPECT(forecast.token.is_some && forecast.token.val.len == 2 && memcmp(forecast.token.val.ptr, "\0p", 2) == 0);

  effect = (purlin_preview_types_effect_t){.tag = PURLIN_PREVIEW_TYPES_EFFECT_DELETE};
  effect.val.delete_ =
      (purlin_driver_types_delete_request_t){subject("bucket"), record("id"), inputs("{}", "{}"), true, call()};
  EXPECT(!exports_purlin_preview_preview_preview(&effect, &forecast, &failure));
  EXPECT(failure.tag == PURLIN_DRIVER_TYPES_FAILURE_CONFLICT && is(failure.val.conflict.message, "it is in use"));
}

static void actions_are_numbered_as_in_the_contract(void) {
  const struct {
    purlin_action is;
    int wanted;
  } all[] = {
      {PURLIN_PART_NONE, PURLIN_PREVIEW_TYPES_ACTION_NONE},
      {PURLIN_PART_CREATE, PURLIN_PREVIEW_TYPES_ACTION_CREATE},
      {PURLIN_PART_READ, PURLIN_PREVIEW_TYPES_ACTION_READ},
      {PURLIN_PART_UPDATE, PURLIN_PREVIEW_TYPES_ACTION_UPDATE},
      {PURLIN_PART_CREATE_THEN_DELETE, PURLIN_PREVIEW_TYPES_ACTION_CREATE_THEN_DELETE},
      {PURLIN_PART_DELETE_THEN_CREATE, PURLIN_PREVIEW_TYPES_ACTION_DELETE_THEN_CREATE},
      {PURLIN_PART_DELETE, PURLIN_PREVIEW_TYPES_ACTION_DELETE},
      {PURLIN_PART_ADOPT, PURLIN_PREVIEW_TYPES_ACTION_ADOPT},
      {PURLIN_PART_FORGET, PURLIN_PREVIEW_TYPES_ACTION_FORGET},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) EXPECT((int)all[i].is == all[i].wanted);
}

static void an_effect_learns_what_people_agreed_to(void) {
  said = (growing){0};
  text token = purlin_consent_token();
  EXPECT(token.length == 5 && memcmp(token.at, "\0plan", 5) == 0);
  purlin_reached(text_of("db.b"), PURLIN_PART_ADOPT);
  EXPECT(text_is(grown(&said), "reached db.b 7;"));
}

static void a_preview_is_exported_if_a_type_has_one(void) {
  purlin_failure failure;
  EXPECT(purlin_describe(&failure));
  types[0].preview = NULL;
  EXPECT(!purlin_describe(&failure));
  EXPECT(text_is(failure.message, "no type has a `.preview`: remove `PURLIN_PREVIEW;`"));
  types[0].preview = preview_bucket;
}

int main(void) {
  void (*const tests[])(void) = {
      each_type_is_described,
      inputs_are_checked_beside_earlier_ones,
      a_state_comes_back_as_it_was,
      failures_arrive_with_their_details,
      what_is_not_ready_is_pending,
      a_recovery_has_the_cookie_of_a_checkpoint,
      what_is_missing_is_a_failure,
      a_forecast_arrives_with_its_parts,
      actions_are_numbered_as_in_the_contract,
      an_effect_learns_what_people_agreed_to,
      a_preview_is_exported_if_a_type_has_one,
  };
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    tests[i]();
    said = (growing){0};
    memory_drop();
  }
  printf("%s\n", faults == 0 ? "all is well" : "not all is well");
  return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
