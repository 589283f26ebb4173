// What the builder writes, how it reads inputs, and the faults of declarations that it names.

import assert from "node:assert/strict";
import { test } from "node:test";

import { s } from "./index.js";
import { stringify } from "./json.js";

/** The JSON Schema of a value among the inputs. */
const written = (schema) => s.inputs({ values: s.object({ it: schema }) }).json.properties.values.properties.it;

/** Inputs as a driver gets them; the faults if there are any. */
function read(schema, values, { unknown = [], ...how } = {}) {
  const inputs = { values, secrets: {}, params: {}, connection: {}, account: {}, unknown, sensitive: [] };
  try {
    return s.inputs({ values: schema }).read(inputs, how).values;
  } catch (failure) {
    assert.equal(failure.name, "invalid-inputs", failure.stack);
    return failure.payload.val.map(({ pointer, message }) => `${pointer} ${message}`);
  }
}

const tree = s.object({ name: s.string(), children: s.array(s.lazy("tree", () => tree)).default([]) });

test("a declaration is a closed JSON Schema", () => {
  const inputs = s.inputs({
    values: s.object({
      text: s
        .string({ maxLength: 9, pattern: /^\/[^\\/]*$/u })
        .describe("The text.")
        .example("/a"),
      size: s.integer({ minimum: 1 }).default(1).replaces(),
      region: s.enum(["eu", "us"]).nullable().immutable().optional(),
    }),
    connection: s.object({
      url: s.string().reaches("http", { methods: ["GET"] }),
      host: s.string().reaches("tcp", { port: 53 }).secret(),
    }),
  });
  assert.deepEqual(inputs.holdsData("all of it").json, {
    type: "object",
    properties: {
      values: {
        type: "object",
        properties: {
          text: { type: "string", maxLength: 9, pattern: "^/[^\\\\/]*$", description: "The text.", examples: ["/a"] },
          size: {
            type: "integer",
            minimum: 1,
            maximum: Number.MAX_SAFE_INTEGER,
            default: 1,
            "x-purlin-replaces": true,
          },
          region: { type: ["string", "null"], enum: ["eu", "us", null], "x-purlin-immutable": true },
        },
        required: ["text"],
        additionalProperties: false,
      },
      secrets: { type: "object", properties: {}, additionalProperties: false },
      connection: {
        type: "object",
        properties: {
          url: { type: "string", "x-purlin-reaches": "http", "x-purlin-methods": ["GET"] },
          host: { type: "string", "x-purlin-reaches": "tcp", "x-purlin-port": 53, writeOnly: true },
        },
        required: ["url", "host"],
        additionalProperties: false,
      },
    },
    required: ["values", "connection"],
    "x-purlin-holds-data": "all of it",
  });
  const outputs = s.outputs({ id: s.integer(), token: s.string().secret().writeOnce().optional() }).source("computed");
  assert.deepEqual(outputs.json, {
    type: "object",
    properties: { id: { type: "integer" }, token: { type: "string", writeOnly: true, "x-purlin-write-once": true } },
    required: ["id"],
    additionalProperties: false,
    "x-purlin-outputs": "computed",
  });
});

test("each kind has its keywords", () => {
  for (const [schema, expected] of [
    [s.boolean().holdsData(), { type: "boolean", "x-purlin-holds-data": true }],
    [s.number({ exclusiveMinimum: 0, multipleOf: 0.5 }), { type: "number", exclusiveMinimum: 0, multipleOf: 0.5 }],
    [s.integer({ exclusiveMaximum: 5, minimum: 0 }), { type: "integer", exclusiveMaximum: 5, minimum: 0 }],
    [s.bigint(), { type: "integer", minimum: -(2n ** 63n), maximum: 2n ** 64n - 1n }],
    [
      s.array(s.string(), { minItems: 1, uniqueItems: true }),
      { type: "array", items: { type: "string" }, minItems: 1, uniqueItems: true },
    ],
    [
      s.record(s.boolean(), { names: /^[a-z]+$/, maxProperties: 3 }),
      {
        type: "object",
        additionalProperties: { type: "boolean" },
        propertyNames: { pattern: "^[a-z]+$" },
        maxProperties: 3,
      },
    ],
    [
      s.object({}, { additionalProperties: true, minProperties: 1 }),
      { type: "object", properties: {}, minProperties: 1 },
    ],
    [
      s.union(s.string(), s.enum([1, 2])).nullable(),
      { anyOf: [{ anyOf: [{ type: "string" }, { type: "number", enum: [1, 2] }] }, { type: "null" }] },
    ],
    [s.any().nullable().deprecated(), { deprecated: true }],
    [
      s.schema({ type: "string", const: "a" }).nullable(),
      { anyOf: [{ type: "string", const: "a" }, { type: "null" }] },
    ],
    [
      s.string().keywords({ not: { const: "" }, "x-purlin-hint-form": "area" }),
      { type: "string", not: { const: "" }, "x-purlin-hint-form": "area" },
    ],
  ]) {
    assert.deepEqual(written(schema), expected, stringify(expected));
  }
});

test("a schema can contain itself", () => {
  const { $defs, properties } = s.inputs({ values: s.object({ root: tree, again: tree.optional() }) }).json;
  assert.deepEqual($defs.tree.properties.children, { type: "array", items: { $ref: "#/$defs/tree" }, default: [] });
  assert.deepEqual(properties.values.properties.root, $defs.tree);
  const values = { root: { name: "a", children: [{ name: "b" }] } };
  assert.deepEqual(read(s.object({ root: tree }), values).root.children, [{ name: "b", children: [] }]);
  values.root.children[0].children = [{ nam: "c" }];
  assert.deepEqual(read(s.object({ root: tree }), values), [
    "/values/root/children/0/children/0/nam is unknown; the names are name, children",
    "/values/root/children/0/children/0/name is missing",
  ]);
  const again = () => s.object({ next: s.lazy("again", again).optional() });
  assert.throws(() => s.inputs({ values: again() }), /another schema has this name; make the schema once/);
});

test("every value of a wrong type is a fault", () => {
  const schema = s.object({
    text: s.string(),
    size: s.integer(),
    ratio: s.number(),
    exact: s.bigint(),
    on: s.boolean(),
    kind: s.enum(["a", "b"]),
    list: s.array(s.integer()),
    map: s.record(s.string()),
    "a/b~": s.string(),
  });
  const values = {
    text: null,
    size: 2n ** 60n,
    ratio: 2n ** 60n,
    exact: 1.5,
    on: "yes",
    kind: "c",
    list: [1, "2"],
    map: { "x/y": 1 },
    "a/b~": [],
    more: 1,
  };
  assert.deepEqual(read(schema, values), [
    "/values/text has to be a string, and is null",
    "/values/size is beyond 2^53 - 1",
    "/values/ratio has to be a number, and is an integer beyond 2^53 - 1",
    "/values/exact has to be an integer from -2^63 to 2^64 - 1, and is a number",
    "/values/on has to be a boolean, and is a string",
    "/values/kind has to be one of a, b",
    "/values/list/1 has to be an integer, and is a string",
    "/values/map/x~1y has to be a string, and is a number",
    "/values/a~1b~0 has to be a string, and is a list",
    "/values/more is unknown; the names are text, size, ratio, exact, on, kind, list, map, a/b~",
  ]);
  assert.deepEqual(read(schema, values, { recorded: true }), values);
  assert.deepEqual(read(s.object({ a: s.object({}) }), { a: { b: 1 } }), [
    "/values/a/b is unknown; there are no names",
  ]);
});

test("a JSON Schema is left to the host, but for its type", () => {
  const schema = s.object({
    a: s.schema({ type: ["integer", "string"], maxLength: 1 }),
    b: s.schema({ not: { const: 1 } }),
  });
  const values = { a: "long", b: 1 };
  assert.deepEqual(read(schema, values), values);
  assert.deepEqual(read(schema, { ...values, a: 1.5 }), ["/values/a has to be integer or string, and is a number"]);
  assert.deepEqual(read(schema, { ...values, a: 2n ** 60n }).a, 2n ** 60n);
});

test("a driver gets the parts that it describes, and the account", () => {
  const given = {
    values: {},
    secrets: {},
    params: { a: 1 },
    connection: { b: 1 },
    account: { name: "c" },
    unknown: [],
    sensitive: [],
  };
  const { account, unknown, sensitive, values } = given;
  assert.deepEqual(s.inputs({ values: s.any() }).read(given), { values, account, unknown, sensitive });
  const described = s.inputs({ account: s.object({ name: s.string(), key: s.bigint().secret() }) });
  assert.deepEqual(described.json.required, ["account"]);
  assert.throws(() => described.read(given), { name: "invalid-inputs", message: "/account/key: is missing" });
  assert.equal(described.read({ ...given, account: { name: "c", key: 1 } }).account.key, 1n);
});

test("an account is read as it is described", () => {
  const cloud = s.inputs({ account: s.object({ region: s.string(), token: s.string().secret() }) });
  assert.deepEqual(cloud.json.properties.account, {
    type: "object",
    properties: { region: { type: "string" }, token: { type: "string", writeOnly: true } },
    required: ["region", "token"],
    additionalProperties: false,
  });
  const from = (account, unknown = []) => ({ account, unknown, sensitive: ["/account/token"] });
  const account = { region: "eu-1", token: "hush" };
  assert.deepEqual(cloud.read(from(account)), from(account));
  const unread = from({ ...account, token: null }, ["/account/token"]);
  assert.deepEqual(cloud.read(unread), unread);
  const message = (account) => {
    try {
      cloud.read(from(account));
    } catch (fault) {
      return fault.message;
    }
  };
  assert.equal(message({ token: "hush" }), "/account/region: is missing");
  assert.match(message({ ...account, name: "c" }), /^\/account\/name: /);
  // The definition names none.
  assert.match(message({}), /^\/account\/region: is missing.*\/account\/token: is missing$/);
  const free = s.inputs({ account: s.object({ region: s.string().optional() }) });
  assert.equal(free.json.required, undefined);
  assert.deepEqual(free.read(from({})).account, {});
  const whole = { name: "c", type: "cloud", region: "eu-1" };
  assert.deepEqual(s.inputs({ account: s.record(s.string()) }).read(from(whole)).account, whole);
});

test("integers are exact whatever their size", () => {
  const schema = s.object({ one: s.bigint(), most: s.bigint(), any: s.any() });
  const values = { one: 1, most: 2n ** 64n - 1n, any: [2n ** 60n] };
  assert.deepEqual(read(schema, values), { ...values, one: 1n });
  assert.deepEqual(read(schema, { ...values, one: 1e19 }).one, 10n ** 19n);
  for (const beyond of [2n ** 64n, -(2n ** 63n) - 1n, 1e30])
    assert.match(read(schema, { ...values, one: beyond })[0], /^\/values\/one /);
});

test("what is unknown is null, and no fault", () => {
  const schema = s.object({
    a: s.object({ b: s.string(), c: s.array(s.integer()) }),
    d: s.union(s.string(), s.integer()),
  });
  const values = { a: { b: null, c: [1, null] }, d: null };
  assert.deepEqual(read(schema, values, { unknown: ["/values/a/b", "/values/a/c/1", "/values/d"] }), values);
  assert.deepEqual(read(schema, { a: null, d: null }, { unknown: ["/values/a", "/values/d"] }), { a: null, d: null });
  assert.deepEqual(read(schema, values, { unknown: ["/values/a/b", "/values/d"] }), [
    "/values/a/c/1 has to be an integer, and is null",
  ]);
});

test("defaults are filled in, also within each other", () => {
  const schema = s.object({
    port: s.bigint().default(5432n),
    pool: s.object({ size: s.integer().default(3), tags: s.array(s.string()).default([]) }).default({}),
    rules: s.array(s.object({ on: s.boolean().default(true) })).optional(),
    map: s.record(s.object({ weight: s.number().default(0.5) })).optional(),
    none: s.string().nullable().default(null),
  });
  const filled = { port: 5432n, pool: { size: 3, tags: [] }, none: null };
  assert.deepEqual(read(schema, {}), filled);
  assert.deepEqual(read(schema, {}, { fill: false }), {});
  assert.deepEqual(read(schema, { rules: [{}], map: { a: {} }, pool: { size: 1 } }), {
    ...filled,
    rules: [{ on: true }],
    map: { a: { weight: 0.5 } },
    pool: { size: 1, tags: [] },
  });
  // A reader gets its own, and the schema has all of it, because the host fills in nothing within a default.
  read(schema, {}).pool.tags.push("changed");
  assert.deepEqual(read(schema, {}), filled);
  assert.deepEqual(s.inputs({ values: schema }).json.properties.values.properties.pool.default, { size: 3, tags: [] });
});

test("a union takes the form that fits, or says what is wrong in the nearest", () => {
  const a = s.object({ kind: s.enum(["a"]), size: s.integer().default(1) });
  const b = s.object({ kind: s.enum(["b"]), text: s.string() });
  const schema = s.object({ it: s.union(a, b, s.string()) });
  assert.deepEqual(read(schema, { it: { kind: "a" } }), { it: { kind: "a", size: 1 } });
  assert.deepEqual(read(schema, { it: "c" }), { it: "c" });
  assert.deepEqual(read(schema, { it: { kind: "b", text: 1 } }), [
    "/values/it/text has to be a string, and is a number",
  ]);
  assert.deepEqual(read(schema, { it: 1 }), ["/values/it fits none of its 3 forms"]);
});

test("any name is a name", () => {
  const schema = s.object({
    constructor: s.string(),
    ["__proto__"]: s.integer().default(1),
    toString: s.string().optional(),
    "": s.any(),
    ü: s.string(),
  });
  const values = JSON.parse('{"constructor": "c", "__proto__": 2, "": {"__proto__": 3}, "ü": "🎉"}');
  assert.equal(stringify(read(schema, values)), stringify(values));
  assert.deepEqual(Object.entries(read(schema, { constructor: "c", "": 0, ü: "" })).at(-1), ["__proto__", 1]);
  assert.deepEqual(read(schema, { "": 1, ü: "" }), ["/values/constructor is missing"]);
  assert.deepEqual(read(s.object({}), JSON.parse('{"__proto__": 1}')), [
    "/values/__proto__ is unknown; there are no names",
  ]);
  assert.deepEqual(read(s.record(s.string()), JSON.parse('{"__proto__": 1}')), [
    "/values/__proto__ has to be a string, and is a number",
  ]);
  // Written without brackets, it is no field.
  assert.throws(
    () => s.object({ __proto__: s.string() }),
    /^TypeError: s.object: the fields have to be a plain object/,
  );
});

test("a default and an example that fit are ones, and so are keywords of others", () => {
  s.string({ pattern: /^\p{L}+$/u, minLength: 5, maxLength: 5 })
    .default("größe")
    .example("müsse");
  s.string({ pattern: "^(?i)a" }).default("b");
  s.integer({ minimum: 3, maximum: 3, multipleOf: 3 }).default(3);
  s.number({ multipleOf: 0.1 }).default(0.3);
  s.bigint({ minimum: 3 }).default(2n ** 60n);
  s.union(s.string({ maxLength: 1 }), s.integer({ maximum: 3 }))
    .nullable()
    .example("a", 3, null);
  s.string().keywords({
    not: { const: "a" },
    "x-note": 1,
    note: "a",
    if: true,
    then: true,
    title: "T",
    minContains: 1,
  });
});

test("a fault in a declaration names its place", () => {
  const inputs = (it) => s.inputs({ values: s.object({ a: s.array(s.object({ it })) }) });
  for (const [declare, message] of [
    [
      () => s.string({ maxLenght: 3 }),
      "s.string: `maxLenght` is unknown; the options are minLength, maxLength, pattern, format",
    ],
    [() => s.string({ maxLength: -1 }), "s.string: `maxLength` has to be a whole number"],
    [() => s.string({ pattern: /a/i }), "s.string: JSON Schema has no patterns with the flags `i`"],
    [() => s.string("x"), "s.string: the options have to be an object"],
    [
      () => s.integer({ maximum: 2n ** 60n }),
      "s.integer: `maximum` is beyond -9007199254740991 to 9007199254740991; use `s.bigint()`",
    ],
    [() => s.number({ minimum: NaN }), "s.number: `minimum` has to be a number"],
    [
      () => s.integer({ minimum: 1, default: 3 }),
      "s.integer: `default` is unknown; the options are minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf",
    ],
    [() => s.enum([]), "s.enum: has to be a list of strings, of numbers or of booleans"],
    [() => s.enum(["a", 1]), "s.enum: has to be a list of strings, of numbers or of booleans"],
    [() => s.array("string"), "s.array: the item: has to be a schema, such as `s.string()`"],
    [() => s.array(s.string().optional()), "s.array: the item: `optional` is for fields of an object"],
    [() => s.object({ a: "string" }), "s.object: `a`: has to be a schema, such as `s.string()`"],
    [() => s.object({ a: s.string }), "s.object: `a`: has to be a schema, such as `s.string()`"],
    [
      () => s.object({}, { additionalProperties: s.string() }),
      "s.object: `additionalProperties` has to be true or false",
    ],
    [
      () => s.record(s.any(), { pattern: "a" }),
      "s.record: `pattern` is unknown; the options are names, minProperties, maxProperties",
    ],
    [() => s.union(s.string()), "s.union: has to have at least two forms"],
    [() => s.union(s.string(), s.integer().default(1)), "s.union: form 2: `default` is for fields of an object"],
    [
      () => s.lazy("a b", () => tree),
      's.lazy("a b"): the name has to begin with a letter, and to have only letters, digits, `_` and `-`',
    ],
    [() => s.schema({ pattern: /a/ }), "s.schema: `/pattern` is no JSON, but [object RegExp]"],
    [() => s.schema({ enum: [1, undefined] }), "s.schema: `/enum/1` is no JSON, but [object Undefined]"],
    [() => s.integer().default("1"), "s.integer.default: it has to be an integer, and is a string"],
    [() => s.integer().default(2 ** 53), "s.integer.default: it is beyond 2^53 - 1; use `s.bigint()`"],
    [() => s.integer().default(0.5), "s.integer.default: it has to be an integer, and is a number"],
    [() => s.integer({ minimum: 1 }).default(0), "s.integer.default: it breaks `minimum`, 1"],
    [() => s.bigint({ maximum: 3 }).default(4n), "s.bigint.default: it breaks `maximum`, 3"],
    [() => s.number({ exclusiveMinimum: 0 }).default(0), "s.number.default: it breaks `exclusiveMinimum`, 0"],
    [() => s.integer({ multipleOf: 5 }).default(7), "s.integer.default: it breaks `multipleOf`, 5"],
    [() => s.string({ pattern: /^[a-z]+$/ }).default("RW"), "s.string.default: it breaks `pattern`, /^[a-z]+$/"],
    [() => s.string({ maxLength: 3 }).example("größ"), "s.string.example: it breaks `maxLength`, 3"],
    [() => s.array(s.string({ minLength: 1 })).default(["a", ""]), "s.array.default: `/1` breaks `minLength`, 1"],
    [() => s.array(s.any(), { minItems: 1 }).default([]), "s.array.default: it breaks `minItems`, 1"],
    [() => s.record(s.any(), { names: /^a$/ }).default({ b: 1 }), "s.record.default: it breaks `names`, /^a$/"],
    [() => s.object({ a: s.integer({ maximum: 3 }) }).default({ a: 4 }), "s.object.default: `/a` breaks `maximum`, 3"],
    [
      () => s.string({ minLength: 3, maxLength: 1 }),
      "s.string: `minLength` is above `maxLength`, so that nothing fits",
    ],
    [() => s.integer({ minimum: 9, maximum: 1 }), "s.integer: `minimum` is above `maximum`, so that nothing fits"],
    [
      () => s.array(s.any(), { minItems: 2, maxItems: 1 }),
      "s.array: `minItems` is above `maxItems`, so that nothing fits",
    ],
    [() => s.string().keywords({ minLenght: 3 }), "s.string.keywords: `minLenght` is no keyword; `minLength` is one"],
    [() => s.string().keywords({ Patern: "a" }), "s.string.keywords: `Patern` is no keyword; `pattern` is one"],
    [() => s.outputs({}).keywords({ oneof: [] }), "s.outputs.keywords: `oneof` is no keyword; `oneOf` is one"],
    [
      () => s.string().keywords({ "x-purlin-replace": true }),
      "s.string.keywords: `x-purlin-replace` is no keyword; `x-purlin-replaces` is one",
    ],
    [() => s.bigint().default(new Date(0)), "s.bigint.default: it is no JSON, but [object Date]"],
    [() => s.object({ a: s.integer() }).default({}), "s.object.default: `/a` is missing"],
    [() => s.enum(["a"]).example("b"), "s.enum.example: it has to be one of a"],
    [() => s.string().optional().default("a"), "s.string.default: it is optional already; call only one of the two"],
    [() => s.string().default("a").optional(), "s.string.optional: it has a default, so it can be left out already"],
    [() => s.string().describe(7), "s.string.describe: has to be a string"],
    [() => s.string().holdsData(false), "s.string.holdsData: has to be a string"],
    [() => s.string().reaches("udp"), "s.string.reaches: has to be one of http, tcp, dir"],
    [() => s.string().reaches("http", { port: 80 }), "s.string.reaches: `port` says nothing beside `http`"],
    [
      () => s.string().keywords({ "x-purlin-replaces": true }),
      "s.string.keywords: `x-purlin-replaces` is the builder's; call `replaces`",
    ],
    [() => s.string().keywords({ type: "integer" }), "s.string.keywords: `type` is the builder's"],
    [
      () => inputs(s.string({ pattern: "a" }).keywords({ pattern: "b" })),
      "inputs.values.a[].it: `pattern` is given twice",
    ],
    [() => inputs(s.string().writeOnce()), "inputs.values.a[].it: `writeOnce` is for outputs"],
    [() => inputs(s.union(s.string(), s.integer().replaces()).nullable()), undefined],
    [
      () => s.outputs({ a: s.union(s.string(), s.array(s.string().immutable())) }),
      "outputs.a|2[]: `immutable` is for inputs",
    ],
    [() => s.outputs({ a: s.string().default("b") }), "outputs.a: `default` is for inputs"],
    [() => s.outputs({}).source("input"), "s.outputs.source: has to be one of inputs, computed"],
    [
      () => s.inputs({ value: s.object({}) }),
      "s.inputs: `value` is not a part of inputs; they are values, secrets, params, connection, account",
    ],
    [() => s.inputs({ values: s.string() }), "s.inputs: `values` has to be an object, such as `s.object({…})`"],
    [() => s.inputs({ values: s.object({}).optional() }), "s.inputs: `values`: `optional` is for fields of an object"],
    [
      () => s.inputs(s.object({})),
      's.inputs: the fields have to be a plain object; a field `__proto__` is written `["__proto__"]`',
    ],
  ]) {
    if (message === undefined) declare();
    else assert.throws(declare, { name: "TypeError", message });
  }
});
