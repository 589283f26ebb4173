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
  // A name and a password belong into a field of the request.
  return host > 0 && memchr(start, '@', host) == NULL;
}

#ifndef __wasm__

__attribute__((weak)) bool http_fetch(const http_request *request, http_response *response, purlin_failure *failure) {
  (void)response;
  return purlin_fail(failure, text_format("no network in a native test: `%s`", request->url.at));
}

#else

// WASI's own HTTP, wasi:http 0.2. Handles are numbers; what is longer than a number is answered in
// memory. The structs lie there as WASI has it.

#define IMPORT(interface, function) __attribute__((__import_module__(interface), __import_name__(function)))
#define HTTP(function) IMPORT("wasi:http/types@0.2.12", function)
#define IO(interface, function) IMPORT("wasi:io/" interface "@0.2.12", function)

// An error-code, or the handle that stands in its place where all went well.
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

// WASI's names of what can go wrong, in its order.
static const char *const ERRORS[] = {
    "DNS-timeout", "DNS-error", "destination-not-found", "destination-unavailable", "destination-IP-prohibited",
    "destination-IP-unroutable", "connection-refused", "connection-terminated", "connection-timeout",
    "connection-read-timeout", "connection-write-timeout", "connection-limit-reached", "TLS-protocol-error",
    "TLS-certificate-error", "TLS-alert-received", "HTTP-request-denied", "HTTP-request-length-required",
    "HTTP-request-body-size", "HTTP-request-method-invalid", "HTTP-request-URI-invalid", "HTTP-request-URI-too-long",
    "HTTP-request-header-section-size", "HTTP-request-header-size", "HTTP-request-trailer-section-size",
    "HTTP-request-trailer-size", "HTTP-response-incomplete", "HTTP-response-header-section-size",
    "HTTP-response-header-size", "HTTP-response-body-size", "HTTP-response-trailer-section-size",
    "HTTP-response-trailer-size", "HTTP-response-transfer-coding", "HTTP-response-content-coding",
    "HTTP-response-timeout", "HTTP-upgrade-failed", "HTTP-protocol-error", "loop-detected", "configuration-error",
    "internal-error"};
enum { PROHIBITED = 4, DENIED = 15, INTERNAL = 38, ERROR_COUNT = sizeof ERRORS / sizeof *ERRORS };

static bool refused(const code *code, const http_url *to, purlin_failure *failure) {
  uint8_t number = (uint8_t)code->number;
  if (number == DENIED || number == PROHIBITED) {
    text target = text_format("%s://%s", to->is_https ? "https" : "http", to->authority.at);
    return purlin_denied(failure, "http", target, text_of("to send a request there"));
  }
  text name = text_of(number < ERROR_COUNT ? ERRORS[number] : "an unknown fault");
  if (number == INTERNAL && code->has_text) name = text_copy(code->at, code->length);
  return purlin_fail(failure, text_format("no answer from `%s`: %s", to->authority.at, name.at));
}

static int method_number(const char *method) {
  static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  int number = 0;
  while (number < 9 && strcmp(methods[number], method) != 0) number++;
  return number;
}

// What goes wrong here, or a server that does not want all of it, shows in the answer.
static void send_body(uint32_t body, text content) {
  handle stream;
  wasi_body_write(body, &stream);
  chunk done = {0};
  // WASI takes so many bytes at once.
  for (size_t sent = 0, most = 4096; sent < content.length && !done.failed; sent += most) {
    size_t left = content.length - sent;
    wasi_write(stream.number, content.at + sent, left < most ? left : most, &done);
  }
  wasi_drop_output(stream.number);
  outcome finished;
  wasi_body_finish(body, 0, 0, &finished);
}

static bool read_body(uint32_t answer, const http_url *to, text *content, purlin_failure *failure) {
  handle body, stream;
  wasi_consume(answer, &body);
  wasi_stream(body.number, &stream);
  growing whole = {0};
  chunk part = {0};
  for (wasi_read(stream.number, 65536, &part); !part.failed; wasi_read(stream.number, 65536, &part)) {
    grow(&whole, part.is.read.at, part.is.read.length);
    if (part.is.read.length > 0) free(part.is.read.at);
  }
  bool all = part.is.end.closed == 1;
  wasi_drop_input(stream.number);
  wasi_drop_body(body.number);
  *content = grown(&whole);
  return all || purlin_fail(failure, text_format("the answer of `%s` broke off", to->authority.at));
}

static bool receive(uint32_t future, const http_url *to, http_response *response, purlin_failure *failure) {
  uint32_t ready = wasi_subscribe(future);
  wasi_block(ready);
  wasi_drop_pollable(ready);
  got got;
  wasi_get(future, &got);
  if (!got.some || got.taken) return purlin_fail(failure, text_of("there is no answer"));
  if (got.failed) return refused(&got.code, to, failure);
  uint32_t answer = got.code.number;
  uint32_t fields = wasi_headers(answer);
  entries entries;
  wasi_entries(fields, &entries);
  *response = (http_response){.status = wasi_status(answer), .field_count = entries.length};
  response->fields = memory_take(entries.length, sizeof(http_field));
  for (size_t i = 0; i < entries.length; i++) {
    const entry *one = &entries.items[i];
    response->fields[i].name = text_copy(one->name.at, one->name.length);
    response->fields[i].value = text_copy(one->value.at, one->value.length);
  }
  wasi_drop_fields(fields);
  bool done = read_body(answer, to, &response->body, failure);
  wasi_drop_response(answer);
  return done;
}

bool http_fetch(const http_request *request, http_response *response, purlin_failure *failure) {
  http_url to;
  if (!http_parse_url(request->url, &to)) {
    return purlin_fail(failure, text_format("`%s` is no URL of http or https", request->url.at));
  }
  uint32_t fields = wasi_fields();
  uint8_t failed[2];
  bool has_length = false;
  for (size_t i = 0; i < request->field_count; i++) {
    text name = request->fields[i].name, value = request->fields[i].value;
    has_length = has_length || strcasecmp(name.at, "content-length") == 0;
    wasi_append(fields, name.at, name.length, value.at, value.length, failed);
    if (failed[0]) return purlin_fail(failure, text_format("the header field `%s` cannot be sent", name.at));
  }
  if (request->body.length > 0 && !has_length) {
    // Without it the body would go in pieces, which not every server takes.
    text length = text_format("%zu", request->body.length);
    wasi_append(fields, "content-length", strlen("content-length"), length.at, length.length, failed);
  }
  uint32_t sent = wasi_outgoing(fields);
  const char *method = request->method != NULL ? request->method : "GET";
  if (wasi_set_method(sent, method_number(method), method, strlen(method)) |
      wasi_set_scheme(sent, 1, to.is_https, "", 0) |
      wasi_set_authority(sent, 1, to.authority.at, to.authority.length) |
      wasi_set_path(sent, 1, to.path.at, to.path.length)) {
    return purlin_fail(failure, text_format("`%s %s` is no request", method, request->url.at));
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
  if (future.failed) return refused(&future.code, &to, failure);
  if (request->body.length > 0) send_body(body.number, request->body);
  bool done = receive(future.code.number, &to, response, failure);
  wasi_drop_future(future.code.number);
  return done;
}

#endif
