// The driver, tested natively. purlin/native.c acts as the host.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "note.h"

static int faults;

#define EXPECT(claim) \
  do { \
    if (!(claim)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim); \
      faults++; \
    } \
  } while (0)

// A request with these inputs, which are JSON.
static purlin_request given(const char *inputs) {
  purlin_request request = {.inputs = {.document = json_read(text_of(inputs), NULL)}};
  EXPECT(request.inputs.document != NULL);
  request.subject.type = text_of("note");
  request.subject.guresid = text_of("0123456789abcdef0123456789abcdef01234567");
  request.name = json_as_text(purlin_get(&request.inputs, "/values/title"));
  return request;
}

static purlin_request hello(const char *words) {
  return given(text_format("{\"values\":{\"title\":\"hello\",\"text\":\"%s\"},\"secrets\":{}}", words).at);
}

static text content(const char *title) {
  text found;
  purlin_failure failure;
  EXPECT(note_read(text_of(title), &found, &failure));
  return found;
}

static void a_note_lives(void) {
  purlin_state state;
  purlin_failure failure;
  purlin_request request = hello("Hello.");
  EXPECT(purlin_create(&request, &state, &failure));
  EXPECT(text_is(content("hello"), "Hello.\n"));
  EXPECT(strstr(purlin_messages().at, "checkpoint hello\n") != NULL);
  EXPECT(purlin_create(&request, &state, &failure)); // the same attempt again
  purlin_request other = hello("Hi.");
  EXPECT(!purlin_create(&other, &state, &failure) && failure.kind == PURLIN_CONFLICT);

  EXPECT(note_write(text_of("hello"), text_of("Somebody was here.\n"), &failure));
  purlin_observed seen;
  EXPECT(!purlin_read(&request, &seen, &failure) && failure.kind == PURLIN_CONFLICT);
  request.id = &state.id;
  EXPECT(purlin_read(&request, &seen, &failure));
  EXPECT(text_is(json_as_text(json_at(seen.values, "/text")), "Somebody was here."));

  purlin_request change = hello("Bye.");
  change.previous = &request.inputs;
  change.state = &state;
  purlin_impact impact = {0};
  EXPECT(purlin_update_impact(&change, &impact, &failure) && impact.replaces.length == 0);
  EXPECT(impact.delete_before_replace);
  EXPECT(purlin_update(&change, &state, &failure) && text_is(content("hello"), "Bye.\n"));

  EXPECT(purlin_delete(&change, &failure));
  EXPECT(purlin_delete(&change, &failure)); // a missing note is a success
  EXPECT(purlin_read(&request, &seen, &failure) && seen.state.id.length == 0);
}

static void a_title_names_one_note(void) {
  purlin_state old, state;
  purlin_failure failure;
  purlin_request request = hello("Hello.");
  EXPECT(purlin_create(&request, &old, &failure));
  request.replaces = &old.id;
  EXPECT(!purlin_create(&request, &state, &failure) && failure.kind == PURLIN_NEEDS_DELETE_BEFORE);

  purlin_request lookup = hello("Hello.");
  purlin_observed seen;
  EXPECT(purlin_read(&lookup, &seen, &failure) && text_is(seen.state.id, "hello"));
  purlin_add_text(&lookup.known, text_of("other"));
  purlin_add_text(&lookup.known, old.id);
  EXPECT(purlin_read(&lookup, &seen, &failure) && seen.state.id.length == 0);
  lookup.id = &old.id;
  EXPECT(purlin_read(&lookup, &seen, &failure) && text_is(seen.state.id, "hello"));
  lookup.state = &old;
  EXPECT(purlin_delete(&lookup, &failure));
}

static void the_driver_describes_itself(void) {
  purlin_failure failure;
  if (purlin_describe(&failure)) return;
  fprintf(stderr, "%s\n", failure.message.at);
  faults++;
}

static void every_fault_is_told(void) {
  purlin_request wrong =
      given("{\"values\":{\"title\":7,\"co/lor\":\"red\"},\"secrets\":{\"signature\":true}}");
  purlin_checked checked;
  purlin_failure failure;
  EXPECT(!purlin_check(&wrong, &checked, &failure) && failure.kind == PURLIN_INVALID_INPUTS);
  const char *places[] = {"/values/text", "/values/title", "/values/co~1lor", "/secrets/signature"};
  EXPECT(failure.findings.length == 4);
  for (size_t i = 0; i < failure.findings.length && i < 4; i++) {
    EXPECT(text_is(failure.findings.items[i].pointer, places[i]));
  }
}

static void a_title_is_drawn_once(void) {
  purlin_request request = given("{\"values\":{\"text\":null},\"secrets\":{}}");
  purlin_add_text(&request.inputs.unknown, text_of("/values/text"));
  purlin_checked checked;
  purlin_failure failure;
  EXPECT(purlin_check(&request, &checked, &failure));
  EXPECT(text_is(json_write(checked.values), "{\"text\":null,\"title\":\"0123456789ab\"}"));
  // The resource was renamed, which gives it another guresid.
  purlin_request renamed = given("{\"values\":{\"text\":\"Hello.\"},\"secrets\":{}}");
  renamed.subject.guresid = text_of("9876543210abcdef9876543210abcdef98765432");
  renamed.previous = &request.inputs;
  EXPECT(purlin_check(&renamed, &checked, &failure));
  EXPECT(text_is(json_as_text(json_item(checked.values, "title")), "0123456789ab"));
}

static void the_signature_stays_secret(void) {
  purlin_request request =
      given("{\"values\":{\"title\":\"s\",\"text\":\"-- x\"},\"secrets\":{\"signature\":\"hush\"}}");
  purlin_state state;
  purlin_failure failure;
  EXPECT(purlin_create(&request, &state, &failure));
  EXPECT(text_is(json_as_text(json_at(state.secrets, "/mark")), "s:hush"));
  EXPECT(text_is(content("s"), "-- x\n-- dc8331bcb2283e89d275a1c2fe66f7bf5ac3163ec1967f149dd7e27906365f0c\n"));
  purlin_observed seen;
  request.id = &state.id;
  EXPECT(purlin_read(&request, &seen, &failure));
  EXPECT(text_is(json_as_text(json_at(seen.values, "/text")), "-- x"));
  request.state = &state;
  EXPECT(purlin_delete(&request, &failure));
}

static void without_a_grant_the_missing_one_is_named(void) {
  const char *folder = note_folder;
  note_folder = "/nowhere";
  purlin_request request = hello("Hello.");
  purlin_state state;
  purlin_failure failure;
  EXPECT(!purlin_create(&request, &state, &failure));
  EXPECT(failure.kind == PURLIN_DENIED && text_is(failure.capability, "dirs"));
  note_folder = folder;
}

int main(void) {
  char folder[] = "/tmp/note-XXXXXX";
  note_folder = mkdtemp(folder);
  EXPECT(note_folder != NULL);
  void (*const tests[])(void) = {the_driver_describes_itself,
                                 a_note_lives,
                                 a_title_names_one_note,
                                 every_fault_is_told,
                                 a_title_is_drawn_once,
                                 the_signature_stays_secret,
                                 without_a_grant_the_missing_one_is_named};
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    tests[i]();
    purlin_forget();
  }
  EXPECT(rmdir(folder) == 0);
  printf("%s\n", faults == 0 ? "all is well" : "not all is well");
  return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
