#include "text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 << 10 };

// Blocks of memory, each with the one before it.
typedef struct block {
  struct block *before;
  size_t used;
  size_t room;
  _Alignas(max_align_t) char bytes[];
} block;

static block *newest;

static void end_without_memory(void) {
  fputs("out of memory\n", stderr);
  abort();
}

void *memory_take(size_t count, size_t size) {
  const size_t align = _Alignof(max_align_t);
  if (size != 0 && count > (SIZE_MAX - BLOCK) / size) end_without_memory();
  size_t wanted = (count * size + align - 1) / align * align;
  if (newest == NULL || wanted > newest->room - newest->used) {
    size_t room = wanted > BLOCK ? wanted : BLOCK;
    block *fresh = malloc(sizeof(block) + room);
    if (fresh == NULL) end_without_memory();
    *fresh = (block){.before = newest, .used = 0, .room = room};
    newest = fresh;
  }
  void *place = newest->bytes + newest->used;
  newest->used += wanted;
  return memset(place, 0, wanted);
}

void memory_drop(void) {
  while (newest != NULL) {
    block *before = newest->before;
    free(newest);
    newest = before;
  }
}

text text_of(const char *string) { return (text){string, strlen(string)}; }

text text_copy(const void *bytes, size_t length) {
  growing copy = {0};
  grow(&copy, bytes, length);
  return grown(&copy);
}

text text_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) return (text){0};
  char *at = memory_take((size_t)length + 1, 1);
  va_start(arguments, format);
  vsnprintf(at, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return (text){at, (size_t)length};
}

bool text_same(text a, text b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

bool text_is(text a, const char *b) { return text_same(a, text_of(b)); }

bool text_starts(text a, const char *beginning) {
  return text_is(text_part(a, 0, strlen(beginning)), beginning);
}

bool text_ends(text a, const char *end) {
  size_t length = strlen(end);
  return length <= a.length && text_is(text_part(a, a.length - length, a.length), end);
}

text text_part(text whole, size_t from, size_t to) {
  if (to > whole.length) to = whole.length;
  if (from > to) from = to;
  return text_copy(whole.at == NULL ? "" : whole.at + from, to - from);
}

// How many bytes the character there has; 0 if there is none.
static size_t character(const unsigned char *at, size_t left) {
  if (at[0] < 0x80) return 1;
  size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4 || left < length) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
  }
  // Overlong encodings, surrogates, and values beyond Unicode.
  if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)) return 0;
  if ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)) return 0;
  return length;
}

text text_lossy(text bytes) {
  growing clean = {0};
  for (size_t i = 0; i < bytes.length;) {
    size_t length = character((const unsigned char *)bytes.at + i, bytes.length - i);
    if (length == 0) {
      grow(&clean, "\xef\xbf\xbd", 3);
      i++;
    } else {
      grow(&clean, bytes.at + i, length);
      i += length;
    }
  }
  return grown(&clean);
}

void grow(growing *whole, const void *bytes, size_t length) {
  if (length > SIZE_MAX / 4 - whole->length) end_without_memory();
  if (whole->length + length + 1 > whole->room) {
    size_t room = 2 * (whole->length + length) + 32;
    char *more = memory_take(room, 1);
    if (whole->length > 0) memcpy(more, whole->at, whole->length);
    whole->at = more;
    whole->room = room;
  }
  if (length > 0) memcpy(whole->at + whole->length, bytes, length);
  whole->length += length;
  whole->at[whole->length] = '\0';
}

void grow_text(growing *whole, text more) { grow(whole, more.at, more.length); }

text grown(growing *whole) {
  return whole->at == NULL ? text_of("") : (text){whole->at, whole->length};
}
