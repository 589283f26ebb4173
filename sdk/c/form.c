// Reads inputs into structs, and writes structs as values and outputs.

#include "form.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define BASIC(type, is) \
  const purlin_form *type##_form(void) { \
    static const purlin_form form = {.kind = is, .size = sizeof(type)}; \
    return &form; \
  }

BASIC(text, PURLIN_IS_TEXT)
BASIC(bool, PURLIN_IS_BOOL)
BASIC(int, PURLIN_IS_INTEGER)
BASIC(int32_t, PURLIN_IS_INTEGER)
BASIC(int64_t, PURLIN_IS_INTEGER)
BASIC(uint16_t, PURLIN_IS_UNSIGNED)
BASIC(uint32_t, PURLIN_IS_UNSIGNED)
BASIC(uint64_t, PURLIN_IS_UNSIGNED)
BASIC(double, PURLIN_IS_DOUBLE)
BASIC(json_any, PURLIN_IS_ANY)

const purlin_form *texts_form(void) {
  static const purlin_form form = {.kind = PURLIN_IS_LIST, .size = sizeof(texts), .items = text_form};
  return &form;
}

// The members of every list and map.
typedef struct many {
  void *items;
  size_t length;
  text *names; // of a map
} many;

const char *purlin_field_name(const purlin_field *field) {
  return field->says.name != NULL ? field->says.name : field->member;
}

const char *purlin_group_name(purlin_group group) {
  static const char *const names[] = {"", "values", "secrets", "params", "connection", "account"};
  return names[group];
}

// Reading

static text pointer_to(text at, const char *name) { return purlin_pointer(at.at, text_of(name)); }

// Whether it is a null that is listed as unknown.
static bool is_unknown(const purlin_decoder *decoder, const json *value, text at) {
  for (size_t i = 0; json_is_null(value) && i < decoder->unknown.length; i++) {
    if (text_same(decoder->unknown.items[i], at)) return true;
  }
  return false;
}

static void fault(purlin_decoder *decoder, text at, const char *message) {
  purlin_add_finding(&decoder->faults, at, text_of(message));
}

// What JSON Schema treats as a whole number, such as 3.0 and 3e2, as digits.
static const json *whole(const json *value) {
  if (strpbrk(value->text.at, ".eE") == NULL) return value;
  double number = strtod(value->text.at, NULL);
  const double end = 9007199254740992; // 2^53
  bool is_small = number > -end && number < end;
  return is_small && (double)(int64_t)number == number ? json_int((int64_t)number) : value;
}

static void misfit(purlin_decoder *decoder, const json *digits, text at) {
  bool is_whole = strpbrk(digits->text.at, ".eE") == NULL;
  fault(decoder, at, is_whole ? "is too large or too small" : "has to be a whole number");
}

static void decode_integer(purlin_decoder *decoder, const json *value, const purlin_form *form, void *into, text at) {
  const json *digits = whole(value);
  int64_t number = 0;
  bool fits = json_as_int(digits, &number);
  if (form->size == sizeof number) {
    memcpy(into, &number, sizeof number);
  } else {
    int32_t small = (int32_t)number;
    fits = fits && small == number;
    memcpy(into, &small, sizeof small);
  }
  if (!fits) misfit(decoder, digits, at);
}

static void decode_unsigned(purlin_decoder *decoder, const json *value, const purlin_form *form, void *into, text at) {
  const json *digits = whole(value);
  uint64_t number = 0;
  bool fits = json_as_uint(digits, &number) || text_is(digits->text, "-0");
  if (form->size == sizeof number) {
    memcpy(into, &number, sizeof number);
  } else if (form->size == sizeof(uint32_t)) {
    uint32_t small = (uint32_t)number;
    fits = fits && small == number;
    memcpy(into, &small, sizeof small);
  } else {
    uint16_t small = (uint16_t)number;
    fits = fits && small == number;
    memcpy(into, &small, sizeof small);
  }
  if (!fits) misfit(decoder, digits, at);
}

static void decode_double(purlin_decoder *decoder, const json *value, void *into, text at) {
  double number = strtod(value->text.at, NULL);
  memcpy(into, &number, sizeof number);
  if (number > DBL_MAX || number < -DBL_MAX) fault(decoder, at, "is too large or too small");
  // Integers are exact: one that a double rounds is another number.
  bool is_negative = *value->text.at == '-';
  const json magnitude = {.kind = JSON_NUMBER, .text = text_part(value->text, is_negative, SIZE_MAX)};
  const double size = is_negative ? -number : number, end = 18446744073709551616.0; // 2^64
  uint64_t digits;
  if (json_as_uint(&magnitude, &digits) && (size >= end || (uint64_t)size != digits)) {
    fault(decoder, at, "has more digits than the driver can keep");
  }
}

static void decode_many(purlin_decoder *decoder, const json *value, const purlin_form *form, void *into, text at) {
  const purlin_form *of = form->items();
  many all = {.items = memory_take(value->length, of->size), .length = value->length};
  if (form->kind == PURLIN_IS_MAP) all.names = memory_take(value->length, sizeof(text));
  for (size_t i = 0; i < value->length; i++) {
    text below = all.names != NULL ? purlin_pointer(at.at, value->names[i]) : text_format("%s/%zu", at.at, i);
    if (all.names != NULL) all.names[i] = value->names[i];
    purlin_decode_value(decoder, value->items[i], of, false, (char *)all.items + i * of->size, below);
  }
  memcpy((char *)into + offsetof(many, items), &all.items, sizeof all.items);
  memcpy((char *)into + offsetof(many, length), &all.length, sizeof all.length);
  if (all.names != NULL) memcpy((char *)into + offsetof(many, names), &all.names, sizeof all.names);
}

// Reads a field from the object that may have it.
static void decode_field(purlin_decoder *decoder, const json *object, const purlin_field *field, void *into,
                         text at) {
  const char *name = purlin_field_name(field);
  const json *value = json_item(object, name);
  const purlin_form *form = field->form();
  text place = pointer_to(at, name);
  if (is_unknown(decoder, value, place)) return;
  if (value == NULL && field->says.default_value != NULL) value = purlin_literal(field->says.default_value, form);
  if (field->is_optional && json_is_null(value)) return;
  if (value == NULL) {
    fault(decoder, place, "is missing");
    return;
  }
  void *member = (char *)into + field->offset;
  if (field->is_optional) {
    void *own = memory_take(1, form->size);
    memcpy(member, &own, sizeof own);
    member = own;
  }
  purlin_decode_value(decoder, value, form, field->says.open, member, place);
}

// Names in an object that no field of the group has.
static void find_unknown_names(purlin_decoder *decoder, const json *object, const purlin_form *form,
                               purlin_group group, text at) {
  for (size_t i = 0; i < object->length; i++) {
    bool is_known = false;
    growing names = {0};
    for (size_t f = 0; f < form->field_count; f++) {
      const purlin_field *field = &form->fields[f];
      if (field->group != group) continue;
      const char *name = purlin_field_name(field);
      is_known = is_known || text_is(object->names[i], name);
      grow(&names, names.length > 0 ? ", " : "", names.length > 0 ? 2 : 0);
      grow(&names, name, strlen(name));
    }
    if (!is_known) {
      purlin_add_finding(&decoder->faults, purlin_pointer(at.at, object->names[i]),
                         text_format("is unknown; the names are %s", grown(&names).at));
    }
  }
}

void purlin_decode_value(purlin_decoder *decoder, const json *value, const purlin_form *form, bool open, void *into,
                         text at) {
  static const json_kind kinds[] = {
      [PURLIN_IS_TEXT] = JSON_TEXT,       [PURLIN_IS_BOOL] = JSON_BOOL,     [PURLIN_IS_INTEGER] = JSON_NUMBER,
      [PURLIN_IS_UNSIGNED] = JSON_NUMBER, [PURLIN_IS_DOUBLE] = JSON_NUMBER, [PURLIN_IS_LIST] = JSON_LIST,
      [PURLIN_IS_MAP] = JSON_OBJECT,      [PURLIN_IS_STRUCT] = JSON_OBJECT};
  static const char *const words[] = {
      [PURLIN_IS_TEXT] = "has to be a text",
      [PURLIN_IS_BOOL] = "has to be true or false",
      [PURLIN_IS_INTEGER] = "has to be a whole number",
      [PURLIN_IS_UNSIGNED] = "has to be a whole number",
      [PURLIN_IS_DOUBLE] = "has to be a number",
      [PURLIN_IS_LIST] = "has to be a list",
      [PURLIN_IS_MAP] = "has to be a map",
      [PURLIN_IS_STRUCT] = "has to be a map",
  };
  if (is_unknown(decoder, value, at)) return;
  if (value == NULL || (form->kind != PURLIN_IS_ANY && value->kind != kinds[form->kind])) {
    fault(decoder, at, form->kind == PURLIN_IS_ANY ? "is missing" : words[form->kind]);
    return;
  }
  switch (form->kind) {
  case PURLIN_IS_ANY:
    memcpy(into, &value, sizeof value);
    break;
  case PURLIN_IS_TEXT:
    memcpy(into, &value->text, sizeof value->text);
    break;
  case PURLIN_IS_BOOL:
    memcpy(into, &value->truth, sizeof value->truth);
    break;
  case PURLIN_IS_INTEGER:
    decode_integer(decoder, value, form, into, at);
    break;
  case PURLIN_IS_UNSIGNED:
    decode_unsigned(decoder, value, form, into, at);
    break;
  case PURLIN_IS_DOUBLE:
    decode_double(decoder, value, into, at);
    break;
  case PURLIN_IS_LIST:
  case PURLIN_IS_MAP:
    decode_many(decoder, value, form, into, at);
    break;
  case PURLIN_IS_STRUCT:
    for (size_t i = 0; i < form->field_count; i++) decode_field(decoder, value, &form->fields[i], into, at);
    if (decoder->is_strict && !open) find_unknown_names(decoder, value, form, PURLIN_GROUP_none, at);
    break;
  }
}

// Reads all groups that the table has.
static void decode_groups(purlin_decoder *decoder, const purlin_inputs *inputs, const purlin_form *form, void *into) {
  for (purlin_group group = PURLIN_GROUP_values; group <= PURLIN_GROUP_account; group++) {
    const char *name = purlin_group_name(group);
    const json *given = json_item(inputs->document, name);
    text at = text_format("/%s", name);
    if (is_unknown(decoder, given, at)) continue;
    if (json_is_null(given)) given = json_object();
    bool is_there = false;
    for (size_t i = 0; i < form->field_count; i++) {
      const purlin_field *field = &form->fields[i];
      if (field->group != group) continue;
      if (!is_there && given->kind != JSON_OBJECT) fault(decoder, at, "has to be a map");
      is_there = true;
      if (given->kind == JSON_OBJECT) decode_field(decoder, given, field, into, at);
    }
    if (is_there && decoder->is_strict && given->kind == JSON_OBJECT) {
      find_unknown_names(decoder, given, form, group, at);
    }
  }
}

bool purlin_decode(const purlin_inputs *inputs, const purlin_form *form, void *into, purlin_failure *failure) {
  purlin_decoder decoder = {.unknown = inputs->unknown};
  memset(into, 0, form->size);
  decode_groups(&decoder, inputs, form, into);
  if (decoder.faults.length == 0) return true;
  memset(into, 0, form->size);
  return purlin_invalid(failure, decoder.faults);
}

purlin_findings purlin_faults(const purlin_inputs *inputs, const purlin_form *form) {
  purlin_decoder decoder = {.unknown = inputs->unknown, .is_strict = true};
  decode_groups(&decoder, inputs, form, memory_take(1, form->size));
  return decoder.faults;
}

json *purlin_literal(const char *literal, const purlin_form *form) {
  return form->kind == PURLIN_IS_TEXT ? json_text(text_of(literal)) : json_read(text_of(literal), NULL);
}

// Writing

// What a field has; NULL if it is left out.
static const void *member_of(const purlin_field *field, const void *from) {
  const void *member = (const char *)from + field->offset;
  if (field->is_optional) memcpy(&member, member, sizeof member);
  return member;
}

// A value as JSON. Places of secrets within it are added to `sensitive`, unless that is NULL.
static json *encode(const purlin_form *form, const void *from, text at, texts *sensitive) {
  switch (form->kind) {
  case PURLIN_IS_ANY: {
    const json_any *any = from;
    return *any != NULL ? *any : json_null();
  }
  case PURLIN_IS_TEXT: {
    const text *string = from;
    return json_text(string->at != NULL ? *string : text_of(""));
  }
  case PURLIN_IS_BOOL:
    return json_bool(*(const bool *)from);
  case PURLIN_IS_INTEGER:
    return json_int(form->size == sizeof(int64_t) ? *(const int64_t *)from : *(const int32_t *)from);
  case PURLIN_IS_UNSIGNED:
    return json_uint(form->size == sizeof(uint64_t)   ? *(const uint64_t *)from
                     : form->size == sizeof(uint32_t) ? *(const uint32_t *)from
                                                      : *(const uint16_t *)from);
  case PURLIN_IS_DOUBLE:
    return json_double(*(const double *)from);
  case PURLIN_IS_LIST:
  case PURLIN_IS_MAP: {
    json *all = form->kind == PURLIN_IS_MAP ? json_object() : json_list();
    const purlin_form *of = form->items();
    many given = {0};
    memcpy(&given, from, form->size < sizeof given ? form->size : sizeof given);
    for (size_t i = 0; i < given.length; i++) {
      text name = form->kind == PURLIN_IS_MAP ? given.names[i] : text_format("%zu", i);
      json *item = encode(of, (const char *)given.items + i * of->size, purlin_pointer(at.at, name), sensitive);
      if (form->kind == PURLIN_IS_MAP) {
        json_set_named(all, name, item);
      } else {
        json_add(all, item);
      }
    }
    return all;
  }
  case PURLIN_IS_STRUCT: {
    json *object = json_object();
    for (size_t i = 0; i < form->field_count; i++) {
      const purlin_field *field = &form->fields[i];
      const void *member = member_of(field, from);
      if (member == NULL) continue;
      text below = pointer_to(at, purlin_field_name(field));
      if (field->says.secret && sensitive != NULL) purlin_add_text(sensitive, below);
      json_set(object, purlin_field_name(field), encode(field->form(), member, below, sensitive));
    }
    return object;
  }
  }
  return json_null();
}

json *purlin_values(const purlin_form *form, const void *from) {
  json *values = json_object();
  for (size_t i = 0; i < form->field_count; i++) {
    const purlin_field *field = &form->fields[i];
    const void *member = field->group == PURLIN_GROUP_values ? member_of(field, from) : NULL;
    if (member != NULL) json_set(values, purlin_field_name(field), encode(field->form(), member, text_of(""), NULL));
  }
  return values;
}

purlin_state purlin_state_of(text id, const purlin_form *form, const void *outputs) {
  purlin_state state = {.id = id, .outputs = json_object(), .secrets = json_object()};
  for (size_t i = 0; i < form->field_count; i++) {
    const purlin_field *field = &form->fields[i];
    const void *member = member_of(field, outputs);
    if (member == NULL) continue;
    bool secret = field->says.secret;
    text at = pointer_to(text_of("/outputs"), purlin_field_name(field));
    json *value = encode(field->form(), member, at, secret ? NULL : &state.sensitive);
    json_set(secret ? state.secrets : state.outputs, purlin_field_name(field), value);
  }
  return state;
}

purlin_forecast purlin_forecast_of(const purlin_form *form, const void *outputs) {
  purlin_state state = purlin_state_of((text){0}, form, outputs);
  return (purlin_forecast){.outputs = state.outputs, .secrets = state.secrets, .sensitive = state.sensitive};
}
