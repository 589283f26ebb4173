// The declaration of a driver. A fault in it ends the build, and names the place.

import { InputsSchema, OutputsSchema } from "./roots.js";
import { fail } from "./schema.js";

/** What a type has to have, with the test of each. */
const TYPE = {
  type: (value) => typeof value === "string" || "a string, the type or `*`",
  inputs: (value) => value instanceof InputsSchema || "made with `s.inputs`",
  outputs: (value) => value instanceof OutputsSchema || "made with `s.outputs`",
  create: isFunction,
  delete: isFunction,
};
/** What it may have. */
const OF_TYPE = {
  repeatCreate: (value) => typeof value === "boolean" || "true or false",
  check: isFunction,
  name: isFunction,
  read: isFunction,
  updateImpact: isFunction,
  update: isFunction,
  preview: isFunction,
};
const DRIVER = {
  name: (value) => typeof value === "string" || "a string, `ORG/NAME`",
  version: isText,
  description: isText,
  types: (value) =>
    (Array.isArray(value) && value.length > 0 && value.every((one) => resources.has(one))) ||
    "a list of what `resource` returns",
};
const CAPABILITY = { capability: isText, reason: isText };
const OF_CAPABILITY = { pattern: isText };
const OF_DRIVER = {
  requestedCapabilities: (value) => Array.isArray(value) || "a list",
  notes: (value) => (typeof value === "object" && value !== null) || "an object",
};

const resources = new WeakSet();

function isFunction(value) {
  return typeof value === "function" || "a function";
}

function isText(value) {
  return typeof value === "string" || "a string";
}

/** A name that is misspelt would be a function that the host never calls. */
function declared(place, needed, allowed, one) {
  for (const name of Object.keys(one)) {
    if (!Object.hasOwn(needed, name) && !Object.hasOwn(allowed, name)) {
      fail(place, `\`${name}\` is unknown; the names are ${Object.keys({ ...needed, ...allowed }).join(", ")}`);
    }
  }
  for (const [name, test] of Object.entries({ ...needed, ...allowed })) {
    if (one[name] === undefined) {
      if (Object.hasOwn(needed, name)) fail(place, `\`${name}\` is missing`);
      continue;
    }
    const wanted = test(one[name]);
    if (wanted !== true) fail(place, `\`${name}\` has to be ${wanted}`);
  }
  return one;
}

/** Rejects a component that exports previews without a driver that has one, and the reverse. */
export function needPreview({ types }, isExported) {
  const one = types.find(({ preview }) => preview);
  const option = "the option `--preview` of `purlin-driver`, or `preview` of `build`";
  if (one && !isExported) fail(`resource \`${one.type}\``, `\`preview\` is not exported; the build needs ${option}`);
  if (!one && isExported) fail("driver", `no type has a \`preview\`; the build does not need ${option}`);
}

/** A resource type, with the functions of its life. */
export function resource(type) {
  declared(typeof type.type === "string" ? `resource \`${type.type}\`` : "resource", TYPE, OF_TYPE, type);
  resources.add(type);
  return type;
}

/** A driver of one or several types. */
export function driver(about) {
  declared("driver", DRIVER, OF_DRIVER, about);
  about.requestedCapabilities?.forEach((one) => declared("a requested capability", CAPABILITY, OF_CAPABILITY, one));
  const names = about.types.map(({ type }) => type);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) fail("driver", `two of its types are called \`${twice}\``);
  return about;
}
