// Turns a driver into a component: converts the contract's records and exceptions.

import { exit } from "wasi:cli/exit@0.2.0";
import * as log from "purlin:driver/log@0.2.0";
import * as metrics from "purlin:driver/metrics@0.2.0";
import * as operation from "purlin:driver/operation@0.2.0";

import { fetchBy } from "./fetch.js";
import * as files from "./files.js";
import { Failure, host } from "./index.js";
import { parse, stringify } from "./json.js";
import { outcome, requestProblem } from "./outcome.js";
import { send } from "./wasi.js";

/** Lines of a stack trace that the operator sees. */
const FRAMES = 20;

Object.assign(host, {
  log: log.write,
  checkpoint: operation.checkpoint,
  progress: operation.progress,
  count: (name, by = 1) => metrics.count(name, BigInt(by)),
  measure: metrics.recordValue,
  cancelled: operation.cancelled,
  files,
});
// The engine's own `fetch` does not say why there is no answer.
globalThis.fetch = fetchBy(send);

/** The component's export `lifecycle`. */
export const lifecycle = (driver) => ({
  describe: () => manifest(driver),
  check: (request) => call(driver.check, checkRequest(request), checked),
  name: (request) => call(driver.name, resourceRequest(request), (name) => name),
  create: (request) => call(driver.create, resourceRequest(request), written, true),
  read: (request) => call(driver.read, resourceRequest(request), observed),
  updateImpact: (change) => call(driver.updateImpact, changeRequest(change), impact),
  update: (change) => call(driver.update, changeRequest(change), written, true),
  delete: (request) => call(driver.delete, resourceRequest(request), () => undefined, true),
});

/**
 * Calls a driver. An exception that is neither a failure nor about a request is a fault of the driver,
 * which ends the call: its outcome is unknown, and the host finds out.
 */
async function call(action, request, answer, changes = false) {
  try {
    return answer(await action(request));
  } catch (error) {
    const meant = outcome(error, changes);
    if (meant === error) throw failure(meant.payload);
    const stack = `${error?.stack ?? ""}`.trim().split("\n").slice(0, FRAMES);
    log.write(requestProblem(error) ? "debug" : "warn", stack.join("\n"));
    if (meant) throw failure(meant.payload);
    log.write("error", stack[0] ? `${error} (${stack[0]})` : `${error}`);
    exit({ tag: "err" });
  }
}

const inputs = (theirs) => ({
  ...theirs,
  values: parse(theirs.values),
  secrets: parse(theirs.secrets),
  params: parse(theirs.params),
  connection: parse(theirs.connection),
});

const state = (theirs) => ({
  ...theirs,
  outputs: parse(theirs.outputs),
  secrets: parse(theirs.secrets),
  manifests: theirs.manifests.map((file) => ({ ...file, data: parse(file.data) })),
});

const times = (call) => call && { ...call, deadline: Number(call.deadline) };

const checkRequest = (theirs) => ({
  ...theirs,
  inputs: inputs(theirs.inputs),
  previous: theirs.previous == null ? undefined : parse(theirs.previous),
});

const resourceRequest = (theirs) => ({
  ...theirs,
  inputs: inputs(theirs.inputs),
  state: theirs.state && state(theirs.state),
  call: times(theirs.call),
});

const changeRequest = (theirs) => ({
  ...theirs,
  state: state(theirs.state),
  before: inputs(theirs.before),
  after: inputs(theirs.after),
  call: times(theirs.call),
});

const checked = ({ values, secrets, warnings = [] }) => ({
  values: stringify(values),
  secrets: stringify(secrets),
  warnings,
});

const written = ({ id, outputs = {}, secrets = {}, cookie = new Uint8Array(), manifests = [] }) => ({
  id,
  outputs: stringify(outputs),
  secrets: stringify(secrets),
  cookie,
  manifests: manifests.map((file) => ({ ...file, data: stringify(file.data) })),
});

const observed = (seen) =>
  seen && { state: written(seen.state), values: seen.values && stringify(seen.values) };

const impact = ({ replaces = [], deleteBeforeReplace = false, stableOutputs = [] }) => ({
  replaces,
  deleteBeforeReplace,
  stableOutputs,
});

function failure({ tag, val }) {
  if (tag === "retry-after") return { tag, val: { ...val, afterMs: BigInt(val.afterMs) } };
  if (tag === "partial") return { tag, val: { ...val, state: written(val.state) } };
  return { tag, val };
}

function manifest(driver) {
  const { types, requestedCapabilities = [], repeatCreate = false, ...about } = driver.manifest;
  return {
    ...about,
    requestedCapabilities,
    types: types.map((type) => ({
      typeName: type.typeName,
      inputs: stringify(type.inputs),
      outputs: stringify(type.outputs),
    })),
    implements: {
      check: Boolean(driver.check),
      name: Boolean(driver.name),
      read: Boolean(driver.read),
      updateImpact: Boolean(driver.updateImpact),
      update: Boolean(driver.update),
      repeatCreate,
    },
  };
}
