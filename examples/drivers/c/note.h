// A note: what the driver is given (inputs.c), and the files that it keeps (files.c).
#ifndef NOTE_H
#define NOTE_H

#include "purlin/purlin.h"

// A note's inputs, as `check` leaves them.
typedef struct note {
  text title;
  text words;
  bool is_signed;
  text signature;
} note;

extern const char INPUT_SCHEMA[];
extern const char OUTPUT_SCHEMA[];

// Everything that is wrong with the inputs. What is not known yet is not judged.
purlin_faults note_faults(const purlin_inputs *inputs);

note note_from(const purlin_inputs *inputs);

bool note_is_title(text title);

// What is to be in the file. A digest stands for the signature, which is a secret.
text note_content(const note *note);

// The words of a file, without the signature where the note is signed.
text note_words_of(const note *note, text content);

// The folder of the notes. Tests have another.
extern const char *note_folder;

text note_path(text title);

// Reads a file; `content->at` is NULL where there is none.
bool note_read(text title, text *content, purlin_failure *failure);

// Writes a file whole or not at all, even if this is killed.
bool note_write(text title, text content, purlin_failure *failure);

// Removes a file; one that is gone already is fine.
bool note_remove(text title, purlin_failure *failure);

#endif
