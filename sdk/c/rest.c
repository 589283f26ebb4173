#define _POSIX_C_SOURCE 200809L
#include "rest.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

// Milliseconds of the longest wait between two attempts.
enum { LONGEST_WAIT = 10000 };
// Milliseconds to wait if the server does not say how long.
enum { AGAIN = 1000 };

rest_client rest_client_of(const purlin_request *request) {
  return (rest_client){
      .server = json_as_text(purlin_get(&request->inputs, "/connection/server")),
      .bearer = json_as_text(purlin_get(&request->inputs, "/connection/token")),
      .idempotency_key = request->idempotency_key,
  };
}

static bool is_one_of(const char *method, const char *const methods[], size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(method, methods[i]) == 0) return true;
  }
  return false;
}

static bool may_repeat(const rest_request *request) {
  static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
  return request->keyed || is_one_of(request->method, methods, sizeof methods / sizeof *methods);
}

static bool has_effects(const rest_request *request) {
  static const char *const methods[] = {"GET", "HEAD", "OPTIONS"};
  return !is_one_of(request->method, methods, sizeof methods / sizeof *methods);
}

// Waits, if the call has the time for it and the operator has not cancelled it.
static bool pause_for(int64_t milliseconds) {
  struct timespec wait = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
  if (milliseconds > LONGEST_WAIT || (uint64_t)milliseconds >= purlin_time_left() || purlin_cancelled()) return false;
  return milliseconds == 0 || nanosleep(&wait, NULL) == 0;
}

// Seconds only: a date would be one more source of errors.
static int64_t after_of(const http_response *response) {
  text value = http_field_of(response, "retry-after");
  char *end = NULL;
  if (value.length == 0 || value.length > 9) return -1;
  long seconds = strtol(value.at, &end, 10);
  return *end == '\0' && seconds >= 0 ? (int64_t)seconds * 1000 : -1;
}

static bool asks_again(const rest_answer *answer) {
  switch (answer->status) {
  case 429:
    return true;
  case 503:
    return answer->may_repeat || answer->after_ms >= 0;
  case 408:
  case 425:
  case 502:
  case 504:
    return answer->may_repeat;
  default:
    return false;
  }
}

bool rest_send(const rest_client *client, rest_request request, rest_answer *answer, purlin_failure *failure) {
  text server = client->server;
  while (text_ends(server, "/")) server = text_part(server, 0, server.length - 1);
  text url = text_format("%s%s", server.at, request.path.at);
  http_field fields[4] = {{text_of("Accept"), text_of("application/json")}};
  size_t count = 1;
  if (client->bearer.length > 0) {
    fields[count++] = (http_field){text_of("Authorization"), text_format("Bearer %s", client->bearer.at)};
  }
  if (request.body != NULL) {
    fields[count++] = (http_field){text_of("Content-Type"), text_of("application/json")};
  }
  if (request.keyed) fields[count++] = (http_field){text_of("Idempotency-Key"), client->idempotency_key};
  http_request sent = {.method = request.method, .url = url, .fields = fields, .field_count = count};
  if (request.body != NULL) sent.body = json_write(request.body);
  int attempts = client->attempts > 0 ? client->attempts : 4;
  for (int attempt = 1;; attempt++) {
    bool again = attempt < attempts;
    // Later attempts wait 200 ms, 400 ms and so on, if the server does not say how long.
    int64_t wait = (int64_t)100 << attempt;
    http_response response;
    if (!http_fetch(&sent, &response, failure)) {
      bool repeated = response.error == HTTP_UNREACHABLE || (response.error == HTTP_LOST && may_repeat(&request));
      if (again && repeated && pause_for(wait)) continue;
      return false;
    }
    text place = text_part(url, 0, strcspn(url.at, "?#"));
    *answer = (rest_answer){
        .status = response.status,
        .body = json_read(response.body, NULL),
        .after_ms = after_of(&response),
        .request_id = http_request_id(&response),
        .target = text_format("%s %s", request.method, place.at),
        .has_effects = has_effects(&request),
        .may_repeat = may_repeat(&request),
    };
    if (answer->after_ms >= 0) wait = answer->after_ms;
    if (!again || !asks_again(answer) || !pause_for(wait)) return true;
  }
}

bool rest_is_success(const rest_answer *answer) { return answer->status >= 200 && answer->status < 300; }

uint64_t rest_after_ms(const rest_answer *answer) { return answer->after_ms < 0 ? AGAIN : (uint64_t)answer->after_ms; }

bool rest_with_details(const rest_answer *answer, purlin_failure *failure) {
  purlin_with_detail(failure, "status", text_format("%d", answer->status));
  if (answer->request_id.length > 0) purlin_with_detail(failure, "request-id", answer->request_id);
  return false;
}

// The server's message.
static text server_message(const rest_answer *answer) {
  static const char *const places[] = {
      "/message", "/error/message", "/error_description", "/error", "/detail", "/title", "/reason"};
  enum { LONGEST = 300 };
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    text words = json_as_text(json_at(answer->body, places[i]));
    if (words.length > 0) return text_format(": %s", text_lossy(text_part(words, 0, LONGEST)).at);
  }
  return text_of("");
}

bool rest_fail(const rest_answer *answer, purlin_failure *failure) {
  int status = answer->status;
  text message = text_format("%s: status %d%s", answer->target.at, status, server_message(answer).at);
  // A 501 or 505 was understood and rejected.
  bool certain = status == 501 || status == 505 || (status == 503 && answer->after_ms >= 0);
  bool gave_up = status == 408 || status == 499 || (status >= 500 && !certain);
  if (answer->has_effects && gave_up) {
    purlin_undecided(failure, message);
  } else if (asks_again(answer)) {
    return purlin_retry_after(failure, rest_after_ms(answer), message);
  } else if (status == 404 || status == 410) {
    purlin_not_found(failure, message);
  } else if (status == 409 || status == 412) {
    purlin_conflict(failure, message);
  } else {
    purlin_fail(failure, message);
  }
  return rest_with_details(answer, failure);
}

bool rest_unreadable(const rest_answer *answer, const char *message, purlin_failure *failure) {
  text why = text_format("%s: %s", answer->target.at, message);
  if (answer->has_effects) {
    purlin_undecided(failure, why);
  } else {
    purlin_fail(failure, why);
  }
  return rest_with_details(answer, failure);
}

text rest_segment(text segment) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  bool leads_elsewhere = text_is(segment, ".") || text_is(segment, "..");
  growing whole = {0};
  for (size_t i = 0; i < segment.length; i++) {
    char c = segment.at[i];
    if (c != '\0' && strchr(plain, c) != NULL && !leads_elsewhere) {
      grow(&whole, &c, 1);
    } else {
      text encoded = text_format("%%%02X", (unsigned char)c);
      grow(&whole, encoded.at, encoded.length);
    }
  }
  return grown(&whole);
}
