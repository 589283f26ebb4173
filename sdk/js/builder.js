// The builder of schemas, `s`: a function for each kind of value. One description gives the JSON Schema, the types of
// TypeScript (`schema.d.ts`), and how requests are read. This module needs no WebAssembly.

import { EXACT, exactly, formOf, listOf, objectOf, ofType, oneOf, safely, typed } from "./reading.js";
import { InputsSchema, OutputsSchema } from "./roots.js";
import { Schema, fail, isPlain, json, schemaOf, wholeOf, write } from "./schema.js";

/** What options take, and how it is called. */
const TAKES = {
  size: [(value) => Number.isSafeInteger(value) && value >= 0, "a whole number"],
  number: [(value) => typeof value === "bigint" || Number.isFinite(value), "a number"],
  text: [(value) => typeof value === "string", "a string"],
  pattern: [(value) => typeof value === "string" || value instanceof RegExp, "a string or a RegExp"],
  flag: [(value) => typeof value === "boolean", "true or false"],
};
const OF_STRING = { minLength: "size", maxLength: "size", pattern: "pattern", format: "text" };
const OF_NUMBER = {
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "number",
};
const OF_ARRAY = { minItems: "size", maxItems: "size", uniqueItems: "flag" };
const OF_OBJECT = { minProperties: "size", maxProperties: "size" };

/** Options of which the first must not be above the second. */
const ENDS = [
  ["minLength", "maxLength"],
  ["minimum", "maximum"],
  ["exclusiveMinimum", "exclusiveMaximum"],
  ["minItems", "maxItems"],
  ["minProperties", "maxProperties"],
];

/** The options of a kind, as keywords. */
function keywords(options, known, place) {
  if (!isPlain(options)) fail(place, "the options have to be an object");
  const rules = Object.entries(options).map(([name, value]) => {
    if (!Object.hasOwn(known, name))
      fail(place, `\`${name}\` is unknown; the options are ${Object.keys(known).join(", ")}`);
    const [takes, wanted] = TAKES[known[name]];
    if (!takes(value)) fail(place, `\`${name}\` has to be ${wanted}`);
    return [name, value instanceof RegExp ? source(value, place) : value];
  });
  const all = Object.fromEntries(rules);
  for (const [least, most] of ENDS) {
    if (all[least] > all[most]) fail(place, `\`${least}\` is above \`${most}\`, so that nothing fits`);
  }
  return all;
}

/** A RegExp as JSON Schema has it: without flags, and without what only JavaScript's literals escape. */
function source({ source, flags }, place) {
  const stray = flags.replace(/[uv]/g, "");
  if (stray) fail(place, `JSON Schema has no patterns with the flags \`${stray}\``);
  return source.replace(/\\(.)/gs, (pair, character) => (character === "/" ? "/" : pair));
}

/** The fields of an object. */
function fieldsOf(fields, place) {
  if (!isPlain(fields))
    fail(place, 'the fields have to be a plain object; a field `__proto__` is written `["__proto__"]`');
  return new Map(Object.entries(fields).map(([name, field]) => [name, schemaOf(field, `${place}: \`${name}\``)]));
}

/** The keywords of integers: their limits, in inputs also those of the type. */
function limits(options, [least, most], place) {
  const rules = keywords(options, OF_NUMBER, place);
  const stray = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].find(
    (name) => rules[name] < least || rules[name] > most,
  );
  if (stray)
    fail(place, `\`${stray}\` is beyond ${least} to ${most}${place === "s.integer" ? "; use `s.bigint()`" : ""}`);
  const own = {
    ...("exclusiveMinimum" in rules || { minimum: least }),
    ...("exclusiveMaximum" in rules || { maximum: most }),
  };
  return ({ of }) => ({ type: "integer", ...(of === "inputs" && own), ...rules });
}

const SAFE = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

export const s = {
  string(options = {}) {
    const name = "s.string";
    const rules = keywords(options, OF_STRING, name);
    const read = typed("a string", (value) => typeof value === "string");
    return new Schema({ name, rules, write: () => ({ type: "string", ...rules }), read });
  },

  boolean() {
    const read = typed("a boolean", (value) => typeof value === "boolean");
    return new Schema({ name: "s.boolean", write: () => ({ type: "boolean" }), read });
  },

  number(options = {}) {
    const name = "s.number";
    const rules = keywords(options, OF_NUMBER, name);
    const read = typed("a number", (value) => typeof value === "number");
    return new Schema({ name, rules, write: () => ({ type: "number", ...rules }), read });
  },

  integer(options = {}) {
    const name = "s.integer";
    const rules = limits(options, SAFE, name);
    return new Schema({ name, rules: options, write: (_, context) => rules(context), read: safely });
  },

  bigint(options = {}) {
    const name = "s.bigint";
    const rules = limits(options, EXACT, name);
    return new Schema({ name, rules: options, write: (_, context) => rules(context), read: exactly });
  },

  enum(values) {
    const name = "s.enum";
    const types = new Set(Array.isArray(values) && values.map((value) => typeof value));
    const [type, ...others] = types;
    if (!["string", "number", "boolean"].includes(type) || others.length > 0) {
      fail(name, "has to be a list of strings, of numbers or of booleans");
    }
    const all = json(values, name);
    return new Schema({ name, write: () => ({ type, enum: all }), read: oneOf(all) });
  },

  array(item, options = {}) {
    const name = "s.array";
    wholeOf(item, `${name}: the item`);
    const rules = keywords(options, OF_ARRAY, name);
    return new Schema({
      name,
      rules,
      write: (below) => ({ type: "array", items: below(item, "[]"), ...rules }),
      read: listOf(item),
    });
  },

  object(fields, { additionalProperties = false, ...options } = {}) {
    const name = "s.object";
    const all = fieldsOf(fields, name);
    const rules = keywords(options, { additionalProperties: "flag", ...OF_OBJECT }, name);
    if (typeof additionalProperties !== "boolean") fail(name, "`additionalProperties` has to be true or false");
    const required = [...all].filter(([, { marks }]) => !marks.optional && !marks.default).map(([name]) => name);
    return new Schema({
      name,
      rules,
      fields: all,
      isObject: true,
      write: (below) => ({
        type: "object",
        properties: Object.fromEntries([...all].map(([name, field]) => [name, below(field, `.${name}`)])),
        ...(required.length > 0 && { required }),
        ...(!additionalProperties && { additionalProperties }),
        ...rules,
      }),
      read: objectOf(all, additionalProperties && s.any()),
    });
  },

  record(item, { names, ...options } = {}) {
    const name = "s.record";
    wholeOf(item, `${name}: the item`);
    const { pattern } = names === undefined ? {} : keywords({ pattern: names }, OF_STRING, name);
    const rules = {
      ...(pattern && { propertyNames: { pattern } }),
      ...keywords(options, { names: "pattern", ...OF_OBJECT }, name),
    };
    return new Schema({
      name,
      rules: { ...rules, names: pattern },
      isObject: true,
      write: (below) => ({ type: "object", additionalProperties: below(item, ".*"), ...rules }),
      read: objectOf(new Map(), item),
    });
  },

  union(...forms) {
    const name = "s.union";
    if (forms.length < 2) fail(name, "has to have at least two forms");
    forms.forEach((form, index) => wholeOf(form, `${name}: form ${index + 1}`));
    return new Schema({
      name,
      get isObject() {
        return forms.every(({ kind }) => kind.isObject);
      },
      write: (below) => ({ anyOf: forms.map((form, index) => below(form, `|${index + 1}`)) }),
      read: formOf(forms),
    });
  },

  lazy(title, make) {
    const name = `s.lazy(${JSON.stringify(title)})`;
    if (!/^[A-Za-z][\w-]*$/.test(title))
      fail(name, "the name has to begin with a letter, and to have only letters, digits, `_` and `-`");
    if (typeof make !== "function") fail(name, "has to have a function that returns the schema");
    let made;
    const schema = () => (made ??= wholeOf(make(), name));
    return new Schema({
      name,
      get isObject() {
        return schema().kind.isObject;
      },
      write(_, context) {
        const known = context.definitions.get(title);
        if (known && known.schema !== schema())
          fail(name, "another schema has this name; make the schema once, outside of the function");
        if (!known) {
          const definition = { schema: schema() };
          context.definitions.set(title, definition);
          definition.rules = write(definition.schema, title, context);
        }
        return { $ref: `#/$defs/${title}` };
      },
      read: (value, pointer, reading) => reading.read(schema(), value, pointer),
    });
  },

  any: () => new Schema({ name: "s.any", isObject: true, write: () => ({}), read: (value) => value }),

  schema(rules) {
    const name = "s.schema";
    if (!isPlain(rules)) fail(name, "has to be a JSON Schema, an object");
    const own = json(rules, name);
    return new Schema({ name, isRaw: true, isObject: true, write: () => own, read: ofType(own.type) });
  },

  inputs: (parts) => new InputsSchema(fieldsOf(parts, "s.inputs")),

  outputs: (fields, options) => new OutputsSchema(s.object(fields, options)),
};
