// The SDK without a host: texts, JSON, digests, pointers.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "form.h"
#include "rest.h"
#include "sha256.h"

static int faults;

#define EXPECT(claim) \
  do { \
    if (!(claim)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim); \
      faults++; \
    } \
  } while (0)

static json *read_json(const char *document) { return json_read(text_of(document), NULL); }

// A value that is read and written again stays the same.
static bool stays(const char *document) {
  json *value = read_json(document);
  return value != NULL && text_is(json_write(value), document);
}

static void json_comes_back(void) {
  EXPECT(stays("{\"a\":[1,-0.5e+7,true,false,null,{}],\"\":[[]]}"));
  EXPECT(stays("12345678901234567890123.5"));
  EXPECT(stays("\"\xc3\xa4 \xf0\x9f\xa6\x80 \\\" \\\\ \\u0001 /\""));
  EXPECT(text_is(json_write(read_json(" { \"a\" : [ 1 , 2 ] } ")), "{\"a\":[1,2]}"));
  text escaped = json_as_text(read_json("\"\\u0041\\ud83e\\udd80\\n\\u0000\""));
  EXPECT(escaped.length == 7 && memcmp(escaped.at, "A\xf0\x9f\xa6\x80\n\0", 7) == 0);
  EXPECT(text_is(json_write(json_text(escaped)), "\"A\xf0\x9f\xa6\x80\\u000a\\u0000\""));
  EXPECT(text_is(json_as_text(read_json("\"\\ud83e\\u0041\\udd80\"")), "\xef\xbf\xbd" "A\xef\xbf\xbd"));
}

static void what_is_no_json_is_refused(void) {
  const char *wrong[] = {
      "",       " ",      "{",       "[1,]",    "[1 2]",   "{\"a\"}",  "{a:1}",    "{\"a\":1,}", "01",  "1.",
      "-",      "1e",     "+1",      ".5",      "nul",     "truex",    "\"a",      "\"\\x\"",    "\"\\u12g4\"",
      "\"\\",   "\"\n\"", "[1]]",    "\"a\" 1", "{,}",     "[,1]",     "\"\\u12",  "{\"a\":}",   "--1", "NaN",
      "'a'",    "[",      "[[[[",    "{\"a\":{", "\x01",   "[1,,2]",   "tru",      "1e+",        "// a\n1"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const char *fault = NULL;
    if (json_read(text_of(wrong[i]), &fault) != NULL || fault == NULL) {
      fprintf(stderr, "read: %s\n", wrong[i]);
      faults++;
    }
  }
  // As deep as a document may be, and one deeper.
  char deep[260];
  memset(deep, '[', 129);
  memset(deep + 129, ']', 129);
  EXPECT(json_read((text){deep + 1, 256}, NULL) != NULL);
  EXPECT(json_read((text){deep, 258}, NULL) == NULL);
  memset(deep, '[', sizeof deep);
  EXPECT(json_read((text){deep, sizeof deep}, NULL) == NULL);
}

// Nothing beyond the given bytes is read; the sanitizers check that.
static void broken_json_breaks_nothing(void) {
  const char document[] = "{\"a\":[1,-2.5e3,\"x\\u00e4\\ud83e\\udd80\\n\",true,null],\"\xc3\xa4\":{\"b\":\"\\\\\"}}";
  const size_t length = sizeof document - 1;
  srand(7);
  for (int round = 0; round < 100000; round++) {
    size_t end = round < (int)length ? (size_t)round : length;
    char *bytes = malloc(end + 1);
    memcpy(bytes, document, end);
    for (int change = rand() % 4; end > 0 && change > 0; change--) bytes[(size_t)rand() % end] = (char)rand();
    json *value = json_read((text){bytes, end}, NULL);
    if (value != NULL) {
      text written = json_write(value);
      EXPECT(json_same(value, json_read(written, NULL)));
    }
    free(bytes);
    if (round % 100 == 0) memory_drop();
  }
}

static void pointers_lead_to_places(void) {
  json *value = read_json("{\"a/b\":{\"~\":[10,{\"x\":\"found\"}]},\"n\":-7,\"x\":1,\"x\":2}");
  EXPECT(text_is(json_as_text(json_at(value, "/a~1b/~0/1/x")), "found"));
  EXPECT(json_at(value, "") == value);
  const char *nowhere[] = {"/none", "/a~1b/~0/2", "/a~1b/~0/-1", "/a~1b/~0/", "/n/x", "x", "/a~1b/~0/99999999999999"};
  for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) EXPECT(json_at(value, nowhere[i]) == NULL);
  EXPECT(json_at(NULL, "/a") == NULL && json_is_null(NULL) && json_item(NULL, "a") == NULL);
  int64_t number;
  EXPECT(json_as_int(json_item(value, "n"), &number) && number == -7);
  EXPECT(json_as_int(json_item(value, "x"), &number) && number == 2);
  EXPECT(!json_as_int(read_json("1.5"), &number) && !json_as_int(read_json("99999999999999999999"), &number));
  uint64_t large;
  EXPECT(json_as_uint(read_json("18446744073709551615"), &large) && large == UINT64_MAX);
  EXPECT(text_is(json_write(json_uint(large)), "18446744073709551615") && !json_as_int(json_uint(large), &number));
  EXPECT(json_as_int(read_json("-9223372036854775808"), &number) && number == INT64_MIN);
  EXPECT(!json_as_uint(read_json("-1"), &large) && !json_as_uint(read_json("18446744073709551616"), &large));
  EXPECT(text_is(purlin_pointer("/values", text_of("a/b~c")), "/values/a~1b~0c"));
}

static void objects_are_the_same_in_any_order(void) {
  EXPECT(json_same(read_json("{\"a\":1,\"b\":[null]}"), read_json("{\"b\":[null],\"a\":1}")));
  EXPECT(!json_same(read_json("{\"a\":1,\"b\":2}"), read_json("{\"a\":1,\"c\":2}")));
  EXPECT(!json_same(read_json("[1,2]"), read_json("[2,1]")) && json_same(NULL, read_json("null")));
  json *object = json_object();
  for (int i = 0; i < 100; i++) json_set(object, text_format("%d", i % 50).at, json_int(i));
  EXPECT(object->length == 50 && text_is(json_write(json_item(object, "7")), "57"));
  json *list = json_list();
  for (int i = 0; i < 20; i++) json_add(list, json_int(i));
  EXPECT(list->length == 20 && text_is(json_write(json_at(list, "/19")), "19"));
}

static void what_is_unknown_is_known_to_be(void) {
  purlin_inputs inputs = {.document = json_object()};
  purlin_add_text(&inputs.unknown, text_of("/values/a/b"));
  EXPECT(purlin_is_unknown(&inputs, "/values/a") && purlin_is_unknown(&inputs, "/values/a/b/c"));
  EXPECT(!purlin_is_unknown(&inputs, "/values/ab") && !purlin_is_unknown(&inputs, "/values/a/bc"));
}

static void a_connection_is_one_of_the_inputs(void) {
  purlin_inputs before = {.document = read_json("{\"connection\":{\"server\":\"a\",\"user\":\"u\"}}")};
  purlin_request change = {.previous = &before};
  change.inputs.document = read_json("{\"connection\":{\"server\":\"b\",\"user\":\"u\",\"password\":null}}");
  purlin_add_text(&change.inputs.unknown, text_of("/connection/password"));
  EXPECT(text_is(json_as_text(purlin_get(&change.inputs, "/connection/server")), "b"));
  EXPECT(purlin_is_unknown(&change.inputs, "/connection") && !purlin_is_unknown(&change.inputs, "/connection/user"));
  EXPECT(purlin_changes(&change, "/connection/server") && purlin_changes(&change, "/connection/password"));
  EXPECT(!purlin_changes(&change, "/connection/user"));
}

static void bytes_become_utf_8(void) {
  EXPECT(text_is(text_lossy((text){"a\xff\xc3", 3}), "a\xef\xbf\xbd\xef\xbf\xbd"));
  EXPECT(text_is(text_lossy(text_of("\xed\xa0\x80")), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
  EXPECT(text_is(text_lossy(text_of("\xc3\xa4\xf4\x8f\xbf\xbf")), "\xc3\xa4\xf4\x8f\xbf\xbf"));
  EXPECT(text_is(text_lossy(text_of("\xf4\x90\x80\x80")), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
  text whole = text_of("0123456789");
  EXPECT(text_is(text_part(whole, 8, 20), "89") && text_is(text_part(whole, 20, 30), ""));
  EXPECT(text_is(text_part((text){0}, 0, 5), "") && text_starts(whole, "01") && !text_ends(whole, "123456789x"));
}

static void digests_are_the_standards(void) {
  EXPECT(text_is(sha256_hex(text_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
  EXPECT(text_is(sha256_hex(text_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
  // Lengths around the end of a block, digest upon digest.
  text all = text_of("");
  for (size_t length = 0; length < 200; length++) {
    char *bytes = memory_take(length + 1, 1);
    memset(bytes, 'x', length);
    all = text_format("%s%s", all.at, sha256_hex((text){bytes, length}).at);
  }
  EXPECT(text_is(sha256_hex(all), "f61ffcc417e1f0e59eba2da7fa32fbe05b64e478b68c6bacf990455f00248b98"));
}

static bool leads(const char *url, bool is_https, const char *authority, const char *path) {
  http_url parts;
  return http_parse_url(text_of(url), &parts) && parts.is_https == is_https && text_is(parts.authority, authority) &&
         text_is(parts.path, path);
}

static void urls_are_taken_apart(void) {
  EXPECT(leads("http://a", false, "a", "/"));
  EXPECT(leads("https://a.b:8443/c/d?e=f#g", true, "a.b:8443", "/c/d?e=f"));
  EXPECT(leads("http://[::1]:80?x=/@", false, "[::1]:80", "/?x=/@"));
  EXPECT(leads("http://a#b", false, "a", "/"));
  const char *wrong[] = {"", "/a", "http:/a", "http://", "http:///a", "ftp://a", "http://a b/", "http://u:p@a/", "http://a/\n"};
  http_url parts;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) EXPECT(!http_parse_url(text_of(wrong[i]), &parts));
  http_field fields[] = {{text_of("X-One"), text_of("1")}, {text_of("x-one"), text_of("2")}};
  http_response response = {.fields = fields, .field_count = 2};
  EXPECT(text_is(http_field_of(&response, "x-ONE"), "1") && http_field_of(&response, "x-on").length == 0);
  purlin_failure failure;
  EXPECT(!http_fetch(&(http_request){.url = text_of("http://a")}, &response, &failure) && failure.kind == PURLIN_FAILED);
  EXPECT(response.error == HTTP_UNUSABLE && response.field_count == 0);
}

static purlin_failure failure_of(http_error error, const char *method) {
  http_request request = {.method = method, .url = text_of("https://api.example:8443/v1/a?token=hush#hush")};
  http_response response = {.status = 200};
  purlin_failure failure;
  EXPECT(!http_fail(&request, &response, &failure, error, text_of("why")));
  EXPECT(response.error == error && response.status == 0);
  EXPECT(strstr(failure.message.at, "hush") == NULL && strstr(failure.message.at, "why") != NULL);
  return failure;
}

static void each_error_of_http_is_a_failure(void) {
  const struct {
    http_error error;
    int effects, others; // what it means for methods with effects, and for others
  } kinds[] = {
      {HTTP_DENIED, PURLIN_DENIED, PURLIN_DENIED},
      {HTTP_UNUSABLE, PURLIN_FAILED, PURLIN_FAILED},
      {HTTP_UNREACHABLE, PURLIN_RETRY_AFTER, PURLIN_RETRY_AFTER},
      {HTTP_UNTRUSTED, PURLIN_FAILED, PURLIN_FAILED},
      {HTTP_LOST, PURLIN_UNDECIDED, PURLIN_RETRY_AFTER},
      {HTTP_TOO_LARGE, PURLIN_UNDECIDED, PURLIN_FAILED},
  };
  const char *effects[] = {"POST", "PUT", "PATCH", "DELETE", "PURGE"}, *others[] = {"GET", "HEAD", "OPTIONS", NULL};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    for (size_t m = 0; m < sizeof effects / sizeof *effects; m++) {
      EXPECT((int)failure_of(kinds[i].error, effects[m]).kind == kinds[i].effects);
    }
    for (size_t m = 0; m < sizeof others / sizeof *others; m++) {
      EXPECT((int)failure_of(kinds[i].error, others[m]).kind == kinds[i].others);
    }
  }
  purlin_failure denied = failure_of(HTTP_DENIED, "PUT");
  EXPECT(text_is(denied.capability, "http") && text_is(denied.target, "https://api.example:8443"));
  EXPECT(failure_of(HTTP_UNREACHABLE, "PUT").after_ms == 1000 && failure_of(HTTP_LOST, "GET").after_ms == 1000);
  EXPECT(text_is(failure_of(HTTP_LOST, "PUT").message,
                 "PUT https://api.example:8443/v1/a: why; it is unknown whether it was carried out"));
  // The driver can choose another message and another failure.
  purlin_failure lost = failure_of(HTTP_LOST, "PUT");
  lost.message = text_format("cannot make it: %s", lost.message.at);
  EXPECT(lost.kind == PURLIN_UNDECIDED && text_starts(lost.message, "cannot make it: PUT https://"));
  EXPECT(!purlin_conflict(&lost, text_of("somebody else made it")) && lost.kind == PURLIN_CONFLICT);
  http_response response;
  EXPECT(!http_fail(&(http_request){0}, &response, &lost, HTTP_UNUSABLE, text_of("no URL")) && lost.kind == PURLIN_FAILED);
}

static void what_wasi_says_has_a_meaning(void) {
  const struct {
    unsigned number;
    http_error error;
  } known[] = {
      {0, HTTP_UNREACHABLE}, {1, HTTP_UNTRUSTED},  {4, HTTP_DENIED},     {6, HTTP_UNREACHABLE},
      {7, HTTP_LOST},        {11, HTTP_UNUSABLE},  {13, HTTP_UNTRUSTED}, {15, HTTP_DENIED},
      {19, HTTP_UNUSABLE},   {28, HTTP_TOO_LARGE}, {33, HTTP_LOST},      {38, HTTP_LOST},
      {39, HTTP_LOST},       {255, HTTP_LOST},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) EXPECT(http_error_of(known[i].number) == known[i].error);
}

static void failures_say_what_they_are(void) {
  purlin_failure failure;
  EXPECT(!purlin_undecided(&failure, text_of("a")) && failure.kind == PURLIN_UNDECIDED && text_is(failure.message, "a"));
  EXPECT(!purlin_needs_delete_before(&failure, text_of("b")) && failure.kind == PURLIN_NEEDS_DELETE_BEFORE &&
         text_is(failure.message, "b"));
  purlin_state state = {.id = text_of("id")};
  EXPECT(!purlin_pending(&failure, state, 250, text_of("c")) && failure.kind == PURLIN_PENDING &&
         text_is(failure.state.id, "id") && failure.after_ms == 250 && text_is(failure.message, "c"));
  EXPECT(!purlin_pending(&failure, (purlin_state){0}, 1, text_of("d")) && failure.state.id.length == 0);
}

static void failures_have_details(void) {
  purlin_failure failure;
  purlin_conflict(&failure, text_of("it exists"));
  EXPECT(failure.details == NULL && !purlin_with_detail(&failure, "code", text_of("Exists")));
  EXPECT(!purlin_with_detail(&failure, "operation", text_of("CreateBucket")) && failure.kind == PURLIN_CONFLICT);
  EXPECT(text_is(json_write(failure.details), "{\"code\":\"Exists\",\"operation\":\"CreateBucket\"}"));
  EXPECT(!purlin_fail(&failure, text_of("another")) && failure.details == NULL);

  const char *ids[] = {"X-Request-Id", "x-amzn-requestid", "x-amz-request-id"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    http_field fields[] = {{text_of("Date"), text_of("today")}, {text_of(ids[i]), text_of("r-1")}};
    http_response response = {.status = 418, .fields = fields, .field_count = 2};
    purlin_fail(&failure, text_of("no coffee"));
    EXPECT(!http_with_details(&response, &failure) && text_is(failure.message, "no coffee"));
    EXPECT(text_is(json_write(failure.details), "{\"status\":\"418\",\"request-id\":\"r-1\"}"));
  }
}

static void each_answer_of_an_api_is_a_failure(void) {
  const struct {
    int status;
    bool has_effects;
    int kind;
  } answers[] = {
      {404, true, PURLIN_NOT_FOUND}, {410, false, PURLIN_NOT_FOUND}, {409, true, PURLIN_CONFLICT},
      {412, true, PURLIN_CONFLICT},  {400, true, PURLIN_FAILED},     {500, true, PURLIN_UNDECIDED},
      {500, false, PURLIN_FAILED},   {501, true, PURLIN_FAILED},     {408, true, PURLIN_UNDECIDED},
  };
  purlin_failure failure;
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    rest_answer answer = {.status = answers[i].status, .has_effects = answers[i].has_effects, .after_ms = -1};
    answer.target = text_of("POST http://a");
    answer.request_id = text_of("r-1");
    EXPECT(!rest_fail(&answer, &failure) && (int)failure.kind == answers[i].kind);
    EXPECT(text_is(json_write(failure.details),
                   text_format("{\"status\":\"%d\",\"request-id\":\"r-1\"}", answer.status).at));
    EXPECT(!rest_unreadable(&answer, "what?", &failure) && text_is(failure.message, "POST http://a: what?"));
    EXPECT((failure.kind == PURLIN_UNDECIDED) == answer.has_effects && failure.details != NULL);
  }
  rest_answer busy = {.status = 429, .after_ms = 7000};
  EXPECT(!rest_fail(&busy, &failure) && failure.kind == PURLIN_RETRY_AFTER && failure.after_ms == 7000);
  busy.after_ms = -1;
  EXPECT(rest_after_ms(&busy) == 1000);
}

// A driver of two types. Each of these functions marks what it did.

static bool check_one(const purlin_request *request, purlin_checked *checked, purlin_failure *failure) {
  (void)request, (void)failure;
  json_set(checked->values, "checked", json_bool(true));
  return true;
}

static bool name_one(const purlin_request *request, text *name, purlin_failure *failure) {
  (void)request, (void)name;
  return purlin_undecided(failure, text_of("it has no effects"));
}

static bool create_one(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  (void)request, (void)failure;
  *state = (purlin_state){.id = text_of("one")};
  return true;
}

static bool create_other(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  (void)failure;
  *state = (purlin_state){.id = text_format("another %s", request->subject.type.at)};
  return true;
}

static bool read_other(const purlin_request *request, purlin_observed *observed, purlin_failure *failure) {
  (void)request, (void)observed;
  return purlin_pending(failure, (purlin_state){0}, 1, text_of("not yet"));
}

static bool impact_one(const purlin_request *change, purlin_impact *impact, purlin_failure *failure) {
  (void)change, (void)failure;
  purlin_add_text(&impact->stable_outputs, text_of("/outputs"));
  return true;
}

// The result may take the place of a part of the request.
static bool update_one(const purlin_request *change, purlin_state *state, purlin_failure *failure) {
  (void)failure;
  *state = (purlin_state){.id = text_format("%s and more", change->state->id.at)};
  return true;
}

static bool delete_any(const purlin_request *request, purlin_failure *failure) {
  return text_is(request->state->id, "one") || purlin_undecided(failure, text_of("who knows"));
}

static bool preview_one(const purlin_request *effect, purlin_forecast *forecast, purlin_failure *failure) {
  if (effect->effect == PURLIN_DELETE) return purlin_undecided(failure, text_of("who knows"));
  forecast->outputs = json_object();
  for (int i = 0; i < 20; i++) {
    purlin_add_part(&forecast->parts, (purlin_part){.address = text_format("part[%d]", i)});
  }
  return true;
}

static const purlin_type types[] = {
    {.name = "one",
     .check = check_one,
     .name_of = name_one,
     .create = create_one,
     .update_impact = impact_one,
     .update = update_one,
     .delete = delete_any,
     .preview = preview_one},
    {.name = "other", .create = create_other, .read = read_other, .delete = delete_any},
};

const purlin_driver the_driver = {.name = "acme/some", .types = types, .type_count = 2};

static purlin_request of_type(const char *type) {
  purlin_request request = {.inputs = {.document = read_json("{\"values\":{},\"secrets\":{}}")}};
  request.subject.type = text_of(type);
  return request;
}

static void each_type_has_its_own_functions(void) {
  purlin_request one = of_type("one"), other = of_type("other");
  purlin_failure failure;
  purlin_state state = {0};
  EXPECT(purlin_create(&other, &state, &failure) && text_is(state.id, "another other"));
  EXPECT(purlin_create(&one, &state, &failure) && text_is(state.id, "one"));

  purlin_checked checked;
  EXPECT(purlin_check(&one, &checked, &failure) && text_is(json_write(checked.values), "{\"checked\":true}"));
  EXPECT(text_is(json_write(checked.secrets), "{}") && checked.warnings.length == 0);
  EXPECT(!purlin_check(&other, &checked, &failure) && failure.kind == PURLIN_FAILED &&
         text_is(failure.message, "the type `other` does not implement `check`"));

  purlin_observed observed;
  EXPECT(!purlin_read(&one, &observed, &failure) && failure.kind == PURLIN_FAILED);
  EXPECT(!purlin_read(&other, &observed, &failure) && failure.kind == PURLIN_PENDING);

  one.state = &state;
  purlin_impact impact;
  EXPECT(purlin_update_impact(&one, &impact, &failure) && text_is(impact.stable_outputs.items[0], "/outputs"));
  EXPECT(purlin_delete(&one, &failure));
  EXPECT(purlin_update(&one, &state, &failure) && text_is(state.id, "one and more"));
  EXPECT(!purlin_update(&other, &state, &failure) && failure.kind == PURLIN_FAILED);

  // Only what has effects is undecided.
  text name;
  EXPECT(!purlin_name(&one, &name, &failure) && failure.kind == PURLIN_FAILED &&
         text_is(failure.message, "it has no effects"));
  EXPECT(!purlin_delete(&one, &failure) && failure.kind == PURLIN_UNDECIDED);
}

static void an_unknown_type_is_a_failure(void) {
  purlin_request request = of_type("none");
  purlin_failure failure;
  purlin_state state;
  purlin_observed observed;
  EXPECT(!purlin_create(&request, &state, &failure) && failure.kind == PURLIN_FAILED);
  EXPECT(text_is(failure.message, "the driver `acme/some` does not provision the type `none`"));
  EXPECT(!purlin_read(&request, &observed, &failure) && !purlin_delete(&request, &failure));
  EXPECT(failure.kind == PURLIN_FAILED);

  // A type for all others comes last, wherever it stands.
  const purlin_type all[] = {{.name = "*"}, {.name = "one"}};
  const purlin_driver driver = {.types = all, .type_count = 2};
  EXPECT(purlin_type_of(&driver, text_of("one")) == &all[1] && purlin_type_of(&driver, text_of("on")) == &all[0]);
  EXPECT(purlin_type_of(&driver, text_of("*")) == &all[0] && purlin_type_of(&the_driver, text_of("*")) == NULL);
}

static void a_type_without_a_preview_promises_nothing(void) {
  purlin_request request = of_type("one");
  purlin_failure failure;
  purlin_forecast forecast;
  request.effect = PURLIN_UPDATE;
  EXPECT(purlin_preview(&request, &forecast, &failure) && forecast.outputs != NULL && forecast.parts.length == 20);
  for (size_t i = 0; i < forecast.parts.length; i++) {
    EXPECT(text_same(forecast.parts.items[i].address, text_format("part[%zu]", i)));
  }
  request.effect = PURLIN_DELETE;
  EXPECT(!purlin_preview(&request, &forecast, &failure) && failure.kind == PURLIN_FAILED);
  request = of_type("other");
  EXPECT(purlin_preview(&request, &forecast, &failure));
  EXPECT(forecast.outputs == NULL && forecast.parts.length == 0 && forecast.token.at == NULL);
  request = of_type("none");
  EXPECT(!purlin_preview(&request, &forecast, &failure));
  // Nothing exports the preview of this driver.
  EXPECT(!purlin_describe(&failure));
  EXPECT(text_is(failure.message, "a type has a `.preview`, which nothing exports: write `PURLIN_PREVIEW;`"));
  EXPECT(purlin_consent_token().at == NULL);
  purlin_reached(text_of("a"), PURLIN_PART_FORGET);
  EXPECT(text_is(purlin_messages(), "reached a forget\n"));
}

static void checkpoints_may_have_a_cookie(void) {
  purlin_checkpoint(text_of("id"));
  purlin_checkpoint_with_cookie(text_of("id"), text_of("job 7"));
  EXPECT(text_is(purlin_messages(), "checkpoint id\ncheckpoint id with the cookie `job 7`\n"));
  EXPECT(purlin_time_left() > 0 && !purlin_cancelled());
}

int main(void) {
  void (*const tests[])(void) = {
      json_comes_back,     what_is_no_json_is_refused,     broken_json_breaks_nothing,        pointers_lead_to_places,
      bytes_become_utf_8,  what_is_unknown_is_known_to_be, objects_are_the_same_in_any_order, digests_are_the_standards,
      urls_are_taken_apart, a_connection_is_one_of_the_inputs, each_error_of_http_is_a_failure,
      what_wasi_says_has_a_meaning, failures_say_what_they_are, failures_have_details,
      each_answer_of_an_api_is_a_failure, each_type_has_its_own_functions, an_unknown_type_is_a_failure,
      a_type_without_a_preview_promises_nothing, checkpoints_may_have_a_cookie,
  };
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    tests[i]();
    purlin_forget();
  }
  printf("%s\n", faults == 0 ? "all is well" : "not all is well");
  return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
