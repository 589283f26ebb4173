#include "json.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 128 };

// The rest to read.
typedef struct reader {
  const char *at;
  const char *end;
  int depth;
  const char *fault;
} reader;

static json *make(json_kind kind) {
  json *value = memory_take(1, sizeof(json));
  value->kind = kind;
  return value;
}

// The first fault is reported.
static bool refuse(reader *from, const char *fault) {
  if (from->fault == NULL) from->fault = fault;
  return false;
}

static json *wrong(reader *from, const char *fault) {
  refuse(from, fault);
  return NULL;
}

static bool is(const reader *from, char c) { return from->at < from->end && *from->at == c; }

static bool take(reader *from, char c) {
  bool there = is(from, c);
  if (there) from->at++;
  return there;
}

static void skip_space(reader *from) {
  while (is(from, ' ') || is(from, '\n') || is(from, '\r') || is(from, '\t')) from->at++;
}

static size_t skip_digits(reader *from) {
  size_t count = 0;
  for (; from->at < from->end && *from->at >= '0' && *from->at <= '9'; from->at++) count++;
  return count;
}

static json *read_number(reader *from) {
  const char *start = from->at;
  take(from, '-');
  if (!take(from, '0') && skip_digits(from) == 0) return wrong(from, "not a number");
  if (take(from, '.') && skip_digits(from) == 0) return wrong(from, "a number without digits after its point");
  if (take(from, 'e') || take(from, 'E')) {
    if (!take(from, '+')) take(from, '-');
    if (skip_digits(from) == 0) return wrong(from, "a number without an exponent");
  }
  json *value = make(JSON_NUMBER);
  value->text = text_copy(start, (size_t)(from->at - start));
  return value;
}

// Four hexadecimal digits; -1 if there are none.
static int32_t read_unit(reader *from) {
  if (from->end - from->at < 4) return -1;
  int32_t unit = 0;
  for (int i = 0; i < 4; i++) {
    char c = *from->at++;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

static void grow_character(growing *whole, uint32_t c) {
  char bytes[4];
  size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char first[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
  for (size_t i = length; i-- > 1; c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3f));
  bytes[0] = (char)(first[length] | c);
  grow(whole, bytes, length);
}

// A character written as `\uXXXX`, or as two of them. Half of a pair is invalid: U+FFFD.
static bool read_escaped(reader *from, growing *whole) {
  int32_t unit = read_unit(from);
  if (unit < 0) return false;
  uint32_t c = (uint32_t)unit;
  if (c >= 0xd800 && c <= 0xdfff) {
    reader ahead = *from;
    int32_t second = take(&ahead, '\\') && take(&ahead, 'u') ? read_unit(&ahead) : -1;
    if (c < 0xdc00 && second >= 0xdc00 && second <= 0xdfff) {
      c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
      *from = ahead;
    } else {
      c = 0xfffd;
    }
  }
  grow_character(whole, c);
  return true;
}

// The character after a backslash.
static bool read_escape(reader *from, growing *whole) {
  static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  char c = from->at < from->end ? *from->at++ : '\0';
  const char *escape = c == '\0' ? NULL : strchr(escapes, c);
  if (escape != NULL) grow(whole, &meant[escape - escapes], 1);
  return escape != NULL || (c == 'u' && read_escaped(from, whole)) || refuse(from, "an unknown escape");
}

static bool read_string(reader *from, text *string) {
  growing whole = {0};
  if (!take(from, '"')) return refuse(from, "a name without quotation marks");
  while (!take(from, '"')) {
    const char *start = from->at;
    while (from->at < from->end && *from->at != '"' && *from->at != '\\' && (unsigned char)*from->at >= 0x20) {
      from->at++;
    }
    grow(&whole, start, (size_t)(from->at - start));
    if (take(from, '\\')) {
      if (!read_escape(from, &whole)) return false;
    } else if (!is(from, '"')) {
      return refuse(from, "a text that does not end, or with a control character");
    }
  }
  *string = text_lossy(grown(&whole));
  return true;
}

static void append(json *to, text name, json *value) {
  if (to->length == to->room) {
    size_t room = 2 * to->room + 8;
    json **items = memory_take(room, sizeof(json *));
    text *names = memory_take(to->kind == JSON_OBJECT ? room : 0, sizeof(text));
    if (to->length > 0) {
      memcpy(items, to->items, to->length * sizeof(json *));
      if (to->kind == JSON_OBJECT) memcpy(names, to->names, to->length * sizeof(text));
    }
    to->items = items;
    to->names = names;
    to->room = room;
  }
  if (to->kind == JSON_OBJECT) to->names[to->length] = name;
  to->items[to->length++] = value;
}

static json *read_value(reader *from);

// A list or an object, after its first bracket.
static json *read_many(reader *from, json_kind kind, char last) {
  json *value = make(kind);
  if (++from->depth > DEEPEST) return wrong(from, "nested too deep");
  skip_space(from);
  while (!take(from, last)) {
    text name = {0};
    if (value->length > 0) {
      if (!take(from, ',')) return wrong(from, "no comma between two items");
      skip_space(from);
    }
    if (kind == JSON_OBJECT) {
      if (!read_string(from, &name)) return NULL;
      skip_space(from);
      if (!take(from, ':')) return wrong(from, "no colon after a name");
    }
    json *item = read_value(from);
    if (item == NULL) return NULL;
    append(value, name, item);
  }
  from->depth--;
  return value;
}

static bool take_word(reader *from, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(from->end - from->at) < length || memcmp(from->at, word, length) != 0) return false;
  from->at += length;
  return true;
}

static json *read_value(reader *from) {
  json *value = NULL;
  skip_space(from);
  if (take(from, '{')) {
    value = read_many(from, JSON_OBJECT, '}');
  } else if (take(from, '[')) {
    value = read_many(from, JSON_LIST, ']');
  } else if (is(from, '"')) {
    text string;
    if (read_string(from, &string)) value = json_text(string);
  } else if (take_word(from, "null")) {
    value = json_null();
  } else if (take_word(from, "true")) {
    value = json_bool(true);
  } else if (take_word(from, "false")) {
    value = json_bool(false);
  } else {
    value = read_number(from);
  }
  skip_space(from);
  return value;
}

json *json_read(text document, const char **fault) {
  const char *start = document.at == NULL ? "" : document.at;
  reader from = {.at = start, .end = start + document.length};
  json *value = read_value(&from);
  if (value != NULL && from.at != from.end) value = wrong(&from, "something after its end");
  if (fault != NULL) *fault = from.fault;
  return value;
}

static void write_text(growing *whole, text string) {
  string = text_lossy(string);
  grow(whole, "\"", 1);
  for (size_t i = 0; i < string.length; i++) {
    unsigned char c = (unsigned char)string.at[i];
    if (c == '"' || c == '\\') {
      grow(whole, c == '"' ? "\\\"" : "\\\\", 2);
    } else if (c < 0x20) {
      static const char digits[] = "0123456789abcdef";
      char escape[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
      grow(whole, escape, sizeof escape);
    } else {
      grow(whole, &string.at[i], 1);
    }
  }
  grow(whole, "\"", 1);
}

static void write_value(growing *whole, const json *value) {
  if (json_is_null(value)) {
    grow(whole, "null", 4);
  } else if (value->kind == JSON_BOOL) {
    grow(whole, value->truth ? "true" : "false", value->truth ? 4 : 5);
  } else if (value->kind == JSON_NUMBER) {
    grow(whole, value->text.at, value->text.length);
  } else if (value->kind == JSON_TEXT) {
    write_text(whole, value->text);
  } else {
    bool named = value->kind == JSON_OBJECT;
    grow(whole, named ? "{" : "[", 1);
    for (size_t i = 0; i < value->length; i++) {
      if (i > 0) grow(whole, ",", 1);
      if (named) {
        write_text(whole, value->names[i]);
        grow(whole, ":", 1);
      }
      write_value(whole, value->items[i]);
    }
    grow(whole, named ? "}" : "]", 1);
  }
}

text json_write(const json *value) {
  growing whole = {0};
  write_value(&whole, value);
  return grown(&whole);
}

json *json_null(void) { return make(JSON_NULL); }

json *json_bool(bool truth) {
  json *value = make(JSON_BOOL);
  value->truth = truth;
  return value;
}

json *json_int(int64_t number) {
  json *value = make(JSON_NUMBER);
  value->text = text_format("%" PRId64, number);
  return value;
}

json *json_uint(uint64_t number) {
  json *value = make(JSON_NUMBER);
  value->text = text_format("%" PRIu64, number);
  return value;
}

// The shortest of these texts that is read as the same number.
json *json_double(double number) {
  if (number > DBL_MAX || number < -DBL_MAX || number != number) return json_null();
  json *value = make(JSON_NUMBER);
  for (int digits = 15; digits <= 17; digits++) {
    value->text = text_format("%.*g", digits, number);
    if (strtod(value->text.at, NULL) == number) break;
  }
  return value;
}

json *json_text(text string) {
  json *value = make(JSON_TEXT);
  value->text = string;
  return value;
}

json *json_list(void) { return make(JSON_LIST); }

json *json_object(void) { return make(JSON_OBJECT); }

void json_add(json *list, json *value) {
  if (list != NULL && list->kind == JSON_LIST) append(list, (text){0}, value);
}

// The index of an object's item; of two with the same name, the last one. SIZE_MAX: none.
static size_t find(const json *object, text name) {
  if (object == NULL || object->kind != JSON_OBJECT) return SIZE_MAX;
  for (size_t i = object->length; i-- > 0;) {
    if (text_same(object->names[i], name)) return i;
  }
  return SIZE_MAX;
}

void json_set_named(json *object, text name, json *value) {
  if (object == NULL || object->kind != JSON_OBJECT) return;
  size_t there = find(object, name);
  if (there == SIZE_MAX) {
    append(object, text_copy(name.at, name.length), value);
  } else {
    object->items[there] = value;
  }
}

void json_set(json *object, const char *name, json *value) { json_set_named(object, text_of(name), value); }

static json *item(const json *value, text name) {
  size_t there = find(value, name);
  if (there == SIZE_MAX && value != NULL && value->kind == JSON_LIST && name.length > 0 && name.length < 10 &&
      strspn(name.at, "0123456789") == name.length) {
    there = strtoul(name.at, NULL, 10);
  }
  return value != NULL && there < value->length ? value->items[there] : NULL;
}

json *json_item(const json *object, const char *name) {
  return object != NULL && object->kind == JSON_OBJECT ? item(object, text_of(name)) : NULL;
}

// The next name of a pointer, which then begins after it.
static text next_name(const char **pointer) {
  growing name = {0};
  const char *at = *pointer + 1;
  for (; *at != '\0' && *at != '/'; at++) {
    char c = *at;
    if (c == '~' && (at[1] == '0' || at[1] == '1')) c = *++at == '0' ? '~' : '/';
    grow(&name, &c, 1);
  }
  *pointer = at;
  return grown(&name);
}

json *json_at(const json *value, const char *pointer) {
  const json *at = value;
  while (at != NULL && *pointer == '/') at = item(at, next_name(&pointer));
  return *pointer == '\0' ? (json *)at : NULL;
}

void json_put(json *value, const char *pointer, json *item) {
  const char *last = strrchr(pointer, '/');
  if (last == NULL) return;
  json *object = json_at(value, text_copy(pointer, (size_t)(last - pointer)).at);
  json_set_named(object, next_name(&last), item);
}

bool json_is_null(const json *value) { return value == NULL || value->kind == JSON_NULL; }

text json_as_text(const json *value) {
  return value != NULL && value->kind == JSON_TEXT ? value->text : text_of("");
}

bool json_as_int(const json *value, int64_t *number) {
  if (value == NULL || value->kind != JSON_NUMBER) return false;
  char *end;
  errno = 0;
  long long read = strtoll(value->text.at, &end, 10);
  *number = read;
  return errno == 0 && *end == '\0';
}

bool json_as_uint(const json *value, uint64_t *number) {
  // A negative number would be read as a large one.
  if (value == NULL || value->kind != JSON_NUMBER || text_starts(value->text, "-")) return false;
  char *end;
  errno = 0;
  unsigned long long read = strtoull(value->text.at, &end, 10);
  *number = read;
  return errno == 0 && *end == '\0';
}

bool json_as_double(const json *value, double *number) {
  if (value == NULL || value->kind != JSON_NUMBER) return false;
  *number = strtod(value->text.at, NULL);
  return true;
}

bool json_same(const json *a, const json *b) {
  if (json_is_null(a) || json_is_null(b)) return json_is_null(a) && json_is_null(b);
  if (a->kind != b->kind || a->length != b->length || a->truth != b->truth) return false;
  if (!text_same(a->text, b->text)) return false;
  for (size_t i = 0; i < a->length; i++) {
    const json *other = b->items[i];
    if (a->kind == JSON_OBJECT && !text_same(a->names[i], b->names[i])) other = item(b, a->names[i]);
    if (other == NULL || !json_same(a->items[i], other)) return false;
  }
  return true;
}
