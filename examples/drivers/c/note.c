// The driver acme/note: a note in a folder that the operator granted.

#include "note.h"

static purlin_state state_of(const note *note, text title, text content) {
  purlin_state state = {.id = title, .outputs = json_object(), .secrets = json_object()};
  json_set(state.outputs, "title", json_text(title));
  json_set(state.outputs, "path", json_text(note_path(title)));
  json_set(state.outputs, "bytes", json_int((int64_t)content.length));
  if (note->is_signed) {
    json_set(state.secrets, "mark", json_text(text_format("%s:%s", title.at, note->signature.at)));
  }
  return state;
}

static bool driver_check(const purlin_request *request, purlin_checked *checked, purlin_failure *failure) {
  purlin_findings faults = note_faults(&request->inputs);
  if (faults.length > 0) return purlin_invalid(failure, faults);
  if (json_is_null(json_item(checked->values, "title")) && !purlin_is_unknown(&request->inputs, "/values/title")) {
    json_set(checked->values, "title", json_text(text_part(request->subject.guresid, 0, 12)));
  }
  return true;
}

static bool driver_name(const purlin_request *request, text *name, purlin_failure *failure) {
  (void)failure;
  *name = note_from(&request->inputs).title;
  return true;
}

static bool driver_create(const purlin_request *request, purlin_state *state, purlin_failure *failure) {
  note note = note_from(&request->inputs);
  text content = note_content(&note), there;
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
  note note = note_from(&request->inputs);
  text title = request->id != NULL ? *request->id : request->name, content;
  if (!note_is_title(title)) return true;
  for (size_t i = 0; request->id == NULL && i < request->known.length; i++) {
    // This note belongs to another resource, and titles are unique.
    if (text_same(request->known.items[i], title)) return true;
  }
  if (!note_read(title, &content, failure)) return false;
  if (content.at == NULL) return true;
  if (request->id == NULL && !text_same(content, note_content(&note))) {
    return purlin_conflict(failure, text_format("the note `%s` is not this resource's", title.at));
  }
  observed->state = state_of(&note, title, content);
  observed->values = json_object();
  json_set(observed->values, "title", json_text(title));
  json_set(observed->values, "text", json_text(note_words_of(&note, content)));
  return true;
}

static bool driver_update_impact(const purlin_request *change, purlin_impact *impact, purlin_failure *failure) {
  (void)failure;
  if (purlin_changes(change, "/values/title")) {
    purlin_add_text(&impact->replaces, text_of("/values/title"));
  } else {
    impact->delete_before_replace = true; // titles are unique
    purlin_add_text(&impact->stable_outputs, text_of("/outputs/title"));
    purlin_add_text(&impact->stable_outputs, text_of("/outputs/path"));
  }
  return true;
}

static bool driver_update(const purlin_request *change, purlin_state *state, purlin_failure *failure) {
  note note = note_from(&change->inputs);
  text title = change->state->id, content = note_content(&note);
  if (!text_same(note.title, title)) {
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
    .inputs = INPUT_SCHEMA,
    .outputs = OUTPUT_SCHEMA,
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
