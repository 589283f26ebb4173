// A client of the API: its requests, and the meaning of the responses.

#include "project.h"

// What `status` is while the API works on a project. Call `purlin_fail` if it says that this went wrong.
static const char *const BUSY[] = {"creating", "updating", "deleting"};

static text path_of(text id) { return text_format("/projects/%s", rest_segment(id).at); }

// The project in a response, or in an item of a list.
static bool read_project(const rest_answer *answer, const json *from, project *found, purlin_failure *failure) {
  *found = (project){
      .id = json_as_text(json_item(from, "id")),
      .name = json_as_text(json_item(from, "name")),
      .region = json_as_text(json_item(from, "region")),
      .owner = json_as_text(json_item(from, "owner")),
      .token = json_as_text(json_item(from, "token")),
      .is_busy = answer->status == 202,
      .after_ms = rest_after_ms(answer),
  };
  text status = json_as_text(json_item(from, "status"));
  for (size_t i = 0; i < sizeof BUSY / sizeof *BUSY; i++) found->is_busy = found->is_busy || text_is(status, BUSY[i]);
  bool sized = json_as_int(json_item(from, "size"), &found->size);
  if (!sized || found->id.length == 0 || found->name.length == 0 || found->region.length == 0) {
    return rest_unreadable(answer, "the project has no `id`, `name`, `region` or `size`", failure);
  }
  return true;
}

// Sends a request whose response is a project.
static bool send_for_project(const purlin_request *request, rest_request sent, project *found,
                             purlin_failure *failure) {
  rest_client client = rest_client_of(request);
  rest_answer answer;
  if (!rest_send(&client, sent, &answer, failure)) return false;
  if (!rest_is_success(&answer)) return rest_fail(&answer, failure);
  return read_project(&answer, answer.body, found, failure);
}

// The key makes it safe to send this twice.
bool api_create(const purlin_request *request, const project_inputs *wanted, project *created,
                purlin_failure *failure) {
  json *body = project_inputs_values(wanted);
  json_set(body, "owner", json_text(request->subject.guresid));
  rest_request post = {.method = "POST", .path = text_of("/projects"), .body = body, .keyed = true};
  return send_for_project(request, post, created, failure);
}

bool api_get(const purlin_request *request, text id, project *found, purlin_failure *failure) {
  rest_client client = rest_client_of(request);
  rest_answer answer;
  *found = (project){0};
  if (!rest_send(&client, (rest_request){.method = "GET", .path = path_of(id)}, &answer, failure)) return false;
  if (answer.status == 404) return true;
  if (!rest_is_success(&answer)) return rest_fail(&answer, failure);
  return read_project(&answer, answer.body, found, failure);
}

// Ids in `known` belong to others.
static bool is_own(const purlin_request *request, const project *found) {
  for (size_t i = 0; i < request->known.length; i++) {
    if (text_same(request->known.items[i], found->id)) return false;
  }
  return text_same(found->name, request->name) && text_same(found->owner, request->subject.guresid);
}

bool api_find(const purlin_request *request, project *found, purlin_failure *failure) {
  rest_client client = rest_client_of(request);
  text first = text_format("/projects?name=%s", rest_segment(request->name).at), path = first, after = {0};
  for (;;) {
    rest_answer answer;
    if (!rest_send(&client, (rest_request){.method = "GET", .path = path}, &answer, failure)) return false;
    if (!rest_is_success(&answer)) return rest_fail(&answer, failure);
    const json *items = json_item(answer.body, "items");
    // A page without any may have null. A list that lacks the field is not one.
    bool is_list = items != NULL && (items->kind == JSON_LIST || items->kind == JSON_NULL);
    if (!is_list) return rest_unreadable(&answer, "the list has no `items`", failure);
    for (size_t i = 0; items->kind == JSON_LIST && i < items->length; i++) {
      if (!read_project(&answer, items->items[i], found, failure)) return false;
      if (is_own(request, found)) return true;
    }
    // APIs end a list without `after`, with null, with an empty text, or with the same `after` again.
    text next = json_as_text(json_item(answer.body, "after"));
    if (next.length == 0 || text_same(next, after)) {
      *found = (project){0};
      return true;
    }
    after = next;
    path = text_format("%s&after=%s", first.at, rest_segment(next).at);
  }
}

bool api_update(const purlin_request *request, text id, const project_inputs *wanted, project *updated,
                purlin_failure *failure) {
  json *body = json_object();
  json_set(body, "size", json_int(wanted->size));
  rest_request patch = {.method = "PATCH", .path = path_of(id), .body = body, .keyed = true};
  return send_for_project(request, patch, updated, failure);
}

bool api_delete(const purlin_request *request, text id, purlin_failure *failure) {
  rest_client client = rest_client_of(request);
  rest_answer answer;
  if (!rest_send(&client, (rest_request){.method = "DELETE", .path = path_of(id)}, &answer, failure)) return false;
  if (!rest_is_success(&answer) && answer.status != 404) return rest_fail(&answer, failure);
  // APIs may answer before a project is gone, so until it cannot be read any more it is pending: Purlin calls
  // again.
  if (answer.status != 202) {
    project found;
    if (!api_get(request, id, &found, failure)) return false;
    if (found.id.length == 0) return true;
  }
  return purlin_pending(failure, (purlin_state){0}, rest_after_ms(&answer), text_of("it still exists"));
}
