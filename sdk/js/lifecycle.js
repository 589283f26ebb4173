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

/** The innermost line of a stack trace that the author wrote, or else that of a package. */
function authors(stack, isOurs) {
  const theirs = stack.map((line) => line.trim()).filter((line) => /:\d+:\d+\)?$/.test(line) && !isOurs(line));
  return theirs.find((line) => !line.includes("/node_modules/") && !line.includes("@node_modules/")) ?? theirs[0];
}

/**
 * What calls the functions of a driver. `log` writes a line, `crash` ends the call, `traced` is a stack trace with the
 * places of the author's files, and `isOurs` tells the lines of this package in it.
 */
function caller(driver, { log, crash, traced = (stack) => stack, isOurs = () => false }) {
  /**
   * Calls a driver. `read` says how its inputs are read, `answer` makes the contract's answer, and `more` is what the
   * request has besides.
   */
  async function call(name, theirs, read, answer, changes = false, more = {}) {
    let type;
    let place;
    try {
      type = typeOf(driver, theirs.subject.typeName);
      place = `\`${name}\` of \`${type.type}\``;
      const request = { ...records.request(theirs, type, read), ...more };
      // In a driver with previews, a type without one promises nothing. The host calls nothing else that is missing.
      return answer(await type[name]?.(request), type, theirs, place);
    } catch (error) {
      throw failure(error, type, changes, place);
    }
  }

  /**
   * The failure to report. An exception that is neither a failure nor about a request is a fault of the driver,
   * which ends the call: its outcome is unknown, and the host finds out.
   */
  function failure(error, type, changes, place) {
    const meant = outcome(error, changes);
    if (meant === error) {
      try {
        return records.failure(meant.payload, type, place);
      } catch (fault) {
        return failure(fault, type, changes, place);
      }
    }
    const stack = traced(`${error?.stack ?? ""}`.trim())
      .split("\n")
      .slice(0, FRAMES);
    log(requestProblem(error) ? "debug" : "warn", stack.join("\n"));
    if (meant) return records.failure(meant.payload, type, place);
    const line = authors(stack, isOurs);
    log("error", line === undefined ? `${error}` : `${error} (${line})`);
    crash();
  }

  return call;
}

// Inputs to apply have to fit; recorded ones are taken as they are, and those of a resource that is replaced for
// another reason are recorded ones. Before `check`, the host has filled in what it fills in, and a resource that was
// made without a default stays without it.
const apply = {};
const recorded = { recorded: true };
/** How the functions with effects read their inputs. */
const OF_EFFECT = {
  create: { inputs: apply },
  update: { before: recorded, after: apply },
  delete: { inputs: recorded },
};

/** The export `lifecycle` of a driver's component, with what `caller` takes. */
export function lifecycleOf(driver, its) {
  const call = caller(driver, its);
  return {
    describe: () =>
      records.info(
        driver,
        driver.types.map((one) => records.typeSchema(one, implemented(one))),
      ),
    check: (request) => call("check", request, { inputs: { fill: false }, previous: recorded }, records.checked),
    name: (request) => call("name", request, { inputs: apply }, records.name),
    create: (request) => call("create", request, OF_EFFECT.create, records.written, true),
    read: (request) => call("read", request, { inputs: recorded }, records.observed),
    updateImpact: (change) => call("updateImpact", change, { before: recorded, after: recorded }, records.impact),
    update: (change) => call("update", change, OF_EFFECT.update, records.written, true),
    delete: (request) => call("delete", request, OF_EFFECT.delete, () => undefined, true),
  };
}

/** The export `preview` of the component of a driver with previews, with what `caller` takes. */
export function previewOf(driver, its) {
  const call = caller(driver, its);
  return {
    preview: ({ tag, val }) => call("preview", val, OF_EFFECT[tag], records.forecast, false, { effect: tag }),
  };
}
