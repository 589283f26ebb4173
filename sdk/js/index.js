// Drivers for Purlin in JavaScript: an object with a function for each function of the contract.
//
// JSON is objects here and not text, a failure is thrown, and what a driver implements is what it
// has. Functions may be async. `component.js` makes a component of it; this module needs no
// WebAssembly, so that tests run natively.

/**
 * Why a call did not succeed. Throw one only where it is certain that nothing was changed, or
 * `partial` where something was. Whatever else is thrown ends the call as a crash, after which the
 * host finds out what there is.
 */
export class Failure extends Error {
  /** @param {string} tag its name in the contract @param {unknown} val what it carries */
  constructor(tag, val, message) {
    super(message);
    this.name = tag;
    this.payload = { tag, val };
  }
}

/** The inputs are wrong. Pointers lead into `{"values":…,"secrets":…,"params":…,"connection":…}`. */
export const invalidInputs = (...faults) =>
  new Failure("invalid-inputs", faults, faults.map((f) => `${f.pointer}: ${f.message}`).join("; "));
/** A capability is missing; the operator has to grant it. */
export const denied = (capability, target, message) =>
  new Failure("denied", { capability, target, message }, message);
/** The resource, or one that it needs, does not exist. */
export const notFound = (message) => new Failure("not-found", message, message);
/** Somebody else's change stands in the way. */
export const conflict = (message) => new Failure("conflict", message, message);
/** Busy, or too many requests; nothing was changed. */
export const retryAfter = (afterMs, message) => new Failure("retry-after", { afterMs, message }, message);
/** Something exists now that must not be forgotten: its state. */
export const partial = (state, message) => new Failure("partial", { state, message }, message);
/** Anything else; nothing was changed. */
export const failed = (message) => new Failure("failed", message, message);
/**
 * Whether anything was changed is not known. Purlin keeps the attempt open and finds out. Only
 * `create`, `update` and `delete` may throw it.
 */
export const undecided = (message) => new Failure("undecided", message, message);
/**
 * The resource that this one replaces has to go first; nothing was made. Only a `create` with
 * `replaces` may throw it.
 */
export const needsDeleteBefore = (message) => new Failure("needs-delete-before", message, message);

/** Collects everything that is wrong, so that all of it is told at once. */
export class Faults extends Array {
  add(pointer, message) {
    this.push({ pointer, message });
  }
  check() {
    if (this.length > 0) throw invalidInputs(...this);
  }
}

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
