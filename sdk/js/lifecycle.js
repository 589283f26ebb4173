// The functions of the contract, which call the driver. This module needs no WebAssembly.

import { failed } from "./failures.js";
import { outcome, requestProblem } from "./outcome.js";
import * as records from "./records.js";

/** Lines of a stack trace that the operator sees. */
const FRAMES = 20;
/** The functions that a type need not have, by their names in the contract. */
const OPTIONAL = { check: "check", name: "name", read: "read", "update-impact": "updateImpact", update: "update" };

/** The type of a name, else the one for `*`. */
export function typeOf({ types }, name) {
  const found = (wanted) => types.find(({ type }) => type === wanted);
  const one = found(name) ?? found("*");
  if (one) return one;
  throw failed(`the driver does not provision \`${name}\`; its types are ${types.map(({ type }) => type).join(", ")}`);
}

/** What the host may call, or rely on, by the names of the contract. */
export function implemented(type) {
  const names = Object.keys(OPTIONAL).filter((name) => type[OPTIONAL[name]]);
  return type.repeatCreate ? [...names, "repeat-create"] : names;
}

/**
 * The export `lifecycle` of a driver's component. `log` writes a line, `crash` ends the call, and `traced` is a stack
 * trace with the places of the author's files.
 */
export function lifecycleOf(driver, { log, crash, traced = (stack) => stack }) {
  /** Calls a driver. `read` says how its inputs are read, and `answer` makes the contract's answer. */
  async function call(name, theirs, read, answer, changes = false) {
    let type;
    try {
      type = typeOf(driver, theirs.subject.typeName);
      const request = records.request(theirs, type, read);
      return answer(await type[name](request), type, theirs);
    } catch (error) {
      throw failure(error, type, changes);
    }
  }

  /**
   * The failure to report. An exception that is neither a failure nor about a request is a fault of the driver,
   * which ends the call: its outcome is unknown, and the host finds out.
   */
  function failure(error, type, changes) {
    const meant = outcome(error, changes);
    if (meant === error) {
      try {
        return records.failure(meant.payload, type);
      } catch (fault) {
        return failure(fault, type, changes);
      }
    }
    const stack = traced(`${error?.stack ?? ""}`.trim())
      .split("\n")
      .slice(0, FRAMES);
    log(requestProblem(error) ? "debug" : "warn", stack.join("\n"));
    if (meant) return records.failure(meant.payload, type);
    log("error", stack[0] ? `${error} (${stack[0]})` : `${error}`);
    crash();
  }

  // Inputs to apply have to fit; recorded ones are taken as they are, and those of a resource that is replaced for
  // another reason are recorded ones. Before `check`, the host has filled in what it fills in, and a resource that was
  // made without a default stays without it.
  const apply = {};
  const recorded = { recorded: true };
  return {
    describe: () =>
      records.info(
        driver,
        driver.types.map((one) => records.typeSchema(one, implemented(one))),
      ),
    check: (request) => call("check", request, { inputs: { fill: false }, previous: recorded }, records.checked),
    name: (request) => call("name", request, { inputs: apply }, (name) => name),
    create: (request) => call("create", request, { inputs: apply }, records.written, true),
    read: (request) => call("read", request, { inputs: recorded }, records.observed),
    updateImpact: (change) => call("updateImpact", change, { before: recorded, after: recorded }, records.impact),
    update: (change) => call("update", change, { before: recorded, after: apply }, records.written, true),
    delete: (request) => call("delete", request, { inputs: recorded }, () => undefined, true),
  };
}
