// Drivers for Purlin in JavaScript: an object with a function for each function of the contract.
//
// JSON is objects here and not text, a failure is thrown, and what a driver implements is what it
// has. Functions may be async. `component.js` makes a component of it; this module needs no
// WebAssembly, so that tests run natively.

export * from "./failures.js";
export { HttpError, limits } from "./http.js";

/** Whether a place in the inputs, or one around it, is not known yet. */
export const isUnknown = (inputs, pointer) =>
  inputs.unknown.some((place) => pointer === place || pointer.startsWith(`${place}/`));

/**
 * What a driver can reach while it works. `component.js` puts the real host behind it; until then,
 * in tests, `said` has what a driver said, and there are no files.
 */
export const host = {
  said: [],
  /** A line for the operator: `trace`, `debug`, `info`, `warn` or `error`. */
  log: (level, message) => void host.said.push(["log", level, message]),
  /** Has the id kept before `create` is finished: after a crash it is read by that. */
  checkpoint: (id) => void host.said.push(["checkpoint", id]),
  /** Tells people what is going on; `percent` where it is known. */
  progress: (message, percent) => void host.said.push(["progress", message, percent]),
  /** Adds to a counter. */
  count: (name, by = 1) => void host.said.push(["count", name, by]),
  /** Records a measurement, in the unit that the name ends with. */
  measure: (name, value) => void host.said.push(["measure", name, value]),
  /** Whether the operator wants this call to end; ask it where you wait. */
  cancelled: () => false,
  /** Files in granted folders: `has`, `read`, `write`, `rename`, `remove`, as in `files.js`. */
  files: null,
};
