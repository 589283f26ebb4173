// The schema of a value: its JSON Schema, and how values are read. `builder.js` makes them. A schema never changes:
// each method returns another. A fault in a declaration is a `TypeError` that names the place.

import { parse, stringify } from "./json.js";
import { Reading, escaped } from "./reading.js";

/** Keywords of methods, and what they describe. */
const METHODS = {
  __proto__: null,
  default: ["default", "inputs"],
  "x-purlin-replaces": ["replaces", "inputs"],
  "x-purlin-immutable": ["immutable", "inputs"],
  "x-purlin-holds-data": ["holdsData", "inputs"],
  "x-purlin-reaches": ["reaches", "inputs"],
  "x-purlin-write-once": ["writeOnce", "outputs"],
};
/** What the driver reaches, and what may be said about it. */
const REACHES = { http: ["methods"], tcp: ["port"], dir: [] };
/** Keywords that only the builder writes. */
const OURS = new Set([
  ...["type", "properties", "required", "additionalProperties", "propertyNames", "items", "enum", "const", "anyOf"],
  ...["$ref", "$defs", "description", "examples", "deprecated", "writeOnly"],
  ...["x-purlin-port", "x-purlin-methods", "x-purlin-outputs"],
  ...Object.keys(METHODS),
]);

/** The other keywords of JSON Schema 2020-12 of which a misspelling is unlikely to be something else. */
const KNOWN = [
  ...OURS,
  ...["minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "prefixItems", "contains"],
  ...["minContains", "maxContains", "patternProperties", "dependentRequired", "dependentSchemas", "oneOf", "allOf"],
  ...["unevaluatedItems", "unevaluatedProperties", "readOnly", "$comment", "$anchor", "$schema", "$dynamicRef"],
  ...["contentEncoding", "contentMediaType", "contentSchema"],
];

/** How many letters differ: those that are missing, too many, or others. */
function difference(one, other) {
  let above = [...other, ""].map((_, index) => index);
  for (let i = 0; i < one.length; i += 1) {
    const row = [i + 1];
    for (let j = 0; j < other.length; j += 1) {
      row.push(Math.min(above[j] + (one[i] !== other[j]), above[j + 1] + 1, row[j] + 1));
    }
    above = row;
  }
  return above.at(-1);
}

/** The known keyword that a misspelt one means. */
function meant(name) {
  if (KNOWN.includes(name)) return undefined;
  return KNOWN.find((known) => {
    const near = known.length < 5 ? 0 : known.length < 8 ? 1 : 2;
    return difference(name.toLowerCase(), known.toLowerCase()) <= near;
  });
}

export function fail(place, message) {
  throw new TypeError(`${place}: ${message}`);
}

/** Whether a value is an object without a class. A literal with `__proto__: …` makes one that has a class. */
export const isPlain = (value) =>
  typeof value === "object" && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** A copy of a JSON value. What JSON would leave out or replace is a fault. */
export function json(value, place) {
  const check = (one, at) => {
    if (Array.isArray(one) || isPlain(one)) {
      // Also the gaps of a list.
      const items = Array.isArray(one) ? [...one.entries()] : Object.entries(one);
      return items.forEach(([name, item]) => check(item, `${at}/${escaped(`${name}`)}`));
    }
    if (one === null || ["string", "boolean", "bigint"].includes(typeof one) || Number.isFinite(one)) return;
    fail(place, `${at ? `\`${at}\`` : "it"} is no JSON, but ${Object.prototype.toString.call(one)}`);
  };
  check(value, "");
  return parse(stringify(value));
}

const text = (value, place) => (typeof value === "string" ? value : fail(place, "has to be a string"));

export const holding = (what, place) => ({ "x-purlin-holds-data": what === undefined || text(what, place) });

/** Keywords that the builder has no method for. */
export function further(more, place) {
  if (!isPlain(more)) fail(place, "has to be an object");
  const ours = Object.keys(more).find((name) => OURS.has(name));
  if (ours) fail(place, `\`${ours}\` is the builder's${METHODS[ours] ? `; call \`${METHODS[ours][0]}\`` : ""}`);
  for (const name of Object.keys(more)) {
    const known = meant(name);
    if (known) fail(place, `\`${name}\` is no keyword; \`${known}\` is one`);
  }
  return json(more, place);
}

export class Schema {
  /**
   * @param kind its `name`, and how it is written and read
   * @param rules keywords of methods
   * @param marks whether it is `optional` or `nullable`, and its `default`
   */
  constructor(kind, rules = {}, marks = {}) {
    Object.assign(this, { kind, rules, marks });
    Object.freeze(this);
  }

  #with(rules, marks) {
    return new Schema(this.kind, { ...this.rules, ...rules }, { ...this.marks, ...marks });
  }

  describe(description) {
    return this.#with({ description: text(description, `${this.kind.name}.describe`) });
  }

  example(...values) {
    return this.#with({ examples: values.map((value) => this.#complete(value, "example")) });
  }

  optional() {
    if (this.marks.default) fail(`${this.kind.name}.optional`, "it has a default, so it can be left out already");
    return this.#with({}, { optional: true });
  }

  nullable() {
    return this.#with({}, { nullable: true });
  }

  default(value) {
    if (this.marks.optional) fail(`${this.kind.name}.default`, "it is optional already; call only one of the two");
    const complete = this.#complete(value, "default");
    // A copy for each reader.
    return this.#with(
      { default: complete },
      { default: () => new Reading().read(this, parse(stringify(complete)), "") },
    );
  }

  deprecated() {
    return this.#with({ deprecated: true });
  }

  secret() {
    return this.#with({ writeOnly: true });
  }

  replaces() {
    return this.#with({ "x-purlin-replaces": true });
  }

  immutable() {
    return this.#with({ "x-purlin-immutable": true });
  }

  holdsData(what) {
    return this.#with(holding(what, `${this.kind.name}.holdsData`));
  }

  reaches(target, options = {}) {
    const place = `${this.kind.name}.reaches`;
    if (!Object.hasOwn(REACHES, target)) fail(place, `has to be one of ${Object.keys(REACHES).join(", ")}`);
    const stray = Object.keys(options).find((name) => !REACHES[target].includes(name));
    if (stray) fail(place, `\`${stray}\` says nothing beside \`${target}\``);
    const more = Object.entries(json(options, place)).map(([name, value]) => [`x-purlin-${name}`, value]);
    return this.#with({ "x-purlin-reaches": target, ...Object.fromEntries(more) });
  }

  writeOnce() {
    return this.#with({ "x-purlin-write-once": true });
  }

  keywords(more) {
    return this.#with(further(more, `${this.kind.name}.keywords`));
  }

  /** A value of the schema, with its defaults. */
  #complete(value, method) {
    const place = `${this.kind.name}.${method}`;
    const reading = new Reading({ whole: true });
    const complete = reading.read(this, json(value, place), "");
    for (const { pointer, message } of reading.faults) {
      const advice = message === "is beyond 2^53 - 1" ? "; use `s.bigint()`" : "";
      fail(place, `${pointer ? `\`${pointer}\`` : "it"} ${message}${advice}`);
    }
    return complete;
  }
}

/** A value that has to be a schema. */
export const schemaOf = (value, place) =>
  value instanceof Schema ? value : fail(place, "has to be a schema, such as `s.string()`");

/** A schema that is not a field of an object, so that nothing can be left out. */
export function wholeOf(value, place) {
  const { marks } = schemaOf(value, place);
  const stray = ["optional", "default"].find((name) => marks[name]);
  return stray ? fail(place, `\`${stray}\` is for fields of an object`) : value;
}

/**
 * The JSON Schema of a value at a place. The context has what the whole is `of`, inputs or outputs, and the
 * `definitions` that it shares.
 */
export function write({ kind, rules, marks }, place, context) {
  for (const keyword of Object.keys(rules)) {
    const [method, of] = METHODS[keyword] ?? [];
    if (of && of !== context.of) fail(place, `\`${method}\` is for ${of}`);
  }
  const own = kind.write((child, step) => write(child, `${place}${step}`, context), context);
  const twice = Object.keys(rules).find((keyword) => Object.hasOwn(own, keyword));
  if (twice !== undefined) fail(place, `\`${twice}\` is given twice`);
  return { ...(marks.nullable ? withNull(own, kind) : own), ...rules };
}

function withNull(own, { isRaw }) {
  if (Object.keys(own).length === 0) return own;
  if (isRaw || typeof own.type !== "string") return { anyOf: [own, { type: "null" }] };
  return { ...own, type: [own.type, "null"], ...(own.enum && { enum: [...own.enum, null] }) };
}
