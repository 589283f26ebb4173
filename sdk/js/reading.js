// Reads values by their schema: types, names and defaults. All else that a schema says, such as a pattern, the host
// checks before it calls the driver. This module needs no WebAssembly.

/** The integers of the contract. */
export const EXACT = [-(2n ** 63n), 2n ** 64n - 1n];

/** One segment of a JSON pointer. */
export const escaped = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** What a value is, in words. */
export function nameOf(value) {
  if (value === null || value === undefined) return `${value}`;
  if (Array.isArray(value)) return "a list";
  if (typeof value === "bigint") return "an integer beyond 2^53 - 1";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

const wrong = (wanted, value) => `has to be ${wanted}, and is ${nameOf(value)}`;

/** Rejects a value that is none of the wanted ones, which `fits` tells. */
export function demand(what, value, fits, wanted, advice = "") {
  if (fits(value)) return value;
  const fault = value === undefined ? `is missing; it has to be ${wanted}` : `${wrong(wanted, value)}${advice}`;
  throw new TypeError(`${what} ${fault}`);
}

/** What options demand of a value; `undefined` if it is of another type. */
const SIZES = {
  Length: (value) => (isText(value) ? [...value].length : undefined),
  Items: (value) => (Array.isArray(value) ? value.length : undefined),
  Properties: (value) => (isObject(value) ? Object.keys(value).length : undefined),
};

/** Whether a value matches a pattern. One that JavaScript does not read is left to the host. */
function matches(pattern, value) {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

/** Which option a value breaks, in words; undefined for none. */
function breach(value, rules = {}) {
  for (const [name, wanted] of Object.entries(rules)) {
    const [, end, of] = /^(min|max)(Length|Items|Properties)$/.exec(name) ?? [];
    const size = of && SIZES[of](value);
    const isWhole = [value, wanted].every((one) => typeof one === "bigint" || Number.isSafeInteger(one));
    const isBroken =
      (end === "min" && size < wanted) ||
      (end === "max" && size > wanted) ||
      (name === "minimum" && value < wanted) ||
      (name === "maximum" && value > wanted) ||
      (name === "exclusiveMinimum" && value <= wanted) ||
      (name === "exclusiveMaximum" && value >= wanted) ||
      (name === "multipleOf" && isWhole && BigInt(value) % BigInt(wanted) !== 0n) ||
      (name === "pattern" && isText(value) && !matches(wanted, value)) ||
      (name === "names" && isObject(value) && !Object.keys(value).every((one) => matches(wanted, one)));
    if (isBroken) return `breaks \`${name}\`, ${typeof wanted === "string" ? `/${wanted}/` : wanted}`;
  }
  return undefined;
}

/** The reading of one document, with its faults. */
export class Reading {
  faults = [];

  /**
   * @param unknown places of values that are not known yet
   * @param fill whether to fill in defaults
   * @param whole whether to check all that the builder's options say, as the host does
   */
  constructor({ unknown = [], fill = true, whole = false } = {}) {
    this.unknown = new Set(unknown);
    this.fill = fill;
    this.whole = whole;
  }

  /** Notes a fault. The value stays as it is. */
  fault(pointer, message, value) {
    this.faults.push({ pointer, message });
    return value;
  }

  /** The value at a pointer, as its schema has it. */
  read({ kind, marks }, value, pointer) {
    if (value === null && (marks.nullable || this.unknown.has(pointer))) return null;
    const before = this.faults.length;
    const read = kind.read(value, pointer, this);
    const broken = this.whole && this.faults.length === before ? breach(read, kind.rules) : undefined;
    return broken === undefined ? read : this.fault(pointer, broken, read);
  }
}

export const isText = (value) => typeof value === "string";

/** Findings about inputs, each with its `pointer` and its `message`. `place` says what their number is one of. */
export function findings(place, all) {
  const wanted = 'a finding, such as `{ pointer: "/values/size", message: "is too large" }`';
  const fits = (one) => isObject(one) && isText(one.pointer) && isText(one.message);
  all.forEach((one, index) => demand(`${place} ${index + 1}`, one, fits, wanted));
  return all;
}

/** Reads values of a type that JavaScript has. */
export const typed = (wanted, fits) => (value, pointer, reading) =>
  fits(value) ? value : reading.fault(pointer, wrong(wanted, value), value);

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The types of JSON Schema. */
const TYPES = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number" || typeof value === "bigint",
  integer: (value) => Number.isInteger(value) || typeof value === "bigint",
  array: Array.isArray,
  object: isObject,
};

/** Reads values of the `type` of a JSON Schema, if it has one. */
export function ofType(type) {
  const types = [type ?? []].flat();
  const fits = (value) => types.length === 0 || types.some((one) => TYPES[one]?.(value));
  return typed(types.join(" or "), fits);
}

/** Reads integers as `bigint`, however small they are. */
export function exactly(value, pointer, reading) {
  const integer = Number.isInteger(value) ? BigInt(value) : value;
  if (typeof integer === "bigint" && integer >= EXACT[0] && integer <= EXACT[1]) return integer;
  return reading.fault(pointer, wrong("an integer from -2^63 to 2^64 - 1", value), value);
}

/** Reads integers that a `number` holds exactly. */
export const safely = (value, pointer, reading) =>
  typeof value === "bigint" || (Number.isInteger(value) && !Number.isSafeInteger(value))
    ? reading.fault(pointer, "is beyond 2^53 - 1", value)
    : typed("an integer", Number.isSafeInteger)(value, pointer, reading);

/** Reads one of several values. */
export const oneOf = (values) => (value, pointer, reading) =>
  values.includes(value) ? value : reading.fault(pointer, `has to be one of ${values.join(", ")}`, value);

/** Reads lists. */
export const listOf = (item) => (value, pointer, reading) =>
  Array.isArray(value)
    ? value.map((one, index) => reading.read(item, one, `${pointer}/${index}`))
    : reading.fault(pointer, wrong("a list", value), value);

/** Reads objects with fields; `rest` reads the others, if there may be any. */
export const objectOf = (fields, rest) => (value, pointer, reading) => {
  if (!isObject(value)) return reading.fault(pointer, wrong("an object", value), value);
  const placeOf = (name) => `${pointer}/${escaped(name)}`;
  const entries = Object.entries(value).map(([name, one]) => {
    const field = fields.get(name) ?? rest;
    if (field) return [name, reading.read(field, one, placeOf(name))];
    const names = fields.size > 0 ? `the names are ${[...fields.keys()].join(", ")}` : "there are no names";
    return [name, reading.fault(placeOf(name), `is unknown; ${names}`, one)];
  });
  for (const [name, { marks }] of fields) {
    if (Object.hasOwn(value, name)) continue;
    if (!marks.default) {
      if (!marks.optional) reading.fault(placeOf(name), "is missing");
    } else if (reading.fill) entries.push([name, marks.default()]);
  }
  // Unlike an assignment, this takes `__proto__` as a name.
  return Object.fromEntries(entries);
};

/** Reads values of one of several forms: the first that fits. */
export const formOf = (forms) => (value, pointer, reading) => {
  const tries = forms.map((form) => {
    const one = new Reading(reading);
    return { value: one.read(form, value, pointer), faults: one.faults };
  });
  const fit = tries.find(({ faults }) => faults.length === 0);
  if (fit) return fit.value;
  // The faults of a form of this type say more, if it is nearer than the others.
  const near = tries.filter(({ faults }) => faults.every((fault) => fault.pointer !== pointer));
  const [first, second] = near.sort((a, b) => a.faults.length - b.faults.length);
  if (!first || first.faults.length === second?.faults.length) {
    return reading.fault(pointer, `fits none of its ${forms.length} forms`, value);
  }
  reading.faults.push(...first.faults);
  return value;
};
