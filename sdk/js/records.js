// The contract's records as ours, and the other way round: JSON and pairs are objects here, and inputs, outputs and
// states have the form that their type describes. This module needs no WebAssembly.

import { parse, stringify } from "./json.js";
import { demand, findings, isObject, isText, nameOf } from "./reading.js";

/** The JSON documents of inputs. */
const DOCUMENTS = ["values", "secrets", "params", "connection", "account"];

const named = (pairs, read) => Object.fromEntries(pairs.map(([name, value]) => [name, read(value)]));
/** Undefined ones are left out, as in JSON. */
const pairs = (values, write) =>
  Object.entries(values ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, write(value)]]));

/** The host's request for a function. `read` says how each of its inputs is read. */
export function request(theirs, type, read) {
  const ours = { ...theirs, subject: subject(theirs.subject), call: call(theirs.call) };
  for (const [name, how] of Object.entries(read)) {
    if (theirs[name] != null) ours[name] = type.inputs.read(inputs(theirs[name]), how);
  }
  if (theirs.state != null) ours.state = type.outputs.join(state(theirs.state));
  return ours;
}

const subject = (theirs) => ({
  ...theirs,
  context: { ...theirs.context, labels: named(theirs.context.labels, (text) => text) },
});

const call = (theirs) => ({ ...theirs, deadline: Number(theirs.deadline), hints: named(theirs.hints, parse) });

const inputs = (theirs) => ({ ...theirs, ...Object.fromEntries(DOCUMENTS.map((name) => [name, parse(theirs[name])])) });

const state = (theirs) => ({
  ...theirs,
  outputs: parse(theirs.outputs),
  secrets: parse(theirs.secrets),
  manifests: theirs.manifests.map((file) => ({ ...file, data: parse(file.data) })),
  notes: named(theirs.notes, parse),
});

/** An answer of the driver. A name that is misspelt would be lost. */
function known(place, answer, names, such, within) {
  const what = `an object, such as \`${such}\``;
  if (within) demand(`${place}: \`${within}\``, answer, isObject, what);
  else if (!isObject(answer)) throw new TypeError(`${place} has to return ${what}, and returns ${nameOf(answer)}`);
  const stray = Object.keys(answer).find((name) => !names.includes(name));
  if (stray === undefined) return answer;
  const has = within ? `: \`${within}\` has` : " returns";
  throw new TypeError(`${place}${has} an unknown \`${stray}\`; the names are ${names.join(", ")}`);
}

const isBytes = (value) => value instanceof Uint8Array;
const isVersion = (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32;
const isFile = (one) => isObject(one) && isText(one.name) && isText(one.location);
const listOf = (fits) => (value) => Array.isArray(value) && value.every(fits);

const anObject = (place, name, value) => demand(`${place}: \`${name}\``, value, isObject, "an object");
const texts = (place, name, value) => demand(`${place}: \`${name}\``, value, listOf(isText), "a list of strings");

/** The answer of `check`. What it leaves out stays as it is. */
export function checked(answer = {}, type, { inputs }, place) {
  const names = ["values", "secrets", "warnings"];
  const { values, secrets, warnings = [] } = known(place, answer, names, "{ values }");
  demand(`${place}: \`warnings\``, warnings, Array.isArray, "a list");
  const part = (name, ours) => (ours === undefined ? inputs[name] : stringify(anObject(place, name, ours)));
  return {
    values: part("values", values),
    secrets: part("secrets", secrets),
    warnings: findings(`${place}: warning`, warnings),
  };
}

const OF_STATE = ["id", "outputs", "secrets", "cookie", "manifests", "sensitive", "version", "notes"];

/** A driver's state, which a function returns as a whole or, `within` a name, as a part. */
export function written(ours, type, _, place, within = "") {
  const state = known(place, ours, OF_STATE, "{ id, outputs }", within);
  const { id, outputs = {}, secrets = {}, cookie = new Uint8Array(), manifests = [], sensitive = [] } = state;
  const { version = 0, notes = {} } = state;
  const a = (name) => `${place}: \`${within && `${within}.`}${name}\``;
  demand(a("id"), id, isText, "a string", "; write `String(id)`");
  for (const [name, value] of Object.entries({ outputs, secrets, notes }))
    demand(a(name), value, isObject, "an object");
  demand(a("cookie"), cookie, isBytes, "a Uint8Array");
  demand(a("manifests"), manifests, listOf(isFile), "a list of `{ name, location, data }`");
  demand(a("sensitive"), sensitive, listOf(isText), "a list of strings");
  demand(a("version"), version, isVersion, "an integer from 0 to 2^32 - 1");
  const parts = type.outputs.split({ outputs, secrets, sensitive });
  return {
    id,
    outputs: stringify(parts.outputs),
    secrets: stringify(parts.secrets),
    cookie,
    manifests: manifests.map((file) => ({ ...file, data: stringify(file.data) })),
    sensitive: parts.sensitive,
    version,
    notes: pairs(notes, stringify),
  };
}

/** The answer of `read`. */
export function observed(answer, type, theirs, place) {
  if (answer === undefined || answer === null) return undefined;
  const { state, values } = known(place, answer, ["state", "values"], "{ state, values }");
  return {
    state: written(state, type, theirs, place, "state"),
    values: values && stringify(anObject(place, "values", values)),
  };
}

/** The answer of `updateImpact`. */
export function impact(answer = {}, type, { state }, place) {
  const names = ["replaces", "deleteBeforeReplace", "stableOutputs"];
  const {
    replaces = [],
    deleteBeforeReplace = false,
    stableOutputs = [],
  } = known(place, answer, names, '{ replaces: ["/values/size"] }');
  demand(`${place}: \`deleteBeforeReplace\``, deleteBeforeReplace, (is) => typeof is === "boolean", "true or false");
  texts(place, "replaces", replaces);
  texts(place, "stableOutputs", stableOutputs);
  return { replaces, deleteBeforeReplace, stableOutputs: type.outputs.places(stableOutputs, parse(state.secrets)) };
}

const ACTIONS = [
  "none",
  "create",
  "read",
  "update",
  "create-then-delete",
  "delete-then-create",
  "delete",
  "adopt",
  "forget",
];
const OF_FORECAST = ["outputs", "secrets", "unknown", "sensitive", "parts", "token", "notes"];
const PLACES = ["unknown", "sensitive", "replaces"];
const OF_PART = ["address", "movedFrom", "typeName", "action", "before", "after", ...PLACES, "holdsData", "notes"];

/** The answer of `preview`. */
export function forecast(answer = {}, type, theirs, place) {
  const ours = known(place, answer, OF_FORECAST, "{ outputs }");
  const { outputs = {}, secrets = {}, unknown = [], sensitive = [], parts = [], token, notes = {} } = ours;
  for (const [name, value] of Object.entries({ outputs, secrets, notes })) anObject(place, name, value);
  for (const [name, value] of Object.entries({ unknown, sensitive })) texts(place, name, value);
  demand(`${place}: \`parts\``, parts, Array.isArray, "a list");
  if (token !== undefined) demand(`${place}: \`token\``, token, isBytes, "a Uint8Array");
  const split = type.outputs.split({ outputs, secrets, sensitive });
  return {
    outputs: stringify(split.outputs),
    secrets: stringify(split.secrets),
    unknown: type.outputs.places(unknown, split.secrets),
    sensitive: split.sensitive,
    parts: parts.map((one, index) => part(one, place, `parts[${index}]`)),
    token,
    notes: pairs(notes, stringify),
  };
}

/** A part of a forecast, `within` its list. */
function part(ours, place, within) {
  const such = '{ address: "net", typeName: "network", action: "create" }';
  const { address, movedFrom, typeName, action, before, after, holdsData, notes = {}, ...places } = known(
    place,
    ours,
    OF_PART,
    such,
    within,
  );
  const a = (name) => `${place}: \`${within}.${name}\``;
  demand(a("address"), address, isText, "a string");
  demand(a("typeName"), typeName, isText, "a string");
  demand(a("action"), action, (value) => ACTIONS.includes(value), `one of ${ACTIONS.join(", ")}`);
  for (const [name, value] of Object.entries({ movedFrom, holdsData }))
    if (value !== undefined) demand(a(name), value, isText, "a string");
  demand(a("notes"), notes, isObject, "an object");
  const listed = PLACES.map((name) => [name, demand(a(name), places[name] ?? [], listOf(isText), "a list of strings")]);
  const shown = (value) => (value === undefined || value === null ? undefined : stringify(value));
  return {
    address,
    movedFrom,
    typeName,
    action,
    before: shown(before),
    after: shown(after),
    ...Object.fromEntries(listed),
    holdsData,
    notes: pairs(notes, stringify),
  };
}

/** The answer of `name`. */
export function name(answer, type, theirs, place) {
  if (isText(answer)) return answer;
  throw new TypeError(`${place} has to return a string, and returns ${nameOf(answer)}`);
}

const problem = ({ message, details }) => ({ message, details: pairs(details, String) });

const milliseconds = (number) => BigInt(Math.round(number));

/** The failure that a driver threw. One with a state comes from a function of a type. */
export function failure({ tag, val }, type, place) {
  const stated = () => written(val.state, type, undefined, `\`${tag}\` in ${place}`, "state");
  switch (tag) {
    case "invalid-inputs":
    case "denied":
      return { tag, val };
    case "retry-after":
      return { tag, val: { ...val, afterMs: milliseconds(val.afterMs) } };
    case "pending":
      return { tag, val: { ...val, state: val.state ? stated() : undefined, afterMs: milliseconds(val.afterMs) } };
    case "partial":
      return { tag, val: { state: stated(), problem: problem(val.problem) } };
    default:
      return { tag, val: problem(val) };
  }
}

/** A driver's description of itself. */
export const info = ({ name, version, description, requestedCapabilities = [], notes }, types) => ({
  name,
  version,
  description,
  types,
  requestedCapabilities,
  notes: pairs(notes, stringify),
});

/** A type's description, with what it implements. */
export const typeSchema = ({ type, inputs, outputs }, implemented) => ({
  typeName: type,
  implements: implemented,
  inputs: stringify(inputs.json),
  outputs: stringify(outputs.json),
});
