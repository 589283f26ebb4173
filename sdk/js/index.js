// Drivers for Purlin in JavaScript: resource types, each with a function for each function of the contract.
//
// Here JSON is objects and not text, failures are thrown, and a type implements the functions that
// it has. Functions may be async. `component.js` turns a driver into a component; this module needs no
// WebAssembly, so that tests run natively.

export { s } from "./builder.js";
export { driver, resource } from "./driver.js";
export * from "./failures.js";
export { HttpError, limits } from "./http.js";

/** Whether a place in the inputs, or one around it, is unknown. */
export const isUnknown = (inputs, pointer) =>
  inputs.unknown.some((place) => pointer === place || pointer.startsWith(`${place}/`));

/**
 * The host's functions for a driver. `component.js` connects the real host; until then, in tests,
 * `messages` has the driver's messages, and there are no files.
 */
export const host = {
  messages: [],
  /** A line for the operator: `trace`, `debug`, `info`, `warn` or `error`. */
  log: (level, message) => void host.messages.push(["log", level, message]),
  /**
   * Stores what exists before `create` or `update` finishes: after a crash the host reads the resource by this
   * id, and the next request has the cookie in its state, if one was given.
   */
  checkpoint: (id, cookie) => void host.messages.push(["checkpoint", id, cookie]),
  /** Shows people the progress; `percent` if known. */
  progress: (message, percent) => void host.messages.push(["progress", message, percent]),
  /** Adds to a counter. */
  count: (name, by = 1) => void host.messages.push(["count", name, by]),
  /** Records a measurement, in the unit that the name ends with. */
  measure: (name, value) => void host.messages.push(["measure", name, value]),
  /** Whether the operator cancelled this call; check it while you wait. */
  cancelled: () => false,
  /** Milliseconds until the host ends the call; in tests, a minute. */
  timeLeft: () => 60_000,
  /** Files in granted folders: `has`, `read`, `write`, `rename`, `remove`, as in `files.js`. */
  files: null,
};

/**
 * What people agreed to, for `create`, `update` and `delete` of a type with a preview. In tests, `agreed` is the token,
 * and `host.messages` has what is reached.
 */
export const consent = {
  agreed: undefined,
  /**
   * The token of the forecast that people agreed to; `undefined` if there is none, and in a function without effects.
   * If the system has changed since, throw `conflict`.
   */
  token: () => consent.agreed,
  /** Shows people that a part is done. */
  reached: (address, action) => void host.messages.push(["reached", address, action]),
};
