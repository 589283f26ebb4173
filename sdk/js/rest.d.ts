// The types of `@purlin/driver/rest`, a client for REST APIs that use JSON.

import type { Call, Details, Failure, Json } from "./index.js";

/** A text as one segment of a path: a slash in it is encoded too. */
export function segment(text: string): string;

/** The server's answer, whatever its status. */
export class Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** Method and URL, without a query. */
  readonly target: string;
  /** Whether the request may have changed something. */
  readonly effects: boolean;
  /** Whether sending it again is harmless. */
  readonly repeatable: boolean;
  /** Milliseconds after which the server wants the next attempt, if it says so. */
  readonly retryAfter: number | undefined;
  /** Milliseconds after which to ask again: as the server says, or a second. */
  readonly afterMs: number;
  /** Facts for people about a failure: its status, and the request's id. */
  readonly details: Details;
  /** Whether another attempt is useful and harmless. */
  readonly asksAgain: boolean;
  /** The answer itself if its status is one of 200 to 299. Throws `failure()` otherwise. */
  success(): this;
  /** The body as JSON. Throws `undecided` if a request with effects was answered without JSON. */
  json(): any;
  /** The failure of this answer. */
  failure(): Failure;
}

export interface Options {
  body?: Json | object;
  query?: Record<string, string>;
  /** Whether to send the call's idempotency key, so that the request may be repeated. */
  keyed?: boolean;
}

/** A client for one call of the driver. */
export class Client {
  constructor(server: string, call: Call, headers?: Record<string, string>, attempts?: number);
  /** Sends a request. Throws an `HttpError` if there is no answer. */
  send(method: string, path: string, options?: Options): Promise<Answer>;
}
