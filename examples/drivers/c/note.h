// A note: its inputs and outputs, and its file.
#ifndef NOTE_H
#define NOTE_H

#include "purlin/form.h"

// The schema comes from these lines: Purlin rejects inputs that do not fit before it calls the driver.
#define NOTE_INPUTS(field, optional) \
  field(values, text, text, "The text of the note.", .max_length = 65536) \
  optional(values, text, title, "The name of the note. By default it is derived from the id of the resource.", \
           .pattern = "^[a-z0-9][a-z0-9-]{0,62}$", .replaces = true) \
  optional(secrets, text, signature, "Its digest is put below the text.")

#define NOTE_OUTPUTS(field, optional) \
  field(text, title, "The name of the note.") \
  field(text, path, "The path in the driver's folder.") \
  field(uint64_t, bytes, "The size of the file.") \
  optional(text, mark, "Title and signature.", .secret = true)

PURLIN_INPUTS(note_inputs, NOTE_INPUTS);
PURLIN_OUTPUTS(note_outputs, NOTE_OUTPUTS);

// The files, in files.c.

// The folder of the notes. Tests use another one.
extern const char *note_folder;

text note_path(text title);

// Reads a file; `content->at` is NULL if it does not exist.
bool note_read(text title, text *content, purlin_failure *failure);

// Writes a file completely or not at all, even if the process is killed.
bool note_write(text title, text content, purlin_failure *failure);

// Removes a file; a missing one is fine.
bool note_remove(text title, purlin_failure *failure);

#endif
