// A client for REST APIs that use JSON: it repeats requests that may be repeated, and maps answers to
// failures. It sends with http_fetch, which a native test may define.
#ifndef PURLIN_REST_H
#define PURLIN_REST_H

#include "http.h"

// A client for one call of the driver.
typedef struct rest_client {
  text server; // the base URL of paths
  text bearer; // the token for each request; empty if there is none
  text idempotency_key;
  int attempts; // attempts at a request that may be repeated; 0 is 4
} rest_client;

typedef struct rest_request {
  const char *method;
  text path;        // with a query, if there is one
  const json *body; // NULL is none
  bool keyed;       // whether to send the call's idempotency key, so that it may be repeated
} rest_request;

// The server's answer, whatever its status.
typedef struct rest_answer {
  int status;
  json *body;        // NULL if it is not JSON
  int64_t after_ms;  // when the server wants the next attempt; -1 if it does not say so
  text request_id;   // the server's own; empty if it does not say so
  text target;       // method and URL, without a query
  bool has_effects;  // whether the request may have changed something
  bool may_repeat;   // whether sending it again is harmless
} rest_answer;

// A client for a call, from `connection.server` and `connection.token` of its inputs.
rest_client rest_client_of(const purlin_request *request);

// Sends a request. If there is no complete answer, it returns false, with the failure of http_fail.
bool rest_send(const rest_client *client, rest_request request, rest_answer *answer, purlin_failure *failure);

// Whether the status is one of 200 to 299.
bool rest_is_success(const rest_answer *answer);

// Milliseconds after which to ask again: as the server says, or a second.
uint64_t rest_after_ms(const rest_answer *answer);

// Fills in the failure of an answer, with its details, and returns false: 404 and 410 are not found, 409
// and 412 a conflict. If the server gave up in the middle of a request with effects, it is undecided.
bool rest_fail(const rest_answer *answer, purlin_failure *failure);

// Fills in the failure of an answer that lacks data for the driver, and returns false. A request with
// effects was carried out, so that it is undecided.
bool rest_unreadable(const rest_answer *answer, const char *message, purlin_failure *failure);

// Adds the answer's status and the server's id of the request to a failure of your own. Returns false.
bool rest_with_details(const rest_answer *answer, purlin_failure *failure);

// A text as one segment of a path, or as a value in a query: a slash in it is encoded too.
text rest_segment(text segment);

#endif
