// Requests over HTTP, where an `http` grant allows them.
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

typedef struct http_response {
  int status;
  http_field *fields;
  size_t field_count;
  text body;
} http_response;

// Sends a request and reads the whole answer, whatever its status; it follows no redirects. What is
// not granted is PURLIN_DENIED. A native test that needs answers defines a function of this name.
bool http_fetch(const http_request *request, http_response *response, purlin_failure *failure);

// An answer's first field of that name, however it is written; the empty text where there is none.
text http_field_of(const http_response *response, const char *name);

// Where a URL leads.
typedef struct http_url {
  bool is_https;
  text authority; // the host, perhaps with a port
  text path;      // with the query
} http_url;

// Takes a URL apart; false where it is none of http or https.
bool http_parse_url(text url, http_url *parts);

#endif
