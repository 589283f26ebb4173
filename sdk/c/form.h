/* Inputs and outputs, each said once, in a table: a macro with a line for each field. From a table come a
   struct, its JSON Schema, and the functions that read inputs into the struct and make a state of it.

     #define BUCKET_INPUTS(field, optional) \
       field(values, text, region, "Where the bucket is.", .pattern = "^[a-z]+-[0-9]$", .replaces = true) \
       field(values, int64_t, copies, "How many copies there are.", .default_value = "3", .minimum = "1") \
       optional(secrets, text, key, "Encrypts the objects.")
     PURLIN_INPUTS(bucket_inputs, BUCKET_INPUTS);

   The struct has `text region`, `int64_t copies` and `const text *key`: a pointer, which is NULL if the input is
   left out. A line has the group (of inputs only: values, secrets, params, connection or account), the type, the
   name, the description, and further keywords. Types are text, bool, int, int32_t, int64_t, uint16_t, uint32_t,
   uint64_t, double, texts, json_any, and those of PURLIN_STRUCT, PURLIN_LIST and PURLIN_MAP. A table may contain
   the lines of another one: `CONNECTION(field, optional)`. */
#ifndef PURLIN_FORM_H
#define PURLIN_FORM_H

#include "preview.h"

// Any value. Its numbers keep every digit.
typedef json *json_any;

// What a line says about its field, besides its type and name.
typedef struct purlin_keywords {
  const char *description;   // for people; the text after the name
  const char *name;          // in JSON, if it is another one than in C, such as `force-destroy`
  const char *default_value; // inputs: fills in what is left out; JSON, except for a text
  const char *minimum;       // of a number
  const char *maximum;
  size_t min_length; // of a text, in characters, a list, or a map; 0 is none
  size_t max_length;
  const char *pattern;    // of a text, or of the texts in a list or a map
  const char *format;     // such as `email`, likewise
  const char *one_of;     // the values that fit, as in "eu,us", likewise
  const char *example;    // a value that fits, written like a default
  bool secret;            // encrypted and hidden
  bool replaces;          // inputs: a change replaces the resource; in `connection`, it identifies the system
  bool immutable;         // inputs: a change is rejected
  const char *holds_data; // inputs: deleting the resource loses this, such as "every table"
  const char *reaches;    // inputs: the driver connects to this address: `http`, `tcp` or `dir`
  const char *port;       // inputs: beside reaches = "tcp", where the address has none
  const char *methods;    // inputs: beside reaches = "http", as in "POST,GET later"; later: to change or delete
  bool write_once;        // outputs: only `create` returns it, and the host keeps it
  bool open;              // a struct accepts other names, too
  const char *schema;     // any other keywords of JSON Schema, as a JSON object
} purlin_keywords;

typedef enum purlin_group {
  PURLIN_GROUP_none, // of the fields of outputs, and of structs within inputs
  PURLIN_GROUP_values,
  PURLIN_GROUP_secrets,
  PURLIN_GROUP_params,
  PURLIN_GROUP_connection,
  PURLIN_GROUP_account
} purlin_group;

typedef struct purlin_field {
  const char *member;
  purlin_group group;
  size_t offset;
  purlin_form_of *form;
  bool is_optional; // the member is a pointer
  purlin_keywords says;
} purlin_field;

// What a C type is in JSON.
typedef enum purlin_kind {
  PURLIN_IS_ANY,
  PURLIN_IS_TEXT,
  PURLIN_IS_BOOL,
  PURLIN_IS_INTEGER,
  PURLIN_IS_UNSIGNED,
  PURLIN_IS_DOUBLE,
  PURLIN_IS_LIST,
  PURLIN_IS_MAP,
  PURLIN_IS_STRUCT
} purlin_kind;

struct purlin_form {
  purlin_kind kind;
  size_t size;                // of the C type
  purlin_form_of *items;      // of a list or a map
  const purlin_field *fields; // of a struct
  size_t field_count;
};

purlin_form_of text_form, bool_form, int_form, int32_t_form, int64_t_form, uint16_t_form, uint32_t_form,
    uint64_t_form, double_form, texts_form, json_any_form;

// The struct `type`, and
// - `type_form`, for `.inputs` of a type of the driver;
// - `bool type_decode(const purlin_inputs *, type *, purlin_failure *)`, which reads inputs into the struct. What
//   is left out gets its default, and names that the table does not have are ignored. It fails with every value
//   that does not fit; the struct is then all zeros. An unknown value, as in check, update_impact and preview,
//   is no fault: its field is zero or NULL, which is not its value. Ask `purlin_is_unknown` before you use it;
// - `json *type_values(const type *)`, which writes the fields of `values`, as `read` reports them.
#define PURLIN_INPUTS(type, TABLE) \
  PURLIN_TYPE_(type, TABLE, PURLIN_INPUT_, PURLIN_OPTIONAL_INPUT_, PURLIN_OF_INPUT_, PURLIN_OF_OPTIONAL_INPUT_) \
  PURLIN_MADE_ bool type##_decode(const purlin_inputs *inputs, type *into, purlin_failure *failure) { \
    return purlin_decode(inputs, type##_form(), into, failure); \
  } \
  PURLIN_MADE_ json *type##_values(const type *from) { return purlin_values(type##_form(), from); } \
  typedef struct type type

// The struct `type` of outputs, `type_form`, and `purlin_state type_state(text id, const type *)`: a state with
// these outputs. Secret ones are in its `secrets`, or noted in its `sensitive`. An optional one that is NULL is
// left out. `purlin_forecast type_forecast(const type *)` has the same outputs as certain ones.
#define PURLIN_OUTPUTS(type, TABLE) \
  PURLIN_TYPE_(type, TABLE, PURLIN_MEMBER_, PURLIN_OPTIONAL_MEMBER_, PURLIN_OF_MEMBER_, PURLIN_OF_OPTIONAL_MEMBER_) \
  PURLIN_MADE_ purlin_state type##_state(text id, const type *outputs) { \
    return purlin_state_of(id, type##_form(), outputs); \
  } \
  PURLIN_MADE_ purlin_forecast type##_forecast(const type *outputs) { \
    return purlin_forecast_of(type##_form(), outputs); \
  } \
  typedef struct type type

// A struct within inputs or outputs. The lines of its table have no group.
#define PURLIN_STRUCT(type, TABLE) \
  PURLIN_TYPE_(type, TABLE, PURLIN_MEMBER_, PURLIN_OPTIONAL_MEMBER_, PURLIN_OF_MEMBER_, PURLIN_OF_OPTIONAL_MEMBER_) \
  typedef struct type type

// A list: `items[0]` to `items[length - 1]`.
#define PURLIN_LIST(type, of) \
  typedef struct type { \
    of *items; \
    size_t length; \
  } type; \
  PURLIN_MANY_(type, of##_form, PURLIN_IS_LIST)

// A map: `names[0]` has the value `items[0]`.
#define PURLIN_MAP(type, of) \
  typedef struct type { \
    of *items; \
    size_t length; \
    text *names; \
  } type; \
  PURLIN_MANY_(type, of##_form, PURLIN_IS_MAP)

// Whether the tables of `the_driver` make sense, and its previews are exported. If not, the failure says what is
// wrong with each line, and the component cannot be loaded: a native test should ask.
bool purlin_describe(purlin_failure *failure);

// The functions behind the macros.

bool purlin_decode(const purlin_inputs *inputs, const purlin_form *form, void *into, purlin_failure *failure);
json *purlin_values(const purlin_form *form, const void *from);
purlin_state purlin_state_of(text id, const purlin_form *form, const void *outputs);
purlin_forecast purlin_forecast_of(const purlin_form *form, const void *outputs);

// All faults of inputs, also names that the table does not have.
purlin_findings purlin_faults(const purlin_inputs *inputs, const purlin_form *form);

// Reads one value, and collects faults, with pointers that begin with `at`. A place in `unknown` may be null.
typedef struct purlin_decoder {
  texts unknown;
  bool is_strict; // whether unknown names are faults
  purlin_findings faults;
} purlin_decoder;
void purlin_decode_value(purlin_decoder *decoder, const json *value, const purlin_form *form, bool open, void *into,
                         text at);

// The name of a field in JSON, and of a group.
const char *purlin_field_name(const purlin_field *field);
const char *purlin_group_name(purlin_group group);

// A literal of a table as JSON; NULL if it is none. A text is the text itself.
json *purlin_literal(const char *literal, const purlin_form *form);

// The schema of a type of the driver. What is wrong with its tables is added to the faults.
json *purlin_input_schema(const purlin_type *type, texts *faults);
json *purlin_output_schema(const purlin_type *type, texts *faults);

// What the macros are made of. A local name for the struct lets each line find the place of its member.

#define PURLIN_MADE_ __attribute__((unused)) static inline

#define PURLIN_TYPE_(type, TABLE, MEMBER, OPTIONAL_MEMBER, FIELD, OPTIONAL_FIELD) \
  typedef struct type { \
    TABLE(MEMBER, OPTIONAL_MEMBER) \
  } type; \
  PURLIN_MADE_ const purlin_form *type##_form(void) { \
    typedef type purlin_this; \
    static const purlin_field fields[] = {TABLE(FIELD, OPTIONAL_FIELD)}; \
    static const purlin_form form = { \
        .kind = PURLIN_IS_STRUCT, \
        .size = sizeof(type), \
        .fields = fields, \
        .field_count = sizeof fields / sizeof *fields, \
    }; \
    return &form; \
  }

#define PURLIN_MANY_(type, of_form, is) \
  PURLIN_MADE_ const purlin_form *type##_form(void) { \
    static const purlin_form form = {.kind = is, .size = sizeof(type), .items = of_form}; \
    return &form; \
  } \
  typedef struct type type

#define PURLIN_MEMBER_(of, member, ...) of member;
#define PURLIN_OPTIONAL_MEMBER_(of, member, ...) const of *member;
#define PURLIN_INPUT_(in, of, member, ...) of member;
#define PURLIN_OPTIONAL_INPUT_(in, of, member, ...) const of *member;

// The words of a line are joined first: `bool` is a macro, too.
#define PURLIN_LINE_(of_group, of_form, string, name, optional, ...) \
  {.member = string, .group = of_group, .offset = offsetof(purlin_this, name), .form = of_form, \
   .is_optional = optional, .says = {.description = __VA_ARGS__}},
#define PURLIN_OF_MEMBER_(of, member, ...) \
  PURLIN_LINE_(PURLIN_GROUP_none, of##_form, #member, member, false, __VA_ARGS__)
#define PURLIN_OF_OPTIONAL_MEMBER_(of, member, ...) \
  PURLIN_LINE_(PURLIN_GROUP_none, of##_form, #member, member, true, __VA_ARGS__)
#define PURLIN_OF_INPUT_(in, of, member, ...) \
  PURLIN_LINE_(PURLIN_GROUP_##in, of##_form, #member, member, false, __VA_ARGS__)
#define PURLIN_OF_OPTIONAL_INPUT_(in, of, member, ...) \
  PURLIN_LINE_(PURLIN_GROUP_##in, of##_form, #member, member, true, __VA_ARGS__)

#endif
