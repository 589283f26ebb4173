// Tables of inputs and outputs: their schemas, their structs, and what is wrong with them.

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "form.h"

static int faults;

#define EXPECT(claim) \
  do { \
    if (!(claim)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim); \
      faults++; \
    } \
  } while (0)

#define EXPECT_TEXT(is, wanted) \
  do { \
    text found = is; \
    if (!text_is(found, wanted)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, found.at); \
      faults++; \
    } \
  } while (0)

static json *read_json(const char *document) { return json_read(text_of(document), NULL); }

// A driver of two types that share a connection.

#define ZONE(field, optional) \
  field(text, name, "Its name.", .max_length = 3) \
  optional(bool, spare, "") \
  field(uint16_t, port, "Its port.", .default_value = "80", .minimum = "1")
PURLIN_STRUCT(zone, ZONE);
PURLIN_LIST(zones, zone);
PURLIN_LIST(numbers, int64_t);
PURLIN_LIST(flags, bool);
PURLIN_MAP(labels, text);

#define CONNECTION(field, optional) \
  field(connection, text, server, "The server.", .replaces = true, .reaches = "tcp", .port = "5432") \
  optional(connection, text, password, "The password.", .secret = true)

#define DISK_INPUTS(field, optional) \
  field(values, text, name, "Its name.", .name = "disk-name", .pattern = "^[a-z]+$", .immutable = true, \
        .example = "a") \
  field(values, int64_t, size, "Gibibytes.", .minimum = "1", .maximum = "9007199254740993", .default_value = "3") \
  field(values, uint64_t, serial, "A number.") \
  optional(values, int, nice, "How nice.", .one_of = "1,2") \
  optional(values, double, ratio, "A ratio.", .minimum = "0", .schema = "{\"exclusiveMaximum\": 1}") \
  field(values, bool, fast, "Whether it is fast.", .default_value = "false", .holds_data = "") \
  field(values, texts, users, "Who may use it.", .default_value = "[\"ada\"]", .one_of = "ada,bob", .max_length = 2) \
  optional(values, zone, first, "Where it is.", .open = true) \
  optional(values, zones, more, "Where it is, too.") \
  optional(values, numbers, ports, "", .min_length = 1) \
  optional(values, labels, tags, "", .pattern = "^.$") \
  optional(values, flags, marks, "") \
  optional(params, json_any, anything, "Anything.", .holds_data = "every block") \
  optional(secrets, text, key, "Encrypts it.") \
  CONNECTION(field, optional)
PURLIN_INPUTS(disk_inputs, DISK_INPUTS);

#define LOGIN(field, optional) \
  field(text, user, "") \
  field(text, password, "", .secret = true)
PURLIN_STRUCT(login, LOGIN);
PURLIN_LIST(logins, login);

#define DISK_OUTPUTS(field, optional) \
  field(text, id, "Its id.") \
  field(uint64_t, serial, "") \
  field(int32_t, low, "") \
  field(uint32_t, high, "") \
  field(double, ratio, "") \
  field(logins, who, "Who may use it.") \
  optional(labels, tags, "") \
  optional(json_any, raw, "") \
  optional(text, token, "Shown once.", .secret = true, .write_once = true) \
  optional(login, owner, "", .secret = true)
PURLIN_OUTPUTS(disk_outputs, DISK_OUTPUTS);

#define USER_INPUTS(field, optional) CONNECTION(field, optional)
PURLIN_INPUTS(user_inputs, USER_INPUTS);

static bool check(const purlin_request *request, purlin_checked *checked, purlin_failure *failure) {
  (void)checked, (void)failure;
  purlin_choose(request, "/values/first/na~1me", json_text(text_of("x")));
  purlin_choose(request, "/values/disk-name", json_text(text_of("chosen")));
  purlin_choose(request, "/nowhere/a", json_text(text_of("x")));
  return true;
}

static const purlin_type types[] = {
    {.name = "disk", .inputs = disk_inputs_form, .outputs = disk_outputs_form, .check = check},
    {.name = "user", .inputs = user_inputs_form},
};

const purlin_driver the_driver = {.name = "acme/some", .types = types, .type_count = 2};

static void a_table_is_a_schema(void) {
  texts wrong = {0};
  purlin_failure failure = {.message = text_of("")};
  EXPECT(purlin_describe(&failure));
  EXPECT_TEXT(failure.message, "");
  const json *schema = purlin_input_schema(&types[0], &wrong);
  EXPECT_TEXT(json_write(json_item(schema, "required")), "[\"values\",\"connection\"]");
  const json *values = json_at(schema, "/properties/values");
  EXPECT_TEXT(json_write(json_item(values, "required")), "[\"disk-name\",\"serial\"]");
  EXPECT_TEXT(json_write(json_item(values, "additionalProperties")), "false");
  const struct {
    const char *name, *schema;
  } all[] = {
      {"disk-name", "{\"type\":\"string\",\"description\":\"Its name.\",\"pattern\":\"^[a-z]+$\","
                    "\"x-purlin-immutable\":true,\"examples\":[\"a\"]}"},
      {"size", "{\"type\":\"integer\",\"maximum\":9007199254740993,\"description\":\"Gibibytes.\",\"minimum\":1,"
               "\"default\":3}"},
      {"serial", "{\"type\":\"integer\",\"minimum\":0,\"description\":\"A number.\"}"},
      {"nice", "{\"type\":[\"integer\",\"null\"],\"minimum\":-2147483648,\"maximum\":2147483647,"
               "\"description\":\"How nice.\",\"enum\":[1,2,null]}"},
      {"ratio", "{\"type\":[\"number\",\"null\"],\"description\":\"A ratio.\",\"minimum\":0,\"exclusiveMaximum\":1}"},
      {"fast", "{\"type\":\"boolean\",\"description\":\"Whether it is fast.\",\"x-purlin-holds-data\":true,"
               "\"default\":false}"},
      {"users", "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"ada\",\"bob\"]},"
                "\"description\":\"Who may use it.\",\"maxItems\":2,\"default\":[\"ada\"]}"},
      {"first", "{\"type\":[\"object\",\"null\"],\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":\"string\","
                "\"description\":\"Its name.\",\"maxLength\":3},\"spare\":{\"type\":[\"boolean\",\"null\"]},"
                "\"port\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535,\"description\":\"Its port.\","
                "\"default\":80}},\"description\":\"Where it is.\"}"},
      {"ports", "{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"integer\",\"maximum\":9223372036854775807},"
                "\"minItems\":1}"},
      {"tags", "{\"type\":[\"object\",\"null\"],\"additionalProperties\":{\"type\":\"string\",\"pattern\":\"^.$\"}}"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    EXPECT_TEXT(json_write(json_item(json_item(values, "properties"), all[i].name)), all[i].schema);
  }
  EXPECT_TEXT(json_write(json_at(values, "/properties/more/items/additionalProperties")), "false");
  EXPECT_TEXT(json_write(json_at(schema, "/properties/params/properties/anything")),
              "{\"description\":\"Anything.\",\"x-purlin-holds-data\":\"every block\"}");
  EXPECT_TEXT(json_write(json_at(schema, "/properties/connection")),
              "{\"type\":\"object\",\"required\":[\"server\"],\"additionalProperties\":false,\"properties\":{"
              "\"server\":{\"type\":\"string\",\"description\":\"The server.\",\"x-purlin-reaches\":\"tcp\","
              "\"x-purlin-port\":5432,\"x-purlin-replaces\":true},"
              "\"password\":{\"type\":[\"string\",\"null\"],\"description\":\"The password.\",\"writeOnly\":true}}}");
  EXPECT(json_at(schema, "/properties/account") == NULL);

  schema = purlin_output_schema(&types[0], &wrong);
  EXPECT_TEXT(json_write(json_item(schema, "required")),
              "[\"id\",\"serial\",\"low\",\"high\",\"ratio\",\"who\"]");
  EXPECT_TEXT(json_write(json_at(schema, "/properties/token")),
              "{\"type\":\"string\",\"description\":\"Shown once.\",\"x-purlin-write-once\":true,\"writeOnly\":true}");
  EXPECT_TEXT(json_write(json_at(schema, "/properties/who/items/properties/password")),
              "{\"type\":\"string\",\"writeOnly\":true}");
  EXPECT_TEXT(json_write(purlin_output_schema(&types[1], &wrong)), "{\"type\":\"object\"}");
  EXPECT(wrong.length == 0);
}

static purlin_inputs given(const char *document) {
  purlin_inputs inputs = {.document = read_json(document)};
  EXPECT(inputs.document != NULL);
  return inputs;
}

#define REQUIRED "\"disk-name\":\"a\",\"serial\":18446744073709551615"
#define SERVER "\"connection\":{\"server\":\"db\"}"

static void inputs_become_a_struct(void) {
  disk_inputs disk;
  purlin_failure failure;
  purlin_inputs inputs = given(
      "{\"values\":{" REQUIRED ",\"size\":-9223372036854775808,\"nice\":-7,\"ratio\":0.1,\"fast\":true,"
      "\"users\":[\"\",\"\xc3\xa4\xf0\x9f\xa6\x80\"],\"first\":{\"name\":\"n\",\"spare\":true,\"other\":1},"
      "\"more\":[{\"name\":\"a\"},{\"name\":\"b\",\"port\":8080}],\"ports\":[1,2.0,3e2],\"tags\":{\"a/b\":\"c\"},"
      "\"marks\":[true,false]},"
      "\"secrets\":{\"key\":\"\"},\"params\":{\"anything\":[12345678901234567890123.5]}," SERVER "}");
  EXPECT(disk_inputs_decode(&inputs, &disk, &failure));
  EXPECT(text_is(disk.name, "a") && disk.size == INT64_MIN && disk.serial == UINT64_MAX && *disk.nice == -7);
  EXPECT(*disk.ratio == 0.1 && disk.fast && disk.users.length == 2 && text_is(disk.users.items[0], ""));
  EXPECT(text_is(disk.users.items[1], "\xc3\xa4\xf0\x9f\xa6\x80"));
  EXPECT(text_is(disk.first->name, "n") && *disk.first->spare && disk.first->port == 80);
  EXPECT(disk.more->length == 2 && text_is(disk.more->items[1].name, "b") && disk.more->items[1].port == 8080);
  EXPECT(disk.more->items[0].spare == NULL && disk.ports->length == 3 && disk.ports->items[2] == 300);
  EXPECT(disk.marks->length == 2 && disk.marks->items[0] && !disk.marks->items[1]);
  EXPECT(disk.tags->length == 1 && text_is(disk.tags->names[0], "a/b") && text_is(disk.tags->items[0], "c"));
  EXPECT(disk.key != NULL && disk.key->length == 0 && text_is(disk.server, "db") && disk.password == NULL);
  EXPECT_TEXT(json_write(*disk.anything), "[12345678901234567890123.5]");
  // `values` comes back, with the defaults, and without what the struct does not have.
  EXPECT_TEXT(json_write(disk_inputs_values(&disk)),
              "{\"disk-name\":\"a\",\"size\":-9223372036854775808,\"serial\":18446744073709551615,\"nice\":-7,"
              "\"ratio\":0.1,\"fast\":true,"
              "\"users\":[\"\",\"\xc3\xa4\xf0\x9f\xa6\x80\"],\"first\":{\"name\":\"n\",\"spare\":true,\"port\":80},"
              "\"more\":[{\"name\":\"a\",\"port\":80},{\"name\":\"b\",\"port\":8080}],\"ports\":[1,2,300],"
              "\"tags\":{\"a/b\":\"c\"},\"marks\":[true,false]}");

  inputs = given("{\"values\":{" REQUIRED ",\"nice\":null,\"tags\":{},\"ports\":[],\"unknown\":1},\"secrets\":null,"
                 SERVER "}");
  EXPECT(disk_inputs_decode(&inputs, &disk, &failure));
  EXPECT(disk.size == 3 && disk.nice == NULL && !disk.fast && disk.first == NULL && disk.key == NULL);
  EXPECT(disk.users.length == 1 && text_is(disk.users.items[0], "ada"));
  EXPECT(disk.tags->length == 0 && disk.ports->length == 0 && disk.anything == NULL);

  // A table that has only the connection reads nothing else.
  user_inputs user;
  inputs = given("{\"values\":7," SERVER "}");
  EXPECT(user_inputs_decode(&inputs, &user, &failure) && text_is(user.server, "db"));
}

// The faults of inputs, one per line.
static text faults_of(const char *document) {
  disk_inputs disk = {.size = 7};
  purlin_failure failure = {0};
  purlin_inputs inputs = given(document);
  growing all = {0};
  EXPECT(!disk_inputs_decode(&inputs, &disk, &failure) && failure.kind == PURLIN_INVALID_INPUTS);
  EXPECT(disk.size == 0 && disk.name.at == NULL && disk.first == NULL);
  for (size_t i = 0; i < failure.findings.length; i++) {
    const purlin_finding *one = &failure.findings.items[i];
    grow_text(&all, text_format("%s %s\n", one->pointer.at, one->message.at));
  }
  return grown(&all);
}

static void every_fault_has_its_place(void) {
  EXPECT_TEXT(faults_of("{}"),
              "/values/disk-name is missing\n/values/serial is missing\n/connection/server is missing\n");
  EXPECT_TEXT(faults_of("{\"values\":7,\"connection\":[]}"),
              "/values has to be a map\n/connection has to be a map\n");
  EXPECT_TEXT(faults_of("{\"values\":{\"disk-name\":null,\"serial\":\"1\",\"size\":null,\"nice\":\"hush\","
                        "\"ratio\":true,\"fast\":0,\"users\":[\"a\",null,1],\"first\":[],"
                        "\"more\":[{},{\"name\":\"n\",\"port\":\"x\"}],"
                        "\"ports\":{},\"tags\":{\"a/b\":1}},\"secrets\":{\"key\":{\"hush\":1}}," SERVER "}"),
              "/values/disk-name has to be a text\n"
              "/values/size has to be a whole number\n"
              "/values/serial has to be a whole number\n"
              "/values/nice has to be a whole number\n"
              "/values/ratio has to be a number\n"
              "/values/fast has to be true or false\n"
              "/values/users/1 has to be a text\n"
              "/values/users/2 has to be a text\n"
              "/values/first has to be a map\n"
              "/values/more/0/name is missing\n"
              "/values/more/1/port has to be a whole number\n"
              "/values/ports has to be a list\n"
              "/values/tags/a~1b has to be a text\n"
              "/secrets/key has to be a text\n");
}

static void numbers_are_exact_or_faults(void) {
  const struct {
    const char *name, *number;
    bool fits;
  } all[] = {
      {"size", "9223372036854775807", true},  {"size", "9223372036854775808", false},
      {"size", "-9223372036854775809", false}, {"size", "1e3", true},
      {"size", "1.5", false},                 {"size", "1e400", false},
      {"size", "-0", true},                   {"size", "9007199254740993.0", false},
      {"serial", "18446744073709551616", false}, {"serial", "-1", false},
      {"serial", "-0", true},                 {"serial", "99999999999999999999999999", false},
      {"nice", "2147483647", true},           {"nice", "2147483648", false},
      {"nice", "-2147483649", false},         {"nice", "4294967297", false},
      {"ratio", "9007199254740992", true},    {"ratio", "9007199254740993", false},
      {"ratio", "-9007199254740993", false},  {"ratio", "18446744073709551615", false},
      {"ratio", "1e400", false},              {"ratio", "-1e400", false},
      {"ratio", "18446744073709551616", true}, {"ratio", "-9223372036854775808", true},
      {"ratio", "1e-400", true},              {"first", "{\"name\":\"\",\"port\":65536}", false},
      {"first", "{\"name\":\"\",\"port\":65535}", true},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    disk_inputs disk;
    purlin_failure failure;
    text document = text_format("{\"values\":{" REQUIRED ",\"%s\":%s}," SERVER "}", all[i].name, all[i].number);
    purlin_inputs inputs = given(document.at);
    if (disk_inputs_decode(&inputs, &disk, &failure) != all[i].fits) {
      fprintf(stderr, "%s\n", document.at);
      faults++;
    }
  }
  const double doubles[] = {0.1, -2.5e-7, 1e21, 3, DBL_MAX, DBL_MIN, 1.0 / 3, 9007199254740993.0};
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
    double back;
    EXPECT(json_as_double(read_json(json_write(json_double(doubles[i])).at), &back) && back == doubles[i]);
  }
  EXPECT_TEXT(json_write(json_double(0.1)), "0.1");
  EXPECT(json_is_null(json_double(DBL_MAX * 10)) && json_is_null(json_double(DBL_MAX * 10 - DBL_MAX * 10)));
}

static void unknown_values_are_no_faults(void) {
  purlin_inputs inputs = given("{\"values\":{\"disk-name\":null,\"serial\":1,\"size\":null,\"nice\":null,"
                               "\"users\":[\"ada\",null],\"first\":{\"name\":null}},\"secrets\":null,"
                               "\"connection\":null}");
  const char *unknown[] = {"/values/disk-name", "/values/size",       "/values/nice", "/values/users/1",
                           "/connection",       "/values/first/name", "/secrets",     "/values/more"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) purlin_add_text(&inputs.unknown, text_of(unknown[i]));
  disk_inputs disk;
  purlin_failure failure;
  EXPECT(disk_inputs_decode(&inputs, &disk, &failure));
  EXPECT(disk.name.at == NULL && disk.size == 0 && disk.nice == NULL && disk.users.length == 2);
  EXPECT(disk.first->name.at == NULL && disk.first->port == 80 && disk.server.at == NULL);
  EXPECT(purlin_faults(&inputs, disk_inputs_form()).length == 0);
}

static purlin_request of_disk(const char *document) {
  purlin_request request = {.inputs = given(document)};
  request.subject.type = text_of("disk");
  return request;
}

static void check_gets_what_fits(void) {
  purlin_checked checked;
  purlin_failure failure;
  purlin_request wrong = of_disk("{\"values\":{" REQUIRED ",\"si/ze\":1,\"more\":[{\"name\":\"a\",\"x\":1}],"
                                 "\"first\":{\"name\":\"\",\"x\":1}},\"secrets\":{\"kee\":\"hush\"}," SERVER "}");
  EXPECT(!purlin_check(&wrong, &checked, &failure) && failure.findings.length == 3);
  EXPECT_TEXT(failure.findings.items[0].pointer, "/values/more/0/x");
  EXPECT_TEXT(failure.findings.items[0].message, "is unknown; the names are name, spare, port");
  EXPECT_TEXT(failure.findings.items[1].pointer, "/values/si~1ze");
  EXPECT_TEXT(failure.findings.items[2].pointer, "/secrets/kee");

  purlin_request request = of_disk("{\"values\":{\"disk-name\":null,\"serial\":1}," SERVER "}");
  EXPECT(!purlin_check(&request, &checked, &failure)); // null is no value
  purlin_add_text(&request.inputs.unknown, text_of("/values/disk-name"));
  EXPECT(purlin_check(&request, &checked, &failure));
  EXPECT_TEXT(json_write(checked.values), "{\"disk-name\":null,\"serial\":1}");
}

static void a_choice_is_made_once(void) {
  purlin_request request = of_disk("{\"values\":{\"a\":{}}}");
  purlin_choose(&request, "/values/a/b~1c", json_int(1));
  purlin_choose(&request, "/values/a/b~1c", json_int(2));
  purlin_choose(&request, "/values/none/a", json_int(1));
  purlin_choose(&request, "nonsense", json_int(1));
  EXPECT_TEXT(json_write(request.inputs.document), "{\"values\":{\"a\":{\"b/c\":1}}}");
  purlin_inputs previous = given("{\"values\":{\"d\":\"before\"}}");
  request.previous = &previous;
  purlin_choose(&request, "/values/d", json_int(3));
  EXPECT_TEXT(json_write(json_at(request.inputs.document, "/values/d")), "\"before\"");
}

static void outputs_become_a_state(void) {
  text token = text_of("hush"), names[] = {text_of("a\0b"), text_of("c/d")}, values[] = {text_of("1"), text_of("2")};
  names[0].length = 3;
  labels tags = {values, 2, names};
  login items[] = {{text_of("ada"), text_of("p1")}, {text_of("bob"), text_of("p2")}}, owner = items[0];
  disk_outputs outputs = {.id = text_of("d-1"),
                          .serial = UINT64_MAX,
                          .low = INT32_MIN,
                          .high = UINT32_MAX,
                          .ratio = 0.25,
                          .who = {items, 2},
                          .tags = &tags,
                          .token = &token,
                          .owner = &owner};
  purlin_state state = disk_outputs_state(outputs.id, &outputs);
  EXPECT_TEXT(state.id, "d-1");
  EXPECT_TEXT(json_write(state.outputs),
              "{\"id\":\"d-1\",\"serial\":18446744073709551615,\"low\":-2147483648,\"high\":4294967295,\"ratio\":0.25,"
              "\"who\":[{\"user\":\"ada\",\"password\":\"p1\"},{\"user\":\"bob\",\"password\":\"p2\"}],"
              "\"tags\":{\"a\\u0000b\":\"1\",\"c/d\":\"2\"}}");
  EXPECT_TEXT(json_write(state.secrets), "{\"token\":\"hush\",\"owner\":{\"user\":\"ada\",\"password\":\"p1\"}}");
  EXPECT(state.sensitive.length == 2);
  EXPECT_TEXT(state.sensitive.items[0], "/outputs/who/0/password");
  EXPECT_TEXT(state.sensitive.items[1], "/outputs/who/1/password");
  purlin_forecast forecast = disk_outputs_forecast(&outputs);
  EXPECT(json_same(forecast.outputs, state.outputs) && json_same(forecast.secrets, state.secrets));
  EXPECT(forecast.sensitive.length == 2 && forecast.token.at == NULL && forecast.parts.length == 0);
  state = disk_outputs_state(text_of("d-2"), &(disk_outputs){0});
  EXPECT_TEXT(json_write(state.outputs),
              "{\"id\":\"\",\"serial\":0,\"low\":0,\"high\":0,\"ratio\":0,\"who\":[]}");
  EXPECT_TEXT(json_write(state.secrets), "{}");
}

// Every line of these has a fault.

#define WRONG_INPUTS(field, optional) \
  field(values, int64_t, a, "", .default_value = "x") \
  field(values, int64_t, b, "", .default_value = "7", .maximum = "6") \
  optional(values, text, c, "", .default_value = "x") \
  field(values, text, d, "", .minimum = "1") \
  field(values, bool, e, "", .min_length = 1) \
  field(values, texts, f, "", .min_length = 3, .max_length = 2) \
  field(values, int64_t, g, "", .pattern = "^a$") \
  field(values, int64_t, h, "", .one_of = "1,b") \
  field(values, text, i, "", .write_once = true) \
  field(values, text, j, "", .reaches = "udp") \
  field(values, text, k, "", .reaches = "dir", .port = "0") \
  field(values, text, l, "", .reaches = "http", .methods = "POST,get") \
  field(values, text, m, "", .methods = "POST") \
  field(values, text, n, "", .open = true) \
  field(values, text, o, "", .schema = "[]") \
  field(values, text, a2, "", .name = "a") \
  field(values, text, p, "", .one_of = "a,b", .default_value = "c") \
  field(values, texts, q, "", .one_of = "a,b", .example = "[\"c\"]") \
  field(values, int64_t, r, "", .minimum = "2", .maximum = "1") \
  field(values, int64_t, s, "", .maximum = "9223372036854775808") \
  field(values, zone, t, "", .default_value = "{\"name\": \"long\"}") \
  field(values, zone, u, "", .default_value = "{\"name\": 1, \"x\": 2}")
PURLIN_INPUTS(wrong_inputs, WRONG_INPUTS);

#define WRONG_OUTPUTS(field, optional) \
  field(text, a, "", .replaces = true) \
  field(text, b, "", .default_value = "x")
PURLIN_OUTPUTS(wrong_outputs, WRONG_OUTPUTS);

static void what_is_wrong_with_a_table_is_told(void) {
  const purlin_type type = {.name = "t", .inputs = wrong_inputs_form, .outputs = wrong_outputs_form};
  texts told = {0};
  purlin_input_schema(&type, &told);
  purlin_output_schema(&type, &told);
  const char *wanted[] = {
      "t: values.a: `.default_value = \"x\"` is no JSON",
      "t: values.b: `.default_value = \"7\"` does not fit `maximum`",
      "t: values.c: `.default_value` is only for `field`",
      "t: values.d: `.minimum` is only for numbers",
      "t: values.e: `.min_length` is only for texts, lists and maps",
      "t: values.f: `.min_length` is above `.max_length`",
      "t: values.g: `.pattern` is only for texts",
      "t: values.h: `.one_of = \"b\"` is no JSON",
      "t: values.i: `.write_once` is only for outputs",
      "t: values.j: `.reaches` has to be \"http\", \"tcp\" or \"dir\"",
      "t: values.k: `.port` is only for `.reaches = \"tcp\"`",
      "t: values.l: write `.methods` as in \"POST,GET later\"",
      "t: values.m: `.methods` is only for `.reaches = \"http\"`",
      "t: values.n: `.open` is only for structs",
      "t: values.o: `.schema` is no JSON object",
      "t: values.a: is there twice",
      "t: values.p: `.default_value = \"c\"` does not fit `enum`",
      "t: values.q: `.example = \"[\"c\"]\"` does not fit `enum`",
      "t: values.r: `.minimum` is above `.maximum`",
      "t: values.s: `.maximum = \"9223372036854775808\"` is too large or too small",
      "t: values.t: `.default_value = \"{\"name\": \"long\"}\"` does not fit `maxLength`",
      "t: values.u: `.default_value = \"{\"name\": 1, \"x\": 2}\"` /name has to be a text",
      "t: outputs.a: `.replaces` is only for inputs",
      "t: outputs.b: `.default_value` is only for inputs",
  };
  size_t count = sizeof wanted / sizeof *wanted;
  EXPECT(told.length == count);
  for (size_t i = 0; i < told.length && i < count; i++) EXPECT_TEXT(told.items[i], wanted[i]);

  // Such a default ends no call without a failure.
  wrong_inputs given_wrong;
  purlin_failure failure;
  purlin_inputs none = given("{}");
  EXPECT(!wrong_inputs_decode(&none, &given_wrong, &failure) && failure.kind == PURLIN_INVALID_INPUTS);
}

// Documents that are nearly right, or not at all. The sanitizers check every access.
static void broken_inputs_break_nothing(void) {
  const char document[] =
      "{\"values\":{\"disk-name\":\"a\",\"serial\":1,\"size\":2,\"nice\":1,\"ratio\":0.5,\"users\":[\"ada\",\"b\"],"
      "\"first\":{\"name\":\"n\",\"port\":7},\"more\":[{\"name\":\"a\"}],\"ports\":[1,-2],\"tags\":{\"a\":\"b\"}},"
      "\"params\":{\"anything\":[{}]},\"secrets\":{\"key\":\"k\"},\"connection\":{\"server\":\"s\"}}";
  const size_t length = sizeof document - 1;
  const char *pieces[] = {"null", "[]", "{}", "1e999", "-1", "\"\"", "true", "[[", "0.1", "99999999999999999999"};
  srand(7);
  for (int round = 0; round < 50000; round++) {
    char bytes[sizeof document + 64];
    size_t at = (size_t)rand() % length, cut = (size_t)rand() % (length - at) % 12;
    const char *piece = pieces[(size_t)rand() % (sizeof pieces / sizeof *pieces)];
    int written = snprintf(bytes, sizeof bytes, "%.*s%s%s", (int)at, document, piece, document + at + cut);
    json *value = json_read((text){bytes, (size_t)written}, NULL);
    if (value != NULL) {
      purlin_inputs inputs = {.document = value};
      disk_inputs disk;
      purlin_failure failure;
      purlin_faults(&inputs, disk_inputs_form());
      if (disk_inputs_decode(&inputs, &disk, &failure)) {
        // What was read is written, and read again as the same.
        json *again = json_object();
        json_set(again, "values", disk_inputs_values(&disk));
        json_set(again, "connection", json_item(value, "connection"));
        purlin_inputs second = {.document = again};
        disk_inputs same;
        EXPECT(disk_inputs_decode(&second, &same, &failure));
        EXPECT(json_same(json_item(again, "values"), disk_inputs_values(&same)));
      } else {
        EXPECT(failure.kind == PURLIN_INVALID_INPUTS && failure.findings.length > 0);
      }
    }
    if (round % 100 == 0) memory_drop();
  }
}

int main(void) {
  void (*const tests[])(void) = {
      a_table_is_a_schema,         inputs_become_a_struct,       every_fault_has_its_place,
      numbers_are_exact_or_faults, unknown_values_are_no_faults, check_gets_what_fits,
      a_choice_is_made_once,       outputs_become_a_state,       what_is_wrong_with_a_table_is_told,
      broken_inputs_break_nothing,
  };
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    tests[i]();
    purlin_forget();
  }
  printf("%s\n", faults == 0 ? "all is well" : "not all is well");
  return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
