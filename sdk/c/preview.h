// What an effect would make, before it happens (`purlin:preview`): which outputs are certain, and which parts the
// effect would create, change or delete.
//
// A type that foresees its effects has the function `preview`, and its driver exports it, once:
//
//   PURLIN_PREVIEW;
//
// Without this line, the linker omits the preview, and Purlin asks nothing.
#ifndef PURLIN_PREVIEW_H
#define PURLIN_PREVIEW_H

#include "purlin.h"

// What happens to a part.
typedef enum purlin_action {
  PURLIN_PART_NONE,               // nothing but another address
  PURLIN_PART_CREATE,             // it is created
  PURLIN_PART_READ,               // it is only read
  PURLIN_PART_UPDATE,             // it changes in place
  PURLIN_PART_CREATE_THEN_DELETE, // it is replaced: the new one is created, then the old one is deleted
  PURLIN_PART_DELETE_THEN_CREATE, // it is replaced: the old one is deleted, then the new one is created
  PURLIN_PART_DELETE,             // it is deleted
  PURLIN_PART_ADOPT,              // an existing object becomes this part
  PURLIN_PART_FORGET              // it stays, and the resource no longer has it
} purlin_action;

// One of the objects that a resource consists of, such as one resource of a module.
typedef struct purlin_part {
  text address;         // its own within the resource: 1 to 4096 bytes, the same in every forecast
  text moved_from;      // its address so far, if the effect changes that; otherwise empty
  text type_name;       // in the driver's words, such as `aws_subnet`
  purlin_action action; // what happens to it
  json *before;         // its attributes so far; NULL if it is new, or they are not shown
  json *after;          // its attributes afterwards, null in unknown places; NULL if it goes away, or they are not shown
  texts unknown;        // pointers to unknown places, in {"before":…,"after":…}
  // Pointers to places that hold secrets, in the same object. If there is no such place, all of what is above it
  // counts as secret.
  texts sensitive;
  texts replaces;  // pointers to places that make a replacement necessary, in the same object
  text holds_data; // the data that is lost if it is deleted or replaced; empty if it holds none
  json *notes;     // anything else for people, such as `reason`, by name; NULL is none
} purlin_part;

typedef struct purlin_parts {
  purlin_part *items;
  size_t length;
  size_t room;
} purlin_parts;

// What an effect would make. Initially nothing is promised.
struct purlin_forecast {
  json *outputs; // those that are certain: each is a promise that the host checks after the effect; NULL is none
  json *secrets; // secret ones that are certain; a name is in only one of the two; NULL is none
  texts unknown; // pointers to places in these that are not certain, null there, in {"outputs":…,"secrets":…}
  texts sensitive;    // pointers to more secrets, in {"outputs":…}
  purlin_parts parts; // those to which something happens, at most 10,000
  // What ties the effect to this forecast, such as a plan file of the driver's tool, if all inputs are known; the
  // effect gets it from purlin_consent_token. NULL in it is none.
  text token;
  json *notes; // anything else for people, by name; NULL is none
};

void purlin_add_part(purlin_parts *to, purlin_part part);

// The token of the forecast that people agreed to; without memory (`at` is NULL) if there is none, and in a function
// without effects. If the system has changed since, fail with purlin_conflict before anything is done. In native
// tests there is none; a test that needs one defines a function with that name.
text purlin_consent_token(void);

// Shows people that a part is done.
void purlin_reached(text address, purlin_action action);

// Calls `the_driver` as the host does, as purlin_create does. A type without a preview promises nothing.
bool purlin_preview(const purlin_request *effect, purlin_forecast *forecast, purlin_failure *failure);

// Exports the previews of the driver. It has to be there if a type has one: purlin_describe says so.
#ifdef __wasm__
#define PURLIN_PREVIEW \
  extern uint8_t *__wasm_export_exports_purlin_preview_preview_preview(uint8_t *); \
  __attribute__((__export_name__("purlin:preview/preview@0.1.0#preview"))) uint8_t *purlin_exported_preview( \
      uint8_t *effect) { \
    return __wasm_export_exports_purlin_preview_preview_preview(effect); \
  } \
  const bool purlin_exports_preview = true
#else
#define PURLIN_PREVIEW const bool purlin_exports_preview = true
#endif

// Whether the driver has that line.
extern const bool purlin_exports_preview;

#endif
