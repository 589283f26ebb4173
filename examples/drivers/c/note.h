// A note: the inputs of the driver (inputs.c), and its files (files.c).
#ifndef NOTE_H
#define NOTE_H

#include "purlin/purlin.h"

// A note's inputs after `check`.
typedef struct note {
  text title;
  text words;
  bool is_signed;
  text signature;
} note;

extern const char INPUT_SCHEMA[];
extern const char OUTPUT_SCHEMA[];

// All faults of the inputs. Unknown values are not checked.
purlin_findings note_faults(const purlin_inputs *inputs);

note note_from(const purlin_inputs *inputs);

bool note_is_title(text title);

// The content of the file. It has a digest of the signature, which is secret.
text note_content(const note *note);

// The text of a file, without the signature, if any.
text note_words_of(const note *note, text content);

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
