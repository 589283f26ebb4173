// The functions of the contract, which call the driver. This module needs no WebAssembly.

import { failed } from "./failures.js";
import { outcome, requestProblem } from "./outcome.js";
import * as records from "./records.js";

/** Lines of a stack trace that the operator sees. */
const FRAMES = 20;
/** The functions that a type need not have, by their names in the contract. */
const OPTIONAL = { check: "check", name: "name", read: "read", "update-impact": "updateImpact", update: "update" };

/** The types of a driver: it is its only one, unless it has a list of them. */
const typesOf = (driver) => driver.types ?? [driver];

/** The type of a name, else the one for `*`. */
export function typeOf(driver, name) {
  const types = typesOf(driver);
  const found = (wanted) => types.find(({ type }) => type.typeName === wanted);
  const one = found(name) ?? found("*");
  if (one) return one;
  const names = types.map(({ type }) => type.typeName);
  throw failed(`the driver does not provision \`${name}\`; its types are ${names.join(", ")}`);
}

/** What the host may call, or rely on, by the names of the contract. */
export function implemented(one) {
  const names = Object.keys(OPTIONAL).filter((name) => one[OPTIONAL[name]]);
  return one.type.repeatCreate ? [...names, "repeat-create"] : names;
}

/** The export `lifecycle` of a driver's component. `log` writes a line, and `crash` ends the call. */
export function lifecycleOf(driver, { log, crash }) {
  /**
   * Calls a driver. An exception that is neither a failure nor about a request is a fault of the driver,
   * which ends the call: its outcome is unknown, and the host finds out.
   */
  async function call(name, request, answer, changes = false) {
    try {
      const type = typeOf(driver, request.subject.typeName);
      return answer(await type[name](records.request(request)));
    } catch (error) {
      const meant = outcome(error, changes);
      if (meant === error) throw records.failure(meant.payload);
      const stack = `${error?.stack ?? ""}`.trim().split("\n").slice(0, FRAMES);
      log(requestProblem(error) ? "debug" : "warn", stack.join("\n"));
      if (meant) throw records.failure(meant.payload);
      log("error", stack[0] ? `${error} (${stack[0]})` : `${error}`);
      crash();
    }
  }

  return {
    describe() {
      return records.info(driver.info, typesOf(driver).map((one) => records.typeSchema(one.type, implemented(one))));
    },
    check: (request) => call("check", request, records.checked),
    name: (request) => call("name", request, (name) => name),
    create: (request) => call("create", request, records.written, true),
    read: (request) => call("read", request, records.observed),
    updateImpact: (change) => call("updateImpact", change, records.impact),
    update: (change) => call("update", change, records.written, true),
    delete: (request) => call("delete", request, () => undefined, true),
  };
}
