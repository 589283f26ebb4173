// Why a call failed: one class for each kind of failure in the contract.

/**
 * Why a call failed. Throw one only if it is certain that nothing was changed, or `partial` if
 * something was. After any other exception, the host finds out the outcome; `outcome.js` says how.
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
/** Somebody else's change blocks it. */
export const conflict = (message) => new Failure("conflict", message, message);
/** Busy, or too many requests; nothing was changed. */
export const retryAfter = (afterMs, message) => new Failure("retry-after", { afterMs, message }, message);
/** Something exists now that must not be forgotten: its state. */
export const partial = (state, message) => new Failure("partial", { state, message }, message);
/** Anything else; nothing was changed. */
export const failed = (message) => new Failure("failed", message, message);
/**
 * It is unknown whether anything was changed. Purlin keeps the attempt open and finds out. Only
 * `create`, `update` and `delete` may throw it.
 */
export const undecided = (message) => new Failure("undecided", message, message);
/**
 * The resource that this one replaces must be deleted first; nothing was created. Only a `create` with
 * `replaces` may throw it.
 */
export const needsDeleteBefore = (message) => new Failure("needs-delete-before", message, message);

/** Collects all faults, so that they are reported at once. */
export class Faults extends Array {
  add(pointer, message) {
    this.push({ pointer, message });
  }
  check() {
    if (this.length > 0) throw invalidInputs(...this);
  }
}
