// The contract's records as ours, and the other way round: JSON and pairs are objects here, and inputs, outputs and
// states have the form that their type describes. This module needs no WebAssembly.

import { parse, stringify } from "./json.js";

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
function known(what, answer, names) {
  if (typeof answer !== "object" || answer === null) throw new TypeError(`${what} has to be an object`);
  const stray = Object.keys(answer).find((name) => !names.includes(name));
  if (stray === undefined) return answer;
  throw new TypeError(`${what} has an unknown \`${stray}\`; the names are ${names.join(", ")}`);
}

/** The answer of `check`. What it leaves out stays as it is. */
export function checked(answer = {}, type, { inputs }) {
  const { values, secrets, warnings = [] } = known("the answer of `check`", answer, ["values", "secrets", "warnings"]);
  const part = (ours, theirs) => (ours === undefined ? theirs : stringify(ours));
  return { values: part(values, inputs.values), secrets: part(secrets, inputs.secrets), warnings };
}

const OF_STATE = ["id", "outputs", "secrets", "cookie", "manifests", "sensitive", "version", "notes"];

/** A driver's state. */
export function written(ours, type) {
  const { id, cookie = new Uint8Array(), manifests = [], version = 0, notes } = known("the state", ours, OF_STATE);
  const { outputs, secrets, sensitive } = type.outputs.split(ours);
  return {
    id,
    outputs: stringify(outputs),
    secrets: stringify(secrets),
    cookie,
    manifests: manifests.map((file) => ({ ...file, data: stringify(file.data) })),
    sensitive,
    version,
    notes: pairs(notes, stringify),
  };
}

/** The answer of `read`. */
export function observed(answer, type) {
  if (answer === undefined || answer === null) return undefined;
  const { state, values } = known("the answer of `read`", answer, ["state", "values"]);
  return { state: written(state, type), values: values && stringify(values) };
}

/** The answer of `updateImpact`. */
export function impact(answer = {}, type, { state }) {
  const names = ["replaces", "deleteBeforeReplace", "stableOutputs"];
  const {
    replaces = [],
    deleteBeforeReplace = false,
    stableOutputs = [],
  } = known("the answer of `updateImpact`", answer, names);
  return { replaces, deleteBeforeReplace, stableOutputs: type.outputs.places(stableOutputs, parse(state.secrets)) };
}

const problem = ({ message, details }) => ({ message, details: pairs(details, String) });

const milliseconds = (number) => BigInt(Math.round(number));

/** The failure that a driver threw. One with a state comes from a function of a type. */
export function failure({ tag, val }, type) {
  switch (tag) {
    case "invalid-inputs":
    case "denied":
      return { tag, val };
    case "retry-after":
      return { tag, val: { ...val, afterMs: milliseconds(val.afterMs) } };
    case "pending":
      return { tag, val: { ...val, state: val.state && written(val.state, type), afterMs: milliseconds(val.afterMs) } };
    case "partial":
      return { tag, val: { state: written(val.state, type), problem: problem(val.problem) } };
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
