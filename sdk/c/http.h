// Requests over HTTP, if an `http` grant allows them.
#ifndef PURLIN_HTTP_H
#define PURLIN_HTTP_H

#include "purlin.h"

typedef struct http_field {
  text name;
  text value;
} http_field;

typedef struct http_request {
  const char *method; // NULL is GET
  text url;           // http://… or https://…
  const http_field *fields;
  size_t field_count;
  text body;
  uint64_t timeout_ms; // to connect, and between two pieces; 0 is the host's own limit
} http_request;

// Why there is no complete answer, and its failure. All methods but GET, HEAD and OPTIONS have
// effects. The names are the same in all languages.
typedef enum http_error {
  HTTP_NO_ERROR,
  HTTP_DENIED,      // no grant allows it; nothing was sent: PURLIN_DENIED
  HTTP_UNUSABLE,    // its URL or a header is wrong; nothing was sent: PURLIN_FAILED
  HTTP_UNREACHABLE, // the server cannot be reached now; nothing was sent: PURLIN_RETRY_AFTER
  HTTP_UNTRUSTED,   // the server's name is unknown, or TLS does not trust it; nothing was sent: PURLIN_FAILED
  HTTP_LOST,        // it was sent, at least in part: PURLIN_UNDECIDED with effects, else PURLIN_RETRY_AFTER
  HTTP_TOO_LARGE    // the answer exceeds what the host allows: PURLIN_UNDECIDED with effects, else PURLIN_FAILED
} http_error;

typedef struct http_response {
  http_error error; // if it is set, everything else is empty
  int status;
  http_field *fields;
  size_t field_count;
  text body;
} http_response;

// Sends a request and reads the whole answer, whatever its status; it follows no redirects. If there
// is no complete answer, it fills in the failure as http_fail does. A native test that needs answers
// defines a function with this name.
bool http_fetch(const http_request *request, http_response *response, purlin_failure *failure);

// Fills in the failure of a request without a complete answer. Returns false, for http_fetch to return.
bool http_fail(const http_request *request, http_response *response, purlin_failure *failure, http_error error,
               text message);

// The meaning of an error-code of WASI, by its number. A request is lost unless it is certain that nothing
// was sent.
http_error http_error_of(unsigned number);

// An answer's first field with that name, in any case; the empty text if there is none.
text http_field_of(const http_response *response, const char *name);

// The id that the server gave the request, from one of the usual header fields; empty if there is none.
text http_request_id(const http_response *response);

// Adds what an answer says about itself to a failure: its `status`, and the `request-id` if there is one.
// Returns false, as purlin_with_detail does.
bool http_with_details(const http_response *response, purlin_failure *failure);

// The parts of a URL.
typedef struct http_url {
  bool is_https;
  text authority; // the host, perhaps with a port
  text path;      // with the query
} http_url;

// Parses a URL; false if it is not one of http or https.
bool http_parse_url(text url, http_url *parts);

#endif
