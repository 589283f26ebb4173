// JSON Schemas from tables, and what is wrong with the tables.

#include "form.h"

#include <string.h>

// Makes the schema of the inputs or the outputs of a type.
typedef struct describer {
  const char *type;
  bool of_inputs;
  texts *faults;
} describer;

static void say(describer *d, text at, text message) {
  purlin_add_text(d->faults, text_format("%s: %s: %s", d->type, at.at, message.at));
}

// Reports a keyword that is set, if it says nothing there.
static void misplaced(describer *d, text at, bool is_set, const char *keyword, const char *where) {
  if (is_set) say(d, at, text_format("`.%s` is only for %s", keyword, where));
}

static json *words(const char *a, const char *b) {
  json *list = json_list();
  json_add(list, json_text(text_of(a)));
  json_add(list, json_text(text_of(b)));
  return list;
}

// How large a value is, as its limits measure it.
static double size_of(const json *value) {
  double size = (double)value->length;
  json_as_double(value, &size);
  for (size_t i = 0; value->kind == JSON_TEXT && i < value->text.length; i++) {
    size += (value->text.at[i] & 0xc0) != 0x80; // characters, not bytes
  }
  return size;
}

// What does not fit a schema, apart from types and patterns; NULL if nothing is known.
static const char *unfit(const json *value, const json *schema) {
  static const char *const least[] = {"minimum", "minLength", "minItems", "minProperties"};
  static const char *const most[] = {"maximum", "maxLength", "maxItems", "maxProperties"};
  double limit;
  for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
    if (json_as_double(json_item(schema, least[i]), &limit) && size_of(value) < limit) return least[i];
    if (json_as_double(json_item(schema, most[i]), &limit) && size_of(value) > limit) return most[i];
  }
  const json *values = json_item(schema, "enum"), *below = json_item(schema, "items");
  bool is_one = values == NULL;
  for (size_t i = 0; values != NULL && i < values->length; i++) is_one = is_one || json_same(values->items[i], value);
  if (!is_one) return "enum";
  if (below == NULL) below = json_item(schema, "additionalProperties");
  for (size_t i = 0; i < value->length; i++) {
    const json *of = json_item(json_item(schema, "properties"), value->kind == JSON_OBJECT ? value->names[i].at : "");
    const char *keyword = unfit(value->items[i], of != NULL ? of : below);
    if (keyword != NULL) return keyword;
  }
  return NULL;
}

// A literal of a line as JSON; NULL after a fault.
static json *literal(describer *d, const char *given, const char *keyword, const purlin_form *form, text at) {
  json *value = purlin_literal(given, form);
  purlin_decoder decoder = {.is_strict = true};
  if (value != NULL) purlin_decode_value(&decoder, value, form, false, memory_take(1, form->size), text_of(""));
  if (value != NULL && decoder.faults.length == 0) return value;
  text why = text_of("is no JSON");
  if (value != NULL) {
    const purlin_finding *first = &decoder.faults.items[0];
    why = text_format("%s%s%s", first->pointer.at, first->pointer.length > 0 ? " " : "", first->message.at);
  }
  say(d, at, text_format("`.%s = \"%s\"` %s", keyword, given, why.at));
  return NULL;
}

// The items of a list such as "eu,us".
static texts split(const char *list) {
  texts items = {0};
  for (const char *at = list; at != NULL;) {
    size_t length = strcspn(at, ",");
    purlin_add_text(&items, text_copy(at, length));
    at = at[length] == ',' ? at + length + 1 : NULL;
  }
  return items;
}

static json *structure(describer *d, const purlin_form *form, purlin_group group, bool open, text at);

static json *typed(const char *type) {
  json *schema = json_object();
  json_set(schema, "type", json_text(text_of(type)));
  return schema;
}

// The schema of a C type.
static json *schema_of(describer *d, const purlin_form *form, bool open, text at) {
  json *schema;
  switch (form->kind) {
  case PURLIN_IS_TEXT:
    return typed("string");
  case PURLIN_IS_BOOL:
    return typed("boolean");
  case PURLIN_IS_INTEGER:
    schema = typed("integer");
    if (form->size == sizeof(int32_t)) json_set(schema, "minimum", json_int(INT32_MIN));
    json_set(schema, "maximum", json_int(form->size == sizeof(int32_t) ? INT32_MAX : INT64_MAX));
    return schema;
  case PURLIN_IS_UNSIGNED:
    schema = typed("integer");
    json_set(schema, "minimum", json_int(0));
    if (form->size != sizeof(uint64_t)) {
      json_set(schema, "maximum", json_int(form->size == sizeof(uint16_t) ? UINT16_MAX : UINT32_MAX));
    }
    return schema;
  case PURLIN_IS_DOUBLE:
    return typed("number");
  case PURLIN_IS_LIST:
    schema = typed("array");
    json_set(schema, "items", schema_of(d, form->items(), false, text_format("%s[]", at.at)));
    return schema;
  case PURLIN_IS_MAP:
    schema = typed("object");
    json_set(schema, "additionalProperties", schema_of(d, form->items(), false, text_format("%s[]", at.at)));
    return schema;
  case PURLIN_IS_STRUCT:
    return structure(d, form, PURLIN_GROUP_none, open, at);
  default:
    return json_object();
  }
}

// Adds what limits the size of a value.
static void add_sizes(describer *d, const purlin_keywords *says, const purlin_form *form, json *schema, text at) {
  bool is_number = form->kind >= PURLIN_IS_INTEGER && form->kind <= PURLIN_IS_DOUBLE;
  const char *least = form->kind == PURLIN_IS_TEXT   ? "minLength"
                      : form->kind == PURLIN_IS_LIST ? "minItems"
                      : form->kind == PURLIN_IS_MAP  ? "minProperties"
                                                     : NULL;
  const char *most = form->kind == PURLIN_IS_TEXT   ? "maxLength"
                     : form->kind == PURLIN_IS_LIST ? "maxItems"
                                                    : "maxProperties";
  if (is_number) {
    json *minimum = says->minimum != NULL ? literal(d, says->minimum, "minimum", form, at) : NULL;
    json *maximum = says->maximum != NULL ? literal(d, says->maximum, "maximum", form, at) : NULL;
    if (minimum != NULL) json_set(schema, "minimum", minimum);
    if (maximum != NULL) json_set(schema, "maximum", maximum);
    if (minimum != NULL && maximum != NULL && size_of(minimum) > size_of(maximum)) {
      say(d, at, text_of("`.minimum` is above `.maximum`"));
    }
  }
  misplaced(d, at, !is_number && says->minimum != NULL, "minimum", "numbers");
  misplaced(d, at, !is_number && says->maximum != NULL, "maximum", "numbers");
  misplaced(d, at, least == NULL && says->min_length > 0, "min_length", "texts, lists and maps");
  misplaced(d, at, least == NULL && says->max_length > 0, "max_length", "texts, lists and maps");
  if (least == NULL) return;
  if (says->min_length > 0) json_set(schema, least, json_uint(says->min_length));
  if (says->max_length > 0) json_set(schema, most, json_uint(says->max_length));
  if (says->max_length > 0 && says->min_length > says->max_length) {
    say(d, at, text_of("`.min_length` is above `.max_length`"));
  }
}

// Adds which texts and values fit: for a list or a map, which items.
static void add_choices(describer *d, const purlin_keywords *says, const purlin_form *form, json *schema, text at) {
  if (form->kind == PURLIN_IS_LIST || form->kind == PURLIN_IS_MAP) {
    schema = json_item(schema, form->kind == PURLIN_IS_LIST ? "items" : "additionalProperties");
    form = form->items();
  }
  bool is_text = form->kind == PURLIN_IS_TEXT;
  misplaced(d, at, !is_text && says->pattern != NULL, "pattern", "texts");
  misplaced(d, at, !is_text && says->format != NULL, "format", "texts");
  if (is_text && says->pattern != NULL) json_set(schema, "pattern", json_text(text_of(says->pattern)));
  if (is_text && says->format != NULL) json_set(schema, "format", json_text(text_of(says->format)));
  if (says->one_of == NULL) return;
  json *values = json_list();
  texts given = split(says->one_of);
  for (size_t i = 0; i < given.length; i++) {
    json *value = literal(d, given.items[i].at, "one_of", form, at);
    if (value != NULL) json_add(values, value);
  }
  json_set(schema, "enum", values);
}

// Adds what the host does with an input.
static void add_effects(describer *d, const purlin_keywords *says, json *schema, text at) {
  static const purlin_form port = {.kind = PURLIN_IS_UNSIGNED, .size = sizeof(uint16_t)};
  if (says->holds_data != NULL) {
    bool is_named = *says->holds_data != '\0';
    json_set(schema, "x-purlin-holds-data", is_named ? json_text(text_of(says->holds_data)) : json_bool(true));
  }
  const char *reaches = says->reaches != NULL ? says->reaches : "";
  if (says->reaches != NULL) json_set(schema, "x-purlin-reaches", json_text(text_of(reaches)));
  if (says->reaches != NULL && strcmp(reaches, "http") != 0 && strcmp(reaches, "tcp") != 0 &&
      strcmp(reaches, "dir") != 0) {
    say(d, at, text_of("`.reaches` has to be \"http\", \"tcp\" or \"dir\""));
  }
  misplaced(d, at, says->port != NULL && strcmp(reaches, "tcp") != 0, "port", "`.reaches = \"tcp\"`");
  if (says->port != NULL) json_set(schema, "x-purlin-port", literal(d, says->port, "port", &port, at));
  misplaced(d, at, says->methods != NULL && strcmp(reaches, "http") != 0, "methods", "`.reaches = \"http\"`");
  if (says->methods != NULL) {
    json *methods = json_list();
    texts given = split(says->methods);
    for (size_t i = 0; i < given.length; i++) {
      text method = given.items[i];
      bool is_later = text_ends(method, " later");
      if (is_later) method = text_part(method, 0, method.length - strlen(" later"));
      if (method.length == 0 || strspn(method.at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != method.length) {
        say(d, at, text_of("write `.methods` as in \"POST,GET later\""));
      }
      json *item = json_text(method);
      if (is_later) {
        item = json_object();
        json_set(item, "method", json_text(method));
        json_set(item, "later", json_bool(true));
      }
      json_add(methods, item);
    }
    json_set(schema, "x-purlin-methods", methods);
  }
  if (says->replaces) json_set(schema, "x-purlin-replaces", json_bool(true));
  if (says->immutable) json_set(schema, "x-purlin-immutable", json_bool(true));
}

// Adds a value that has to fit everything that the line says.
static json *add_value(describer *d, const char *given, const char *keyword, const purlin_form *form, json *schema,
                       text at) {
  json *value = given != NULL ? literal(d, given, keyword, form, at) : NULL;
  const char *broken = value != NULL ? unfit(value, schema) : NULL;
  if (broken != NULL) say(d, at, text_format("`.%s = \"%s\"` does not fit `%s`", keyword, given, broken));
  return value;
}

// The schema of a field.
static json *property(describer *d, const purlin_field *field, text at) {
  const purlin_keywords *says = &field->says;
  const purlin_form *form = field->form();
  json *schema = schema_of(d, form, says->open, at);
  if (says->description != NULL && *says->description != '\0') {
    json_set(schema, "description", json_text(text_of(says->description)));
  }
  misplaced(d, at, says->open && form->kind != PURLIN_IS_STRUCT, "open", "structs");
  add_sizes(d, says, form, schema, at);
  add_choices(d, says, form, schema, at);
  add_effects(d, says, schema, at);
  const struct {
    bool is_set;
    const char *keyword;
  } inputs_only[] = {
      {says->default_value != NULL, "default_value"}, {says->replaces, "replaces"},
      {says->immutable, "immutable"},                 {says->holds_data != NULL, "holds_data"},
      {says->reaches != NULL, "reaches"},
  };
  for (size_t i = 0; !d->of_inputs && i < sizeof inputs_only / sizeof *inputs_only; i++) {
    misplaced(d, at, inputs_only[i].is_set, inputs_only[i].keyword, "inputs");
  }
  misplaced(d, at, d->of_inputs && says->write_once, "write_once", "outputs");
  misplaced(d, at, field->is_optional && says->default_value != NULL, "default_value", "`field`");
  json *given = add_value(d, says->default_value, "default_value", form, schema, at);
  json *example = add_value(d, says->example, "example", form, schema, at);
  if (given != NULL) json_set(schema, "default", given);
  if (example != NULL) {
    json *examples = json_list();
    json_add(examples, example);
    json_set(schema, "examples", examples);
  }
  if (says->write_once) json_set(schema, "x-purlin-write-once", json_bool(true));
  if (says->secret) json_set(schema, "writeOnly", json_bool(true));
  // An optional input may also be null.
  if (d->of_inputs && field->is_optional && form->kind != PURLIN_IS_ANY) {
    json_set(schema, "type", words(json_as_text(json_item(schema, "type")).at, "null"));
    json_add(json_item(schema, "enum"), json_null());
  }
  if (says->schema != NULL) {
    const json *more = json_read(text_of(says->schema), NULL);
    if (more == NULL || more->kind != JSON_OBJECT) say(d, at, text_of("`.schema` is no JSON object"));
    for (size_t i = 0; more != NULL && more->kind == JSON_OBJECT && i < more->length; i++) {
      json_set_named(schema, more->names[i], more->items[i]);
    }
  }
  return schema;
}

// The schema of the fields of a group.
static json *structure(describer *d, const purlin_form *form, purlin_group group, bool open, text at) {
  json *schema = typed("object"), *properties = json_object(), *required = json_list();
  for (size_t i = 0; i < form->field_count; i++) {
    const purlin_field *field = &form->fields[i];
    const char *name = purlin_field_name(field);
    if (field->group != group) continue;
    text place = text_format("%s.%s", at.at, name);
    if (json_item(properties, name) != NULL) say(d, place, text_of("is there twice"));
    json_set(properties, name, property(d, field, place));
    if (!field->is_optional && field->says.default_value == NULL) json_add(required, json_text(text_of(name)));
  }
  if (required->length > 0) json_set(schema, "required", required);
  if (!open) json_set(schema, "additionalProperties", json_bool(false));
  json_set(schema, "properties", properties);
  return schema;
}

// A schema that is written as text.
static json *written(describer *d, const char *schema, const char *member) {
  json *value = schema != NULL ? json_read(text_of(schema), NULL) : typed("object");
  if (value == NULL) say(d, text_of(member), text_of("is no JSON"));
  return value;
}

json *purlin_input_schema(const purlin_type *type, texts *faults) {
  describer d = {.type = type->name, .of_inputs = true, .faults = faults};
  if (type->inputs == NULL) return written(&d, type->input_schema, "input_schema");
  const purlin_form *form = type->inputs();
  json *schema = typed("object"), *properties = json_object(), *required = json_list();
  for (purlin_group group = PURLIN_GROUP_values; group <= PURLIN_GROUP_account; group++) {
    text name = text_of(purlin_group_name(group));
    json *of_group = structure(&d, form, group, false, name);
    if (json_item(of_group, "properties")->length == 0) continue;
    json_set(properties, name.at, of_group);
    if (json_item(of_group, "required") != NULL) json_add(required, json_text(name));
  }
  if (required->length > 0) json_set(schema, "required", required);
  json_set(schema, "properties", properties);
  return schema;
}

json *purlin_output_schema(const purlin_type *type, texts *faults) {
  describer d = {.type = type->name, .faults = faults};
  if (type->outputs == NULL) return written(&d, type->output_schema, "output_schema");
  return structure(&d, type->outputs(), PURLIN_GROUP_none, false, text_of("outputs"));
}

bool purlin_describe(purlin_failure *failure) {
  texts faults = {0};
  bool previews = false;
  for (size_t i = 0; i < the_driver.type_count; i++) {
    purlin_input_schema(&the_driver.types[i], &faults);
    purlin_output_schema(&the_driver.types[i], &faults);
    previews = previews || the_driver.types[i].preview != NULL;
  }
  if (previews && !purlin_exports_preview) {
    purlin_add_text(&faults, text_of("a type has a `.preview`, which nothing exports: write `PURLIN_PREVIEW;`"));
  }
  if (!previews && purlin_exports_preview) {
    purlin_add_text(&faults, text_of("no type has a `.preview`: remove `PURLIN_PREVIEW;`"));
  }
  const json *notes = the_driver.notes != NULL ? json_read(text_of(the_driver.notes), NULL) : json_object();
  if (notes == NULL || notes->kind != JSON_OBJECT) purlin_add_text(&faults, text_of("the notes are no JSON object"));
  if (faults.length == 0) return true;
  growing all = {0};
  for (size_t i = 0; i < faults.length; i++) {
    grow(&all, i > 0 ? "\n" : "", i > 0);
    grow(&all, faults.items[i].at, faults.items[i].length);
  }
  return purlin_fail(failure, grown(&all));
}
