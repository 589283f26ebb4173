// The inputs of the driver.

#include "note.h"
#include "purlin/sha256.h"

enum { LONGEST = 64 << 10 };

note note_from(const purlin_inputs *inputs) {
  const json *signature = purlin_get(inputs, "/secrets/signature");
  return (note){
      .title = json_as_text(purlin_get(inputs, "/values/title")),
      .words = json_as_text(purlin_get(inputs, "/values/text")),
      .is_signed = !json_is_null(signature),
      .signature = json_as_text(signature),
  };
}

text note_content(const note *note) {
  growing content = {0};
  grow(&content, note->words.at, note->words.length);
  grow(&content, "\n", 1);
  if (note->is_signed) {
    text line = text_format("-- %s\n", sha256_hex(note->signature).at);
    grow(&content, line.at, line.length);
  }
  return grown(&content);
}

text note_words_of(const note *note, text content) {
  size_t end = content.length;
  if (text_ends(content, "\n")) end--;
  for (size_t i = end; note->is_signed && i-- > 0;) {
    if (content.at[i] != '\n') continue;
    return text_part(content, 0, text_starts(text_part(content, i + 1, end), "-- ") ? i : end);
  }
  return text_part(content, 0, end);
}

bool note_is_title(text title) {
  for (size_t i = 0; i < title.length; i++) {
    char c = title.at[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!plain && (c != '-' || i == 0)) return false;
  }
  return title.length >= 1 && title.length <= 63;
}

static const char *too_long(text words) { return words.length > LONGEST ? "is longer than 64 KiB" : NULL; }

static const char *no_title(text title) {
  return note_is_title(title) ? NULL : "has to be up to 63 lower-case letters, digits and dashes";
}

// The names in one part of the inputs, and the allowed ones.
static const struct {
  const char *part, *name, *pointer;
  bool required;
  const char *(*fault)(text);
} KNOWN[] = {
    {"/values", "text", "/values/text", true, too_long},
    {"/values", "title", "/values/title", false, no_title},
    {"/secrets", "signature", "/secrets/signature", false, NULL},
};
enum { KNOWN_COUNT = sizeof KNOWN / sizeof *KNOWN };

static void add_unknown_keys(const purlin_inputs *inputs, const char *part, purlin_findings *faults) {
  const json *object = purlin_get(inputs, part);
  for (size_t i = 0; object != NULL && i < object->length; i++) {
    bool known = false;
    for (size_t k = 0; k < KNOWN_COUNT; k++) {
      known = known || (text_is(text_of(KNOWN[k].part), part) && text_is(object->names[i], KNOWN[k].name));
    }
    if (!known) purlin_add_finding(faults, purlin_pointer(part, object->names[i]), text_of("is not known"));
  }
}

purlin_findings note_faults(const purlin_inputs *inputs) {
  purlin_findings faults = {0};
  add_unknown_keys(inputs, "/values", &faults);
  add_unknown_keys(inputs, "/secrets", &faults);
  for (size_t k = 0; k < KNOWN_COUNT; k++) {
    const char *pointer = KNOWN[k].pointer, *fault = NULL;
    const json *value = purlin_get(inputs, pointer);
    if (json_is_null(value)) {
      if (KNOWN[k].required && !purlin_is_unknown(inputs, pointer)) fault = "is missing";
    } else if (value->kind != JSON_TEXT) {
      fault = "has to be a text";
    } else if (KNOWN[k].fault != NULL) {
      fault = KNOWN[k].fault(value->text);
    }
    if (fault != NULL) purlin_add_finding(&faults, text_of(pointer), text_of(fault));
  }
  return faults;
}

const char INPUT_SCHEMA[] =
    "{\"type\": \"object\", \"required\": [\"values\"], \"properties\": {"
    "  \"values\": {\"type\": \"object\", \"required\": [\"text\"], \"additionalProperties\": false, \"properties\": {"
    "    \"text\": {\"type\": \"string\", \"maxLength\": 65536, \"description\": \"The text of the note.\"},"
    "    \"title\": {\"type\": \"string\", \"pattern\": \"^[a-z0-9][a-z0-9-]{0,62}$\","
    "      \"description\": \"The name of the note. By default it is derived from the id of the resource.\"}}},"
    "  \"secrets\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "    \"signature\": {\"type\": \"string\", \"description\": \"Its digest is put below the text.\"}}}}}";

const char OUTPUT_SCHEMA[] =
    "{\"type\": \"object\", \"required\": [\"title\", \"path\", \"bytes\"], \"additionalProperties\": false, \"properties\": {"
    "  \"title\": {\"type\": \"string\"},"
    "  \"path\": {\"type\": \"string\", \"description\": \"The path in the driver's folder.\"},"
    "  \"bytes\": {\"type\": \"integer\", \"description\": \"The size of the file.\"},"
    "  \"mark\": {\"type\": \"string\", \"writeOnly\": true, \"description\": \"Title and signature.\"}}}";
