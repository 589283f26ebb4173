// The driver acme/note: a note in a folder that the operator granted.

#include <string.h>

#include "note.h"
#include "purlin/sha256.h"

// The content of the file. It has a digest of the signature, which is secret.
static text content_of(const note_inputs *note) {
  growing content = {0};
  grow_text(&content, note->text);
  grow_text(&content, text_of("\n"));
  if (note->signature != NULL) grow_text(&content, text_format("-- %s\n", sha256_hex(*note->signature).at));
  return grown(&content);
}

// The text of a file, without the signature, if any.
static text words_of(const note_inputs *note, text content) {
  size_t end = content.length;
  if (text_ends(content, "\n")) end--;
  for (size_t i = end; note->signature != NULL && i-- > 0;) {
    if (content.at[i] != '\n') continue;
    return text_part(content, 0, text_starts(text_part(content, i + 1, end), "-- ") ? i : end);
  }
  return text_part(content, 0, end);
}

static purlin_state state_of(const note_inputs *note, text title, text content) {
  note_outputs outputs = {.title = title, .path = note_path(title), .bytes = content.length};
  text mark;
  if (note->signature != NULL) {
    mark = text_format("%s:%s", title.at, note->signature->at);
    outputs.mark = &mark;
  }
  return note_outputs_state(title, &outputs);
}

// Gives a note without a title its own. Purlin checks everything that the schema says.
static bool driver_check(const purlin_request *request, purlin_checked *checked, purlin_failure *failure) {
  (void)checked, (void)failure;
  purlin_choose(request, "/values/title", json_text(text_part(request->subject.guresid, 0, 12)));
  return true;
}

static bool driver_name(const purlin_request *request, text *name, purlin_failure *failure) {
  note_inputs note;
  if (!note_inputs_decode(&request->inputs, &note, failure)) return false;
  *name = note.title != NULL ? *note.title : request->subject.guresid; // `check` gave it a title
  return true;
}

static bool driver_create(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  note_inputs note;
  if (!note_inputs_decode(&request->inputs, &note, failure)) return false;
  text content = content_of(&note), there;
  if (request->replaces != NULL && text_same(*request->replaces, request->name)) {
    return purlin_needs_delete_before(failure, text_format("the old note has the title `%s`, too", request->name.at));
  }
  if (!note_read(request->name, &there, failure)) return false;
  // A note with the same content is from an earlier attempt.
  if (there.at != NULL && !text_same(there, content)) {
    return purlin_conflict(failure, text_format("there is a note `%s` already", request->name.at));
  }
  // From here on, an interrupted call is resolved by this id.
  purlin_checkpoint(request->name);
  purlin_progress(text_of("writing the note"), -1);
  if (!note_write(request->name, content, failure)) return false;
  purlin_log(PURLIN_INFO, text_format("wrote the note `%s`", request->name.at));
  *state = state_of(&note, request->name, content);
  return true;
}

static bool driver_read(const purlin_request *request, purlin_observed *observed, purlin_failure *failure) {
  note_inputs note;
  if (!note_inputs_decode(&request->inputs, &note, failure)) return false;
  text title = request->id != NULL ? *request->id : request->name, content;
  if (strcspn(title.at, "/") != title.length) return true; // an import may ask for any id
  for (size_t i = 0; request->id == NULL && i < request->known.length; i++) {
    // This note belongs to another resource, and titles are unique.
    if (text_same(request->known.items[i], title)) return true;
  }
  if (!note_read(title, &content, failure)) return false;
  if (content.at == NULL) return true;
  if (request->id == NULL && !text_same(content, content_of(&note))) {
    return purlin_conflict(failure, text_format("the note `%s` is not this resource's", title.at));
  }
  note_inputs found = {.title = &title, .text = words_of(&note, content)};
  observed->state = state_of(&note, title, content);
  observed->values = note_inputs_values(&found);
  return true;
}

static bool driver_update_impact(const purlin_request *change, purlin_impact *impact, purlin_failure *failure) {
  (void)failure;
  if (purlin_changes(change, "/values/title")) return true; // the schema says that this replaces the note
  impact->delete_before_replace = true;                     // titles are unique
  purlin_add_text(&impact->stable_outputs, text_of("/outputs/title"));
  purlin_add_text(&impact->stable_outputs, text_of("/outputs/path"));
  return true;
}

static bool driver_update(const purlin_request *change, purlin_state *state, purlin_failure *failure) {
  note_inputs note;
  if (!note_inputs_decode(&change->inputs, &note, failure)) return false;
  text title = change->state->id, content = content_of(&note);
  if (note.title == NULL || !text_same(*note.title, title)) {
    return purlin_invalid_input(failure, "/values/title", "a note keeps its title; another is another note");
  }
  if (!note_write(title, content, failure)) return false;
  *state = state_of(&note, title, content);
  return true;
}

static bool driver_delete(const purlin_request *request, purlin_failure *failure) {
  return note_remove(request->state->id, failure);
}

static const purlin_type types[] = {{
    .name = "note",
    .inputs = note_inputs_form,
    .outputs = note_outputs_form,
    .repeat_create = true,
    .check = driver_check,
    .name_of = driver_name,
    .create = driver_create,
    .read = driver_read,
    .update_impact = driver_update_impact,
    .update = driver_update,
    .delete = driver_delete,
}};

static const purlin_requested_capability requested_capabilities[] = {
    {.capability = "dirs", .reason = "the folder of the notes, as /notes with mode `rw`"}};

const purlin_driver the_driver = {
    .name = "acme/note",
    .version = "0.1.0",
    .description = "A note in a folder that the operator granted.",
    .types = types,
    .type_count = 1,
    .requested_capabilities = requested_capabilities,
    .requested_capability_count = 1,
};
