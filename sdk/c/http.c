#include "http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

text http_field_of(const http_response *response, const char *name) {
  for (size_t i = 0; i < response->field_count; i++) {
    const http_field *field = &response->fields[i];
    if (field->name.length == strlen(name) && strncasecmp(field->name.at, name, field->name.length) == 0) {
      return field->value;
    }
  }
  return text_of("");
}

text http_request_id(const http_response *response) {
  static const char *const names[] = {"x-request-id", "x-amzn-requestid", "x-amz-request-id"};
  text id = text_of("");
  for (size_t i = 0; id.length == 0 && i < sizeof names / sizeof *names; i++) id = http_field_of(response, names[i]);
  return id;
}

bool http_with_details(const http_response *response, purlin_failure *failure) {
  text id = http_request_id(response);
  purlin_with_detail(failure, "status", text_format("%d", response->status));
  if (id.length > 0) purlin_with_detail(failure, "request-id", id);
  return false;
}

bool http_parse_url(text url, http_url *parts) {
  *parts = (http_url){.is_https = text_starts(url, "https://")};
  if (!parts->is_https && !text_starts(url, "http://")) return false;
  for (size_t i = 0; i < url.length; i++) {
    if ((unsigned char)url.at[i] <= ' ') return false;
  }
  const char *start = url.at + (parts->is_https ? 8 : 7);
  size_t host = strcspn(start, "/?#");
  parts->authority = text_copy(start, host);
  const char *path = start + host;
  text rest = text_copy(path, strcspn(path, "#"));
  parts->path = text_starts(rest, "/") ? rest : text_format("/%s", rest.at);
  // A name and a password belong in a field of the request.
  return host > 0 && memchr(start, '@', host) == NULL;
}

static const char *method_of(const http_request *request) { return request->method != NULL ? request->method : "GET"; }

// An unknown method is treated as one with effects.
static bool has_effects(const char *method) {
  return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 && strcmp(method, "OPTIONS") != 0;
}

bool http_fail(const http_request *request, http_response *response, purlin_failure *failure, http_error error,
               text message) {
  enum { UNREACHABLE_MS = 1000 };
  *response = (http_response){.error = error};
  bool may_have_changed = has_effects(method_of(request));
  // The query may contain secrets.
  text url = text_part(request->url, 0, request->url.length > 0 ? strcspn(request->url.at, "?#") : 0);
  if (error == HTTP_DENIED) {
    http_url to;
    if (http_parse_url(url, &to)) url = text_format("%s://%s", to.is_https ? "https" : "http", to.authority.at);
    return purlin_denied(failure, "http", url, message);
  }
  text why = text_format("%s %s: %s", method_of(request), url.at, message.at);
  switch (error) {
  case HTTP_LOST:
    return may_have_changed
               ? purlin_undecided(failure, text_format("%s; it is unknown whether it was carried out", why.at))
               : purlin_retry_after(failure, UNREACHABLE_MS, why);
  case HTTP_UNREACHABLE:
    return purlin_retry_after(failure, UNREACHABLE_MS, why);
  case HTTP_TOO_LARGE:
    return may_have_changed ? purlin_undecided(failure, why) : purlin_fail(failure, why);
  default:
    return purlin_fail(failure, why);
  }
}

// WASI's names for errors, in its order.
static const struct {
  const char *name;
  http_error error;
} ERRORS[] = {
    {"DNS-timeout", HTTP_UNREACHABLE},
    {"DNS-error", HTTP_UNTRUSTED},
    {"destination-not-found", HTTP_UNREACHABLE},
    {"destination-unavailable", HTTP_UNREACHABLE},
    {"destination-IP-prohibited", HTTP_DENIED},
    {"destination-IP-unroutable", HTTP_UNREACHABLE},
    {"connection-refused", HTTP_UNREACHABLE},
    {"connection-terminated", HTTP_LOST},
    {"connection-timeout", HTTP_UNREACHABLE},
    {"connection-read-timeout", HTTP_LOST},
    {"connection-write-timeout", HTTP_LOST},
    {"connection-limit-reached", HTTP_UNUSABLE}, // the call has reached its limit of requests
    {"TLS-protocol-error", HTTP_UNTRUSTED},
    {"TLS-certificate-error", HTTP_UNTRUSTED},
    {"TLS-alert-received", HTTP_UNTRUSTED},
    {"HTTP-request-denied", HTTP_DENIED},
    {"HTTP-request-length-required", HTTP_LOST},
    {"HTTP-request-body-size", HTTP_LOST},
    {"HTTP-request-method-invalid", HTTP_UNUSABLE},
    {"HTTP-request-URI-invalid", HTTP_UNUSABLE},
    {"HTTP-request-URI-too-long", HTTP_UNUSABLE},
    {"HTTP-request-header-section-size", HTTP_UNUSABLE},
    {"HTTP-request-header-size", HTTP_UNUSABLE},
    {"HTTP-request-trailer-section-size", HTTP_LOST},
    {"HTTP-request-trailer-size", HTTP_LOST},
    {"HTTP-response-incomplete", HTTP_LOST},
    {"HTTP-response-header-section-size", HTTP_LOST},
    {"HTTP-response-header-size", HTTP_LOST},
    {"HTTP-response-body-size", HTTP_TOO_LARGE},
    {"HTTP-response-trailer-section-size", HTTP_LOST},
    {"HTTP-response-trailer-size", HTTP_LOST},
    {"HTTP-response-transfer-coding", HTTP_LOST},
    {"HTTP-response-content-coding", HTTP_LOST},
    {"HTTP-response-timeout", HTTP_LOST},
    {"HTTP-upgrade-failed", HTTP_LOST},
    {"HTTP-protocol-error", HTTP_LOST},
    {"loop-detected", HTTP_LOST},
    {"configuration-error", HTTP_LOST},
    {"internal-error", HTTP_LOST},
};
enum { PROHIBITED = 4, DENIED = 15, INTERNAL = 38, ERROR_COUNT = sizeof ERRORS / sizeof *ERRORS };

http_error http_error_of(unsigned number) { return number < ERROR_COUNT ? ERRORS[number].error : HTTP_LOST; }

#ifndef __wasm__

__attribute__((weak)) bool http_fetch(const http_request *request, http_response *response, purlin_failure *failure) {
  return http_fail(request, response, failure, HTTP_UNUSABLE, text_of("there is no network in a native test"));
}

#else

// WASI's own HTTP, wasi:http 0.2. Handles are numbers; results longer than a number are returned in
// memory, with WASI's layout of structs.

#define IMPORT(interface, function) __attribute__((__import_module__(interface), __import_name__(function)))
#define HTTP(function) IMPORT("wasi:http/types@0.2.12", function)
#define IO(interface, function) IMPORT("wasi:io/" interface "@0.2.12", function)

// An error-code, or the handle in its place after a success.
typedef struct code {
  uint32_t number;
  _Alignas(8) uint8_t has_text;
  const char *at;
  size_t length;
  uint64_t rest;
} code;

typedef struct handle {
  uint8_t failed;
  uint32_t number;
} handle;

typedef struct outcome {
  uint8_t failed;
  _Alignas(8) code code;
} outcome;

typedef struct reason {
  uint8_t some;
  _Alignas(8) code code;
} reason;

typedef struct got {
  uint8_t some;
  _Alignas(8) uint8_t taken;
  _Alignas(8) uint8_t failed;
  _Alignas(8) code code;
} got;

typedef struct bytes {
  char *at;
  size_t length;
} bytes;

typedef struct entry {
  bytes name;
  bytes value;
} entry;

typedef struct entries {
  entry *items;
  size_t length;
} entries;

typedef struct chunk {
  uint8_t failed;
  union {
    bytes read;
    struct {
      uint8_t closed;
      uint32_t error;
    } end;
  } is;
} chunk;

HTTP("[constructor]fields") uint32_t wasi_fields(void);
HTTP("[method]fields.append")
void wasi_append(uint32_t, const char *, size_t, const char *, size_t, uint8_t *);
HTTP("[method]fields.entries") void wasi_entries(uint32_t, entries *);
HTTP("[constructor]outgoing-request") uint32_t wasi_outgoing(uint32_t);
HTTP("[method]outgoing-request.set-method") int wasi_set_method(uint32_t, int, const char *, size_t);
HTTP("[method]outgoing-request.set-scheme") int wasi_set_scheme(uint32_t, int, int, const char *, size_t);
HTTP("[method]outgoing-request.set-authority") int wasi_set_authority(uint32_t, int, const char *, size_t);
HTTP("[method]outgoing-request.set-path-with-query") int wasi_set_path(uint32_t, int, const char *, size_t);
HTTP("[method]outgoing-request.body") void wasi_body(uint32_t, handle *);
HTTP("[method]outgoing-body.write") void wasi_body_write(uint32_t, handle *);
HTTP("[static]outgoing-body.finish") void wasi_body_finish(uint32_t, int, uint32_t, outcome *);
HTTP("[constructor]request-options") uint32_t wasi_options(void);
HTTP("[method]request-options.set-connect-timeout") int wasi_set_connect(uint32_t, int, uint64_t);
HTTP("[method]request-options.set-first-byte-timeout") int wasi_set_first(uint32_t, int, uint64_t);
HTTP("[method]request-options.set-between-bytes-timeout") int wasi_set_between(uint32_t, int, uint64_t);
IMPORT("wasi:http/outgoing-handler@0.2.12", "handle") void wasi_handle(uint32_t, int, uint32_t, outcome *);
HTTP("[method]future-incoming-response.subscribe") uint32_t wasi_subscribe(uint32_t);
HTTP("[method]future-incoming-response.get") void wasi_get(uint32_t, got *);
HTTP("[method]incoming-response.status") int wasi_status(uint32_t);
HTTP("[method]incoming-response.headers") uint32_t wasi_headers(uint32_t);
HTTP("[method]incoming-response.consume") void wasi_consume(uint32_t, handle *);
HTTP("[method]incoming-body.stream") void wasi_stream(uint32_t, handle *);
HTTP("http-error-code") void wasi_error_code(uint32_t, reason *);
HTTP("[resource-drop]fields") void wasi_drop_fields(uint32_t);
HTTP("[resource-drop]incoming-body") void wasi_drop_body(uint32_t);
HTTP("[resource-drop]incoming-response") void wasi_drop_response(uint32_t);
HTTP("[resource-drop]future-incoming-response") void wasi_drop_future(uint32_t);
IO("poll", "[method]pollable.block") void wasi_block(uint32_t);
IO("poll", "[resource-drop]pollable") void wasi_drop_pollable(uint32_t);
IO("streams", "[method]output-stream.blocking-write-and-flush")
void wasi_write(uint32_t, const char *, size_t, chunk *);
IO("streams", "[method]input-stream.blocking-read") void wasi_read(uint32_t, uint64_t, chunk *);
IO("streams", "[resource-drop]output-stream") void wasi_drop_output(uint32_t);
IO("streams", "[resource-drop]input-stream") void wasi_drop_input(uint32_t);

// A request in transit, and the destination of its outcome.
typedef struct exchange {
  const http_request *request;
  http_response *response;
  purlin_failure *failure;
} exchange;

static bool fails(const exchange *on, http_error error, text message) {
  return http_fail(on->request, on->response, on->failure, error, message);
}

static bool fails_with(const exchange *on, const code *code) {
  uint8_t number = (uint8_t)code->number;
  text message = text_of(number < ERROR_COUNT ? ERRORS[number].name : "an unknown error");
  if (number == DENIED) message = text_of("to send a request there");
  if (number == PROHIBITED) {
    message = text_of("the name leads to an address that is not public, and has to be granted too");
  }
  if (number == INTERNAL && code->has_text) {
    message = text_format("%s: %s", message.at, text_copy(code->at, code->length).at);
  }
  return fails(on, http_error_of(number), message);
}

static int method_number(const char *method) {
  static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  int number = 0;
  while (number < 9 && strcmp(methods[number], method) != 0) number++;
  return number;
}

// An error here, or a server that does not accept all of it, shows in the answer.
static void send_body(uint32_t body, text content) {
  handle stream;
  wasi_body_write(body, &stream);
  chunk done = {0};
  // WASI takes this many bytes at once.
  for (size_t sent = 0, most = 4096; sent < content.length && !done.failed; sent += most) {
    size_t left = content.length - sent;
    wasi_write(stream.number, content.at + sent, left < most ? left : most, &done);
  }
  wasi_drop_output(stream.number);
  outcome finished;
  wasi_body_finish(body, 0, 0, &finished);
}

// The failure of an answer that ended early. The host knows the cause by its handle.
static bool broke_off(const exchange *on, uint32_t cause) {
  reason reason;
  wasi_error_code(cause, &reason);
  return reason.some ? fails_with(on, &reason.code) : fails(on, HTTP_LOST, text_of("the answer broke off"));
}

static bool read_body(const exchange *on, uint32_t answer) {
  handle body, stream;
  wasi_consume(answer, &body);
  wasi_stream(body.number, &stream);
  growing whole = {0};
  chunk part = {0};
  for (wasi_read(stream.number, 65536, &part); !part.failed; wasi_read(stream.number, 65536, &part)) {
    grow(&whole, part.is.read.at, part.is.read.length);
    if (part.is.read.length > 0) free(part.is.read.at);
  }
  on->response->body = grown(&whole);
  bool all = part.is.end.closed == 1 || broke_off(on, part.is.end.error);
  wasi_drop_input(stream.number);
  wasi_drop_body(body.number);
  return all;
}

static bool receive(const exchange *on, uint32_t future) {
  uint32_t ready = wasi_subscribe(future);
  wasi_block(ready);
  wasi_drop_pollable(ready);
  got got;
  wasi_get(future, &got);
  if (!got.some || got.taken) return fails(on, HTTP_LOST, text_of("there is no answer"));
  if (got.failed) return fails_with(on, &got.code);
  uint32_t answer = got.code.number;
  uint32_t fields = wasi_headers(answer);
  entries entries;
  wasi_entries(fields, &entries);
  http_response *response = on->response;
  *response = (http_response){.status = wasi_status(answer), .field_count = entries.length};
  response->fields = memory_take(entries.length, sizeof(http_field));
  for (size_t i = 0; i < entries.length; i++) {
    const entry *one = &entries.items[i];
    response->fields[i].name = text_copy(one->name.at, one->name.length);
    response->fields[i].value = text_copy(one->value.at, one->value.length);
  }
  wasi_drop_fields(fields);
  bool done = read_body(on, answer);
  wasi_drop_response(answer);
  return done;
}

bool http_fetch(const http_request *request, http_response *response, purlin_failure *failure) {
  const exchange on = {request, response, failure};
  http_url to;
  if (!http_parse_url(request->url, &to)) {
    return fails(&on, HTTP_UNUSABLE, text_of("this is not a URL of http or https"));
  }
  uint32_t fields = wasi_fields();
  uint8_t failed[2];
  bool has_length = false;
  for (size_t i = 0; i < request->field_count; i++) {
    text name = request->fields[i].name, value = request->fields[i].value;
    has_length = has_length || strcasecmp(name.at, "content-length") == 0;
    wasi_append(fields, name.at, name.length, value.at, value.length, failed);
    if (failed[0]) return fails(&on, HTTP_UNUSABLE, text_format("the header field `%s` cannot be sent", name.at));
  }
  if (request->body.length > 0 && !has_length) {
    // Without it the body would be sent in chunks, which not every server accepts.
    text length = text_format("%zu", request->body.length);
    wasi_append(fields, "content-length", strlen("content-length"), length.at, length.length, failed);
  }
  uint32_t sent = wasi_outgoing(fields);
  const char *method = method_of(request);
  if (wasi_set_method(sent, method_number(method), method, strlen(method)) |
      wasi_set_scheme(sent, 1, to.is_https, "", 0) |
      wasi_set_authority(sent, 1, to.authority.at, to.authority.length) |
      wasi_set_path(sent, 1, to.path.at, to.path.length)) {
    return fails(&on, HTTP_UNUSABLE, text_of("the method or the URL cannot be sent"));
  }
  handle body;
  if (request->body.length > 0) wasi_body(sent, &body);
  uint32_t options = 0;
  if (request->timeout_ms > 0) {
    uint64_t wait = request->timeout_ms * 1000000;
    options = wasi_options();
    wasi_set_connect(options, 1, wait);
    wasi_set_first(options, 1, wait);
    wasi_set_between(options, 1, wait);
  }
  outcome future;
  wasi_handle(sent, request->timeout_ms > 0, options, &future);
  if (future.failed) return fails_with(&on, &future.code);
  if (request->body.length > 0) send_body(body.number, request->body);
  bool done = receive(&on, future.code.number);
  wasi_drop_future(future.code.number);
  return done;
}

#endif
