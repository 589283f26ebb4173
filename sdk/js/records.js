// The contract's records as ours, and the other way round: JSON and pairs are objects here. This module needs
// no WebAssembly.

import { parse, stringify } from "./json.js";

/** The JSON documents of inputs. */
const DOCUMENTS = ["values", "secrets", "params", "connection", "account"];

const named = (pairs, read) => Object.fromEntries(pairs.map(([name, value]) => [name, read(value)]));
/** Undefined ones are left out, as in JSON. */
const pairs = (values, write) =>
  Object.entries(values ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, write(value)]]));

/** The host's request for any function. */
export function request(theirs) {
  const ours = { ...theirs, subject: subject(theirs.subject), call: call(theirs.call) };
  for (const name of ["inputs", "previous", "before", "after"]) {
    if (theirs[name] != null) ours[name] = inputs(theirs[name]);
  }
  if (theirs.state != null) ours.state = state(theirs.state);
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

/** The answer of `check`. */
export const checked = ({ values, secrets, warnings = [] }) => ({
  values: stringify(values),
  secrets: stringify(secrets),
  warnings,
});

/** A driver's state. */
export const written = ({
  id, outputs = {}, secrets = {}, cookie = new Uint8Array(), manifests = [], sensitive = [], version = 0, notes,
}) => ({
  id,
  outputs: stringify(outputs),
  secrets: stringify(secrets),
  cookie,
  manifests: manifests.map((file) => ({ ...file, data: stringify(file.data) })),
  sensitive,
  version,
  notes: pairs(notes, stringify),
});

/** The answer of `read`. */
export const observed = (seen) =>
  seen && { state: written(seen.state), values: seen.values && stringify(seen.values) };

/** The answer of `updateImpact`. */
export const impact = ({ replaces = [], deleteBeforeReplace = false, stableOutputs = [] }) => ({
  replaces,
  deleteBeforeReplace,
  stableOutputs,
});

const problem = ({ message, details }) => ({ message, details: pairs(details, String) });

const milliseconds = (number) => BigInt(Math.round(number));

/** The failure that a driver threw. */
export function failure({ tag, val }) {
  switch (tag) {
    case "invalid-inputs":
    case "denied":
      return { tag, val };
    case "retry-after":
      return { tag, val: { ...val, afterMs: milliseconds(val.afterMs) } };
    case "pending":
      return { tag, val: { ...val, state: val.state && written(val.state), afterMs: milliseconds(val.afterMs) } };
    case "partial":
      return { tag, val: { state: written(val.state), problem: problem(val.problem) } };
    default:
      return { tag, val: problem(val) };
  }
}

/** A driver's description of itself. */
export const info = ({ requestedCapabilities = [], notes, ...about }, types) => ({
  ...about,
  types,
  requestedCapabilities,
  notes: pairs(notes, stringify),
});

/** A type's description, with what it implements. */
export const typeSchema = ({ typeName, inputs, outputs }, implemented) => ({
  typeName,
  implements: implemented,
  inputs: stringify(inputs),
  outputs: stringify(outputs),
});
