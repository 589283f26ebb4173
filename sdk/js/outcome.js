// The meaning of a driver's exception for the call. This module needs no WebAssembly.

import { Failure, undecided } from "./failures.js";
import { HttpError, effects } from "./http.js";

/**
 * The failure to report, from a function that `changes` something or from another. Undefined if it
 * is a fault of the driver before anything was sent: then the call crashes.
 */
export function outcome(error, changes) {
  if (error instanceof Failure) return error;
  const problem = requestProblem(error);
  if (changes && effects.size > 0 && !problem?.undecided) {
    // Something may have been changed before: no other failure is true.
    const sent = [...effects].at(-1);
    return undecided(`${error}; \`${sent.target}\` was sent before, and may have changed something`);
  }
  return problem?.failure(changes);
}

/** The request without an answer that an exception is about, or that caused it. */
export function requestProblem(error) {
  const seen = new Set();
  while (error instanceof Error && !(error instanceof HttpError) && !seen.has(error)) {
    seen.add(error);
    error = error.cause;
  }
  return error instanceof HttpError ? error : undefined;
}
