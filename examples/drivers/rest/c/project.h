// The driver `acme/project`: its inputs and outputs, and the declarations that its parts share.
#ifndef PROJECT_H
#define PROJECT_H

#include "purlin/form.h"
#include "purlin/rest.h"

// The inputs. Purlin applies the schema that comes from these lines: it validates inputs, fills in defaults, keeps
// secrets, and decides which changes replace. So there is no `check`, and no `update_impact`.
#define PROJECT_INPUTS(field, optional) \
  field(values, text, name, "The project's name. A change replaces the project.", \
        .pattern = "^[a-z0-9][a-z0-9-]{0,62}$", .replaces = true) \
  field(values, text, region, "The region of the project. It cannot be changed.", \
        .one_of = "eu,us", .default_value = "eu", .immutable = true) \
  field(values, int64_t, size, "The number of seats.", .minimum = "1", .maximum = "1000", .default_value = "1") \
  field(connection, text, server, "The URL of the API, such as https://api.example/v1.", .replaces = true, \
        .pattern = "^https?://[^/?#]+(/[^?#]*)?$", .reaches = "http", \
        .methods = "POST,GET later,PATCH later,DELETE later") \
  field(connection, text, token, "The token of the API.", .min_length = 1, .secret = true)

#define PROJECT_OUTPUTS(field, optional) \
  field(text, id, "The project's id in the API.") \
  field(text, name, "The project's name.") \
  field(text, region, "The region of the project.") \
  field(int64_t, size, "The number of seats.") \
  optional(text, token, "The project's own token, which the API shows only once.", \
           .secret = true, .write_once = true)

PURLIN_INPUTS(project_inputs, PROJECT_INPUTS);
PURLIN_OUTPUTS(project_outputs, PROJECT_OUTPUTS);

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
bool api_create(const purlin_request *request, const project_inputs *wanted, project *created,
                purlin_failure *failure);
// Without an id in `found` there is no such project.
bool api_get(const purlin_request *request, text id, project *found, purlin_failure *failure);
// Looks for a project of this resource by its name, in all pages of the list.
bool api_find(const purlin_request *request, project *found, purlin_failure *failure);
// Changes a project in place.
bool api_update(const purlin_request *request, text id, const project_inputs *wanted, project *updated,
                purlin_failure *failure);
// Deletes a project. A missing project is a success, and one that is still there is pending.
bool api_delete(const purlin_request *request, text id, purlin_failure *failure);

#endif
