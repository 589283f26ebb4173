// A client for REST APIs that use JSON: it repeats requests that may be repeated, and maps answers to
// failures. It sends with `fetch`, so tests replace `globalThis.fetch`.

import { conflict, failed, notFound, retryAfter, undecided } from "./failures.js";
import { HttpError, isHarmless, targetOf } from "./http.js";
import { host } from "./index.js";
import { parse, stringify } from "./json.js";

/** Methods whose requests are harmless when they arrive twice. */
const REPEATABLE = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"];
/** Milliseconds of the longest wait between two attempts. */
const LONGEST_WAIT = 10_000;
/** Milliseconds until a failed request may be sent again, if the server does not say so. */
const AGAIN = 1000;
/** The longest time that it may say. */
const LATEST = 86_400_000;
/** Headers with the id that the server gave the request. */
const REQUEST_IDS = ["x-request-id", "x-amzn-requestid", "x-amz-request-id"];
/** Places where APIs put error messages. */
const MESSAGE_FIELDS = ["message", "error_description", "error", "detail", "title", "reason"];

/** A text as one segment of a path: a slash in it is encoded too. */
export const segment = (text) => (/^\.\.?$/.test(text) ? text.replaceAll(".", "%2E") : encodeURIComponent(text));

/** The server's answer, whatever its status. */
export class Answer {
  constructor(status, headers, body, { target, effects, repeatable }) {
    Object.assign(this, { status, headers, body, target, effects, repeatable });
  }

  /** The answer itself if its status is one of 200 to 299. Throws `failure()` otherwise. */
  success() {
    if (this.status >= 200 && this.status < 300) return this;
    throw this.failure();
  }

  /** The body as JSON. A request with effects whose answer cannot be read was carried out. */
  json() {
    try {
      return parse(this.body);
    } catch {
      const message = `${this.target}: the answer is not JSON`;
      const kind = this.effects && this.status < 300 ? undecided : failed;
      throw kind(message, this.details);
    }
  }

  /** Milliseconds after which the server wants the next attempt, if it says so. */
  get retryAfter() {
    const text = (this.headers.get("retry-after") ?? "").trim();
    if (/^\d+$/.test(text)) return Number(text) * 1000;
    const then = Date.parse(text);
    return Number.isNaN(then) ? undefined : Math.max(0, then - Date.now());
  }

  /** Milliseconds after which to ask again: as the server says, or a second. */
  get afterMs() {
    return Math.min(this.retryAfter ?? AGAIN, LATEST);
  }

  /** Facts for people about a failure: its status, and the request's id. */
  get details() {
    const id = REQUEST_IDS.map((name) => this.headers.get(name)).find((id) => id);
    return { status: `${this.status}`, ...(id && { "request-id": id }) };
  }

  /** Whether another attempt is useful and harmless. */
  get asksAgain() {
    if (this.status === 503) return this.repeatable || this.retryAfter !== undefined;
    return this.status === 429 || (this.repeatable && [408, 425, 502, 504].includes(this.status));
  }

  /**
   * The failure of this answer, with its details: 404 and 410 are not found, 409 and 412 a conflict. If the
   * server gave up in the middle of a request with effects, it is undecided.
   */
  failure() {
    const text = `${this.target}: status ${this.status}${this.#serverMessage()}`;
    const gaveUp =
      [408, 499].includes(this.status) ||
      // A 501 or 505 was understood and rejected.
      (this.status >= 500 && ![501, 505].includes(this.status) && !(this.status === 503 && this.retryAfter !== undefined));
    if (this.effects && gaveUp) return undecided(text, this.details);
    if (this.asksAgain) return retryAfter(this.afterMs, text);
    const kinds = { 404: notFound, 410: notFound, 409: conflict, 412: conflict };
    return (kinds[this.status] ?? failed)(text, this.details);
  }

  /** The server's message. */
  #serverMessage() {
    let document;
    try {
      document = JSON.parse(this.body);
    } catch {
      return "";
    }
    for (const object of [document?.error, document]) {
      const text = MESSAGE_FIELDS.map((name) => object?.[name]).find((value) => typeof value === "string");
      if (text !== undefined) return `: ${text.split(/\s+/).join(" ").slice(0, 300)}`;
    }
    return "";
  }
}

/** A client for one call of the driver. */
export class Client {
  /** @param server the base URL of paths @param call the call, for its key */
  constructor(server, call, headers = {}, attempts = 4) {
    Object.assign(this, { server: server.replace(/\/+$/, ""), call, headers, attempts });
  }

  /**
   * Sends a request. `keyed` adds the call's idempotency key, so that it may be repeated. Throws an
   * `HttpError` if there is no answer.
   */
  async send(method, path, { body, query, keyed = false } = {}) {
    const url = new URL(this.server + path);
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
    const headers = { accept: "application/json", ...this.headers };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (keyed) headers["idempotency-key"] = this.call.idempotencyKey;
    const request = { method, headers, redirect: "manual" };
    if (body !== undefined) request.body = stringify(body);
    const repeatable = keyed || REPEATABLE.includes(method);
    const about = { target: targetOf(method, url), effects: !isHarmless(method), repeatable };
    for (let attempt = 1; ; attempt++) {
      const again = attempt < this.attempts;
      // Later attempts wait 200 ms, 400 ms and so on, if the server does not say how long.
      const wait = 100 * 2 ** attempt;
      let answer;
      try {
        const got = await fetch(url.href, request);
        answer = new Answer(got.status, got.headers, await got.text(), about);
      } catch (error) {
        const mayRepeat =
          error instanceof HttpError &&
          (error.kind === "unreachable" || (error.kind === "lost" && repeatable));
        if (again && mayRepeat && (await this.#pause(wait))) continue;
        throw error;
      }
      if (!(again && answer.asksAgain && (await this.#pause(answer.retryAfter ?? wait)))) return answer;
    }
  }

  /** Waits, if the call has the time for it and the operator has not cancelled it. */
  async #pause(milliseconds) {
    if (milliseconds > LONGEST_WAIT || milliseconds >= host.timeLeft() || host.cancelled()) return false;
    await new Promise((done) => setTimeout(done, milliseconds));
    return true;
  }
}
