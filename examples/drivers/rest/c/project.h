// The driver `acme/project`: the declarations that its parts share.
#ifndef PROJECT_H
#define PROJECT_H

#include "purlin/purlin.h"
#include "purlin/rest.h"

// A project as the API returns it.
typedef struct project {
  text id; // empty if there is none
  text name;
  text region;
  int64_t size;
  text owner;        // the resource that it belongs to; names are not unique
  text token;        // only in the response that creates the project
  bool is_busy;      // whether the API is still working on it
  uint64_t after_ms; // when it makes sense to look again
} project;

// The requests, in api.c. They return whether they succeeded. Everything that is special about your API
// belongs there.

// Creates a project with these inputs.
bool api_create(const purlin_request *request, project *created, purlin_failure *failure);
// Without an id in `found` there is no such project.
bool api_get(const purlin_request *request, text id, project *found, purlin_failure *failure);
// Looks for a project of this resource by its name, in all pages of the list.
bool api_find(const purlin_request *request, project *found, purlin_failure *failure);
// Changes a project in place.
bool api_update(const purlin_request *request, text id, project *updated, purlin_failure *failure);
// Deletes a project. A missing project is a success, and one that is still there is pending.
bool api_delete(const purlin_request *request, text id, purlin_failure *failure);

// In schema.c.
extern const char INPUT_SCHEMA[];
extern const char OUTPUT_SCHEMA[];

#endif
