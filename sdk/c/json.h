// JSON (RFC 8259): read, query, create, write.
#ifndef PURLIN_JSON_H
#define PURLIN_JSON_H

#include <stdint.h>

#include "text.h"

typedef enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT } json_kind;

// A value. A missing value is NULL, which every function below accepts.
typedef struct json {
  json_kind kind;
  bool truth;          // of a bool
  text text;           // a text; a number as written, so that no digit is lost
  size_t length;       // of a list or an object
  size_t room;
  struct json **items; // of a list or an object
  text *names;         // of an object's items
} json;

// Reads a document; NULL if it is invalid, and then `*fault` says why. It may be 128 deep.
json *json_read(text document, const char **fault);

// Writes a value on one line. Invalid UTF-8 in it is replaced.
text json_write(const json *value);

json *json_null(void);
json *json_bool(bool truth);
json *json_int(int64_t number);
json *json_uint(uint64_t number);
json *json_double(double number); // null if it is not finite
json *json_text(text text);
json *json_list(void);
json *json_object(void);

// Appends a value to a list.
void json_add(json *list, json *value);

// Sets an object's item, a new or an existing one.
void json_set(json *object, const char *name, json *value);
void json_set_named(json *object, text name, json *value);

// Sets an item of an object that exists, at a JSON Pointer.
void json_put(json *value, const char *pointer, json *item);

// The value at a JSON Pointer (RFC 6901) such as `/values/title`.
json *json_at(const json *value, const char *pointer);

// An object's item.
json *json_item(const json *object, const char *name);

// Whether a value is missing or null.
bool json_is_null(const json *value);

// The text; empty if the value is not a text.
text json_as_text(const json *value);

// The integer; false if the value is not an integer, or does not fit. Documents have integers up to 2^64-1.
bool json_as_int(const json *value, int64_t *number);
bool json_as_uint(const json *value, uint64_t *number);

// The number, rounded to a double; false if the value is not a number.
bool json_as_double(const json *value, double *number);

// Whether both are equal, in any order of their items.
bool json_same(const json *a, const json *b);

#endif
