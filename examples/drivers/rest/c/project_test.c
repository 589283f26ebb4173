// The driver, tested natively: against an API that responds from memory. purlin/native.c
// acts as the host.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "project.h"

static int faults;

#define EXPECT(claim) \
  do { \
    if (!(claim)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim); \
      faults++; \
    } \
  } while (0)

// The response to a request; a status of 0 is a lost response.
typedef struct answer {
  int status;
  const char *body;
} answer;

static const answer *answers;
static size_t request_count;
static http_request requests[8];

// Replaces the network.
bool http_fetch(const http_request *request, http_response *response, purlin_failure *failure) {
  static const http_field patience[] = {{{"retry-after", 11}, {"0", 1}}};
  http_field *fields = memory_take(request->field_count, sizeof *fields);
  memcpy(fields, request->fields, request->field_count * sizeof *fields);
  requests[request_count] = *request;
  requests[request_count].fields = fields;
  const answer *given = &answers[request_count++];
  if (given->status == 0) return http_fail(request, response, failure, HTTP_LOST, text_of("the connection ended"));
  *response = (http_response){.status = given->status, .fields = (http_field *)patience, .field_count = 1};
  response->body = text_of(given->body);
  return true;
}

static void begin(const answer *given) {
  answers = given;
  request_count = 0;
}

static purlin_request given(void) {
  const char *inputs = "{\"values\":{\"name\":\"hello\",\"region\":\"eu\",\"size\":2},"
                       "\"connection\":{\"server\":\"https://api.example/v1/\",\"token\":\"secret\"}}";
  purlin_request request = {.inputs = {.document = json_read(text_of(inputs), NULL)}, .name = text_of("hello")};
  request.subject.type = text_of("project");
  request.subject.guresid = text_of("me");
  request.idempotency_key = text_of("key-1");
  return request;
}

static bool has_field(const http_request *request, const char *name, const char *value) {
  http_response fields = {.fields = (http_field *)request->fields, .field_count = request->field_count};
  return text_is(http_field_of(&fields, name), value);
}

static void the_driver_describes_itself(void) {
  purlin_failure failure;
  if (purlin_describe(&failure)) return;
  fprintf(stderr, "%s\n", failure.message.at);
  faults++;
}

#define PROJECT(id, owner, more) \
  "{\"id\":\"" id "\",\"name\":\"hello\",\"region\":\"eu\",\"size\":2,\"owner\":\"" owner "\"" more "}"

static void a_lost_answer_is_asked_for_again_with_the_same_key(void) {
  begin((const answer[]){{0, ""}, {429, "{}"}, {201, PROJECT("p-1", "me", ",\"token\":\"shown-once\"")}});
  purlin_request request = given();
  purlin_state state;
  purlin_failure failure;
  EXPECT(purlin_create(&request, &state, &failure));
  EXPECT(text_is(state.id, "p-1") && text_is(json_as_text(json_at(state.secrets, "/token")), "shown-once"));
  EXPECT(strstr(purlin_messages().at, "checkpoint p-1\n") != NULL && request_count == 3);
  for (size_t i = 0; i < request_count; i++) {
    EXPECT(strcmp(requests[i].method, "POST") == 0 && text_is(requests[i].url, "https://api.example/v1/projects"));
    EXPECT(has_field(&requests[i], "idempotency-key", "key-1"));
    EXPECT(has_field(&requests[i], "authorization", "Bearer secret"));
  }
}

static void an_unknown_outcome_is_undecided(void) {
  purlin_request request = given();
  purlin_state state;
  purlin_failure failure;
  begin((const answer[]){{0, ""}, {0, ""}, {0, ""}, {0, ""}});
  EXPECT(!purlin_create(&request, &state, &failure) && failure.kind == PURLIN_UNDECIDED);
  begin((const answer[]){{201, "{\"ok\":true}"}});
  EXPECT(!purlin_create(&request, &state, &failure) && failure.kind == PURLIN_UNDECIDED);
  begin((const answer[]){{400, "{\"error\":\"no such region\"}"}});
  EXPECT(!purlin_create(&request, &state, &failure) && failure.kind == PURLIN_FAILED);
  EXPECT(strstr(failure.message.at, "no such region") != NULL);
  EXPECT(text_is(json_write(failure.details), "{\"status\":\"400\"}"));
}

static void a_project_is_found_on_any_page(void) {
  begin((const answer[]){
      {200, "{\"items\":[" PROJECT("p-1", "other", "") "," PROJECT("p-2", "me", "") "],\"after\":\"2\"}"},
      {200, "{\"items\":null,\"after\":\"3\"}"},
      {200, "{\"items\":[" PROJECT("p-3", "me", "") "],\"after\":null}"},
  });
  purlin_request request = given();
  purlin_add_text(&request.known, text_of("p-2"));
  purlin_observed observed;
  purlin_failure failure;
  EXPECT(purlin_read(&request, &observed, &failure) && text_is(observed.state.id, "p-3"));
  EXPECT(request_count == 3 && text_is(requests[0].url, "https://api.example/v1/projects?name=hello"));
  EXPECT(text_is(requests[1].url, "https://api.example/v1/projects?name=hello&after=2"));
  EXPECT(text_is(requests[2].url, "https://api.example/v1/projects?name=hello&after=3"));
}

static void gone_is_deleted_and_nothing_to_read(void) {
  begin((const answer[]){{204, ""}, {404, "{}"}, {404, "{}"}, {404, "{}"}, {404, "{}"}});
  purlin_request request = given();
  purlin_state state = {.id = text_of("a/b")};
  purlin_observed observed;
  purlin_failure failure;
  request.state = &state;
  request.id = &state.id;
  EXPECT(purlin_delete(&request, &failure) && purlin_delete(&request, &failure));
  EXPECT(purlin_read(&request, &observed, &failure) && observed.state.id.length == 0);
  EXPECT(text_is(requests[0].url, "https://api.example/v1/projects/a%2Fb"));
}

static void a_project_that_can_still_be_read_is_not_gone(void) {
  begin((const answer[]){{200, "{}"}, {200, PROJECT("p-1", "me", "")}, {202, ""}});
  purlin_request request = given();
  purlin_state state = {.id = text_of("p-1")};
  purlin_failure failure;
  request.state = &state;
  for (int i = 0; i < 2; i++) {
    EXPECT(!purlin_delete(&request, &failure) && failure.kind == PURLIN_PENDING && failure.state.id.length == 0);
  }
  EXPECT(request_count == 3);
}

#define CREATING ",\"status\":\"creating\""
#define TOKEN ",\"token\":\"once\""

// Whether the failure is a pending project. What exists is recorded, with the token that is shown only once.
static bool is_pending(const purlin_failure *failure, const char *secrets) {
  const char *outputs = "{\"id\":\"p-1\",\"name\":\"hello\",\"region\":\"eu\",\"size\":2}";
  return failure->kind == PURLIN_PENDING && failure->after_ms == 0 && text_is(failure->state.id, "p-1") &&
         text_is(json_write(failure->state.outputs), outputs) &&
         text_is(json_write(failure->state.secrets), secrets);
}

static void a_project_that_is_not_ready_is_pending(void) {
  begin((const answer[]){
      {201, PROJECT("p-1", "me", CREATING TOKEN)},
      {202, PROJECT("p-1", "me", TOKEN)},
      {202, PROJECT("p-1", "me", "")},
      {200, PROJECT("p-1", "me", CREATING)},
      {200, "{\"items\":[" PROJECT("p-1", "me", CREATING) "]}"},
      {200, PROJECT("p-1", "me", ",\"status\":\"ready\"")},
  });
  purlin_request request = given();
  purlin_state recorded = {.id = text_of("p-1")}, state;
  purlin_observed observed;
  purlin_failure failure;
  for (int i = 0; i < 2; i++) {
    EXPECT(!purlin_create(&request, &state, &failure) && is_pending(&failure, "{\"token\":\"once\"}"));
  }
  EXPECT(strstr(purlin_messages().at, "checkpoint p-1\n") != NULL);
  request.state = &recorded;
  EXPECT(!purlin_update(&request, &state, &failure) && is_pending(&failure, "{}"));
  request.id = &recorded.id;
  EXPECT(!purlin_read(&request, &observed, &failure) && is_pending(&failure, "{}"));
  request.id = NULL;
  EXPECT(!purlin_read(&request, &observed, &failure) && is_pending(&failure, "{}"));
  request.id = &recorded.id;
  EXPECT(purlin_read(&request, &observed, &failure) && text_is(observed.state.id, "p-1"));
}

static void an_unreadable_resource_is_not_reported_as_gone(void) {
  begin((const answer[]){{200, "{\"uid\":\"p-1\"}"}, {401, "{}"}, {200, "{}"}});
  purlin_request request = given();
  text id = text_of("p-1");
  purlin_observed observed;
  purlin_failure failure;
  request.id = &id;
  EXPECT(!purlin_read(&request, &observed, &failure) && failure.kind == PURLIN_FAILED);
  EXPECT(!purlin_read(&request, &observed, &failure) && failure.kind == PURLIN_FAILED);
  request.id = NULL;
  EXPECT(!purlin_read(&request, &observed, &failure) && failure.kind == PURLIN_FAILED);
}

int main(void) {
  void (*const tests[])(void) = {the_driver_describes_itself,
                                 a_lost_answer_is_asked_for_again_with_the_same_key,
                                 an_unknown_outcome_is_undecided,
                                 a_project_is_found_on_any_page,
                                 gone_is_deleted_and_nothing_to_read,
                                 a_project_that_can_still_be_read_is_not_gone,
                                 a_project_that_is_not_ready_is_pending,
                                 an_unreadable_resource_is_not_reported_as_gone};
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    tests[i]();
    purlin_forget();
  }
  printf("%s\n", faults == 0 ? "all is well" : "not all is well");
  return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
