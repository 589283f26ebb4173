// The notes, as files.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "note.h"

const char *note_folder = "/notes";

text note_path(text title) { return text_format("%s/%s.md", note_folder, title.at); }

// The path of a note that is being written.
static text beside(text title) { return text_format("%s/.%s.tmp", note_folder, title.at); }

static bool failed(purlin_failure *failure, const char *what, text title) {
  int error = errno;
  text message = text_format("cannot %s the note `%s`: %s", what, title.at, strerror(error));
  bool denied = error == EACCES || error == EPERM || error == EROFS;
  return denied ? purlin_denied(failure, "dirs", text_of("/notes"), message) : purlin_fail(failure, message);
}

static bool granted(purlin_failure *failure) {
  struct stat found;
  if (stat(note_folder, &found) == 0 && S_ISDIR(found.st_mode)) return true;
  return purlin_denied(failure, "dirs", text_of("/notes"), text_of("notes are kept in this folder"));
}

bool note_read(text title, text *content, purlin_failure *failure) {
  *content = (text){0};
  if (!granted(failure)) return false;
  FILE *file = fopen(note_path(title).at, "rb");
  if (file == NULL) return errno == ENOENT || failed(failure, "read", title);
  growing whole = {0};
  char bytes[4096];
  size_t length;
  while ((length = fread(bytes, 1, sizeof bytes, file)) > 0) grow(&whole, bytes, length);
  bool done = !ferror(file) || failed(failure, "read", title);
  fclose(file);
  if (done) *content = grown(&whole);
  return done;
}

bool note_write(text title, text content, purlin_failure *failure) {
  if (!granted(failure)) return false;
  FILE *file = fopen(beside(title).at, "wb");
  if (file == NULL) return failed(failure, "write", title);
  bool written = fwrite(content.at, 1, content.length, file) == content.length;
  // Closing the file writes the rest, and may fail.
  if (fclose(file) == 0 && written && rename(beside(title).at, note_path(title).at) == 0) return true;
  return failed(failure, "write", title);
}

bool note_remove(text title, purlin_failure *failure) {
  if (!granted(failure)) return false;
  // Possible remains of an interrupted attempt.
  unlink(beside(title).at);
  return unlink(note_path(title).at) == 0 || errno == ENOENT || failed(failure, "remove", title);
}
