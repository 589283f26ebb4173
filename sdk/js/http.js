// Requests without an answer and their meaning, and which requests may have changed something.
// This module needs no WebAssembly.

import { denied, failed, retryAfter, undecided } from "./failures.js";

/** Methods that change nothing, however often they are sent. */
const HARMLESS = ["GET", "HEAD", "OPTIONS"];
/** Milliseconds to wait for a server that cannot be reached. */
const PATIENCE = 1000;

/** The maximum number of bytes of an answer's body; a driver may change it. */
export const limits = { largest: 4 << 20 };

export const isHarmless = (method) => HARMLESS.includes(method);

/** Method and URL as people may see them: a query may contain secrets. */
export const targetOf = (method, { protocol, host, pathname }) => `${method} ${protocol}//${host}${pathname}`;

/**
 * There is no answer. `kind` says why:
 *
 * - `denied`: the operator has not granted it. Nothing was sent.
 * - `unusable`: the URL or a header is wrong. Nothing was sent.
 * - `unreachable`: no server accepts the connection at present. Nothing was sent.
 * - `untrusted`: the server's name is unknown, or its certificate is not valid. Nothing was sent.
 * - `lost`: the request was sent, and no complete answer came.
 * - `too-large`: the answer is larger than `limits.largest`. The request was carried out.
 *
 * It is a `TypeError`, as every `fetch` throws it.
 */
export class HttpError extends TypeError {
  /** @param request its `method`, and its `target` as people may see it */
  constructor(kind, { method, target }, message, options) {
    super(`${target}: ${message}`, options);
    this.name = "HttpError";
    this.kind = kind;
    this.target = target;
    this.reason = message;
    this.harmless = isHarmless(method);
  }

  /** Whether the request may have been carried out. */
  get carriedOut() {
    return this.kind === "lost" || this.kind === "too-large";
  }

  /** Whether the request may have changed something. */
  get undecided() {
    return this.carriedOut && !this.harmless;
  }

  /** Its failure, in a function that `changes` something or in another. */
  failure(changes) {
    if (this.kind === "denied") return denied("http", this.target, this.reason);
    if (this.kind === "unreachable" || (this.kind === "lost" && this.harmless)) {
      return retryAfter(PATIENCE, this.message);
    }
    if (this.undecided && changes) return undecided(`${this.message}; it is unknown whether it was carried out`);
    return failed(this.message);
  }
}

/** The requests of this call that may have changed something. */
export const effects = new Set();

/** Whether a server says that it changed nothing. One that gave up in the middle does not say so. */
const isRefusal = ({ status, headers }) =>
  (status >= 400 && status < 500 && status !== 408) || (status === 503 && headers.has("retry-after"));

/** Sends a request, and records whether it may have changed something. */
export async function exchange(request, send) {
  if (isHarmless(request.method)) return send(request);
  // Recorded first: whatever ends this call later, the request may have been sent.
  effects.add(request);
  try {
    const response = await send(request);
    if (isRefusal(response)) effects.delete(request);
    return response;
  } catch (error) {
    if (error instanceof HttpError && !error.carriedOut) effects.delete(request);
    throw error;
  }
}

/** The meaning of the host's errors; all others mean that the answer was lost. */
const KINDS = {
  "http-request-denied": ["denied", "the operator has not granted it"],
  "destination-ip-prohibited": [
    "denied",
    "the name leads to an address that is not public, and has to be granted too",
  ],
  "dns-error": ["untrusted", "the host's name is unknown"],
  "tls-certificate-error": [
    "untrusted",
    "the server's certificate is not trusted; grant `ca` if its authority is your own",
  ],
  "tls-protocol-error": ["untrusted", "the TLS handshake failed"],
  "tls-alert-received": ["untrusted", "the TLS handshake failed"],
  "connection-refused": ["unreachable", "the connection was refused"],
  "connection-timeout": ["unreachable", "the connection took too long"],
  "dns-timeout": ["unreachable", "the server cannot be reached"],
  "destination-not-found": ["unreachable", "the server cannot be reached"],
  "destination-unavailable": ["unreachable", "the server cannot be reached"],
  "destination-ip-unroutable": ["unreachable", "the server cannot be reached"],
  "connection-limit-reached": [
    "unusable",
    "this call has made as many requests as `limits.requests` allows",
  ],
  "http-request-uri-invalid": ["unusable", "the URL is not valid"],
  "http-request-uri-too-long": ["unusable", "the URL is too long"],
  "http-request-method-invalid": ["unusable", "the method is not valid"],
  "http-request-header-section-size": ["unusable", "the headers are too large"],
  "http-request-header-size": ["unusable", "a header is too large"],
  "http-response-body-size": ["too-large", "the answer is larger than the host allows"],
  "http-response-timeout": ["lost", "the answer took too long"],
  "connection-read-timeout": ["lost", "the answer took too long"],
  "connection-terminated": ["lost", "the connection ended before the answer"],
  "http-response-incomplete": ["lost", "the connection ended before the answer"],
  "http-protocol-error": ["lost", "the connection ended before the answer"],
};

/** The error of a request that the host ended with a code. */
export function hostError(request, code) {
  const tag = code.tag.toLowerCase();
  const [kind, message] = KINDS[tag] ?? ["lost", tag];
  return new HttpError(kind, request, message);
}

/** The error of a request whose answer is too large. */
export const tooLarge = (request) =>
  new HttpError("too-large", request, `the answer has more than ${limits.largest} bytes`);
