// Why a call failed: one function for each kind of failure in the contract. Wrong arguments are a fault of the
// driver, at the line that calls the function.

import { demand, findings, isObject, isText } from "./reading.js";

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

const text = (kind, name, value) => demand(`\`${kind}\`: the ${name}`, value, isText, "a string");

const milliseconds = (kind, value) =>
  demand(
    `\`${kind}\`: the first argument`,
    value,
    (number) => Number.isFinite(number) && number >= 0,
    "a number of milliseconds",
    `; write \`${kind}(5000, "…")\``,
  );

const stateOf = (kind, state, place) =>
  demand(`\`${kind}\`: the ${place} argument`, state, isObject, "a state, such as `{ id, outputs }`");

function detailsOf(kind, details) {
  const fits = (value) => value === undefined || value === null || isObject(value);
  return { ...demand(`\`${kind}\`: the argument for details`, details, fits, "an object, such as `{ code }`") };
}

/** A failure with a message and details, which are texts by name, such as `code` or `request-id`. */
const problem = (kind, tag, message, details) =>
  new Failure(tag, { message: text(kind, "message", message), details: detailsOf(kind, details) }, message);

/** The inputs are wrong. Pointers lead into `{"values":…,"secrets":…,"params":…,"connection":…,"account":…}`. */
export const invalidInputs = (...faults) => {
  if (faults.some(Array.isArray))
    throw new TypeError("`invalidInputs` takes findings, not a list: write `...` before it");
  findings("`invalidInputs`: argument", faults);
  return new Failure("invalid-inputs", faults, faults.map((f) => `${f.pointer}: ${f.message}`).join("; "));
};

/** A capability is missing; the operator has to grant it. */
export const denied = (capability, target, message) => {
  const val = {
    capability: text("denied", "capability", capability),
    target: text("denied", "target", target),
    message: text("denied", "message", message),
  };
  return new Failure("denied", val, message);
};
/**
 * Something that the resource needs does not exist; nothing was changed. That the resource itself is missing
 * is `undefined` from `read`, and a success of `delete`.
 */
export const notFound = (message, details) => problem("notFound", "not-found", message, details);
/** An object that is not this resource's, or its contents, stands in the way; nothing was changed. */
export const conflict = (message, details) => problem("conflict", "conflict", message, details);
/** Busy, or too many requests; nothing was changed. */
export const retryAfter = (afterMs, message) => {
  const val = { afterMs: milliseconds("retryAfter", afterMs), message: text("retryAfter", "message", message) };
  return new Failure("retry-after", val, message);
};
/**
 * It exists, or is going away, and is not done yet. Purlin records it and looks again later: by `read` after
 * `create`, `update` and `read`, by `delete` after `delete`. From `create` and `update` with the state, from
 * `read` with or without it, from `delete` without it; from no other function.
 */
export const pending = (afterMs, message, state) => {
  const val = { state, afterMs: milliseconds("pending", afterMs), message: text("pending", "message", message) };
  if (state !== undefined && state !== null) stateOf("pending", state, "third");
  return new Failure("pending", val, message);
};
/** Something exists now that must not be forgotten, its state; the rest failed. */
export const partial = (state, message, details) => {
  const its = { message: text("partial", "message", message), details: detailsOf("partial", details) };
  return new Failure("partial", { state: stateOf("partial", state, "first"), problem: its }, message);
};
/** Anything else; nothing was changed. */
export const failed = (message, details) => problem("failed", "failed", message, details);
/**
 * It is unknown whether anything was changed. Purlin keeps the attempt open and finds out. Only
 * `create`, `update` and `delete` may throw it.
 */
export const undecided = (message, details) => problem("undecided", "undecided", message, details);
/**
 * The resource that this one replaces must be deleted first; nothing was created. Only a `create` with
 * `replaces` may throw it.
 */
export const needsDeleteBefore = (message, details) =>
  problem("needsDeleteBefore", "needs-delete-before", message, details);

/** Collects all faults, so that they are reported at once. */
export class Faults extends Array {
  add(pointer, message) {
    this.push({ pointer, message });
  }
  check() {
    if (this.length > 0) throw invalidInputs(...this);
  }
}
