// Why a call failed: one function for each kind of failure in the contract.

/**
 * Why a call failed. Throw one only if it is certain that nothing was changed, `partial` if something was
 * and the rest failed, or `pending` if nothing failed but it is not done yet. After any other exception, the
 * host finds out the outcome; `outcome.js` says how.
 */
export class Failure extends Error {
  /** @param {string} tag its name in the contract @param {unknown} val what it carries */
  constructor(tag, val, message) {
    super(message);
    this.name = tag;
    this.payload = { tag, val };
  }

  /** Facts for people, by name, to which a driver may add. Not every kind has them. */
  get details() {
    return (this.payload.val.problem ?? this.payload.val).details;
  }
}

/** A failure with a message and details, which are texts by name, such as `code` or `request-id`. */
const problem = (tag, message, details) => new Failure(tag, { message, details: { ...details } }, message);

/** The inputs are wrong. Pointers lead into `{"values":…,"secrets":…,"params":…,"connection":…,"account":…}`. */
export const invalidInputs = (...faults) =>
  new Failure("invalid-inputs", faults, faults.map((f) => `${f.pointer}: ${f.message}`).join("; "));
/** A capability is missing; the operator has to grant it. */
export const denied = (capability, target, message) =>
  new Failure("denied", { capability, target, message }, message);
/**
 * Something that the resource needs does not exist; nothing was changed. That the resource itself is missing
 * is `undefined` from `read`, and a success of `delete`.
 */
export const notFound = (message, details) => problem("not-found", message, details);
/** An object that is not this resource's, or its contents, stands in the way; nothing was changed. */
export const conflict = (message, details) => problem("conflict", message, details);
/** Busy, or too many requests; nothing was changed. */
export const retryAfter = (afterMs, message) => new Failure("retry-after", { afterMs, message }, message);
/**
 * It exists, or is going away, and is not done yet. Purlin records it and looks again later: by `read` after
 * `create`, `update` and `read`, by `delete` after `delete`. From `create` and `update` with the state, from
 * `read` with or without it, from `delete` without it; from no other function.
 */
export const pending = (afterMs, message, state) => new Failure("pending", { state, afterMs, message }, message);
/** Something exists now that must not be forgotten, its state; the rest failed. */
export const partial = (state, message, details) =>
  new Failure("partial", { state, problem: { message, details: { ...details } } }, message);
/** Anything else; nothing was changed. */
export const failed = (message, details) => problem("failed", message, details);
/**
 * It is unknown whether anything was changed. Purlin keeps the attempt open and finds out. Only
 * `create`, `update` and `delete` may throw it.
 */
export const undecided = (message, details) => problem("undecided", message, details);
/**
 * The resource that this one replaces must be deleted first; nothing was created. Only a `create` with
 * `replaces` may throw it.
 */
export const needsDeleteBefore = (message, details) => problem("needs-delete-before", message, details);

/** Collects all faults, so that they are reported at once. */
export class Faults extends Array {
  add(pointer, message) {
    this.push({ pointer, message });
  }
  check() {
    if (this.length > 0) throw invalidInputs(...this);
  }
}
