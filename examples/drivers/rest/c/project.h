// The driver `acme/project`: what its parts know of each other.
#ifndef PROJECT_H
#define PROJECT_H

#include "purlin/purlin.h"
#include "purlin/rest.h"

// A project as the API returns it.
typedef struct project {
  text id; // empty where there is none
  text name;
  text region;
  int64_t size;
  text owner; // which resource it belongs to; names are not unique
  text token; // shown only in the answer that creates it
} project;

// The requests, in api.c. They return whether they succeeded. Everything that is special about your API
// belongs there.

// Creates a project as the inputs want it.
bool api_create(const purlin_request *request, project *created, purlin_failure *failure);
// Without an id in `found` there is no such project.
bool api_get(const purlin_request *request, text id, project *found, purlin_failure *failure);
// Looks for a project of this resource by its name, in all pages of the list.
bool api_find(const purlin_request *request, project *found, purlin_failure *failure);
// Changes what can be changed in place.
bool api_update(const purlin_request *request, text id, project *updated, purlin_failure *failure);
// Deletes a project. What is gone already is a success.
bool api_delete(const purlin_request *request, text id, purlin_failure *failure);

// In schema.c.
extern const char INPUT_SCHEMA[];
extern const char OUTPUT_SCHEMA[];

#endif
