// Texts, and their memory.
//
// An instance of a driver serves one call and is discarded. So memory is allocated and never freed
// piece by piece: `memory_take` cannot fail (a driver without memory ends), and `memory_drop` frees
// all of it between two tests.
#ifndef PURLIN_TEXT_H
#define PURLIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

// Some bytes, mostly UTF-8. A zero byte follows them, so that C's own functions can read them; one
// may be among them, too. The empty text is all zeros.
typedef struct text {
  const char *at;
  size_t length;
} text;

// Memory for this many items of a size, all zeros, aligned for every type.
void *memory_take(size_t count, size_t size);

// Frees all allocated memory. Only tests need it.
void memory_drop(void);

// A literal or any other string that ends with a zero byte; it is not copied.
text text_of(const char *string);

// A copy of bytes.
text text_copy(const void *bytes, size_t length);

// A text formatted like `printf`.
text text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool text_same(text a, text b);
bool text_is(text a, const char *b);
bool text_starts(text a, const char *beginning);
bool text_ends(text a, const char *end);

// The text from one position to another; positions after its end mean its end.
text text_part(text whole, size_t from, size_t to);

// The same, with U+FFFD for invalid UTF-8.
text text_lossy(text bytes);

// A text that grows. All zeros is an empty one.
typedef struct growing {
  char *at;
  size_t length;
  size_t room;
} growing;

void grow(growing *whole, const void *bytes, size_t length);
void grow_text(growing *whole, text more);
text grown(growing *whole);

#endif
