// `fetch` for drivers: with the engine's `Request` and `Response`, and errors that say why there is
// no answer. `component.js` sets its transport; tests set another.

import { HttpError, exchange, targetOf } from "./http.js";

/** A `fetch` that sends with `send`, which takes method, URL, headers and body. */
export const fetchBy = (send) => async (input, init) => {
  const request = requestOf(input, init);
  const { method, url, headers } = request;
  const signal = init?.signal ?? input?.signal;
  signal?.throwIfAborted();
  const sent = {
    method,
    url,
    target: targetOf(method, new URL(url)),
    headers: [...headers].filter(([name]) => name !== "content-length"),
    body: new Uint8Array(await request.arrayBuffer()),
    signal,
  };
  return exchange(sent, async (sent) => {
    const { status, headers, body } = await send(sent);
    // These have no body, not even an empty one.
    const response = new Response([204, 205, 304].includes(status) ? null : body, { status, headers });
    Object.defineProperty(response, "url", { value: url });
    return response;
  });
};

function requestOf(input, init) {
  try {
    const request = new Request(input, init);
    if (/^https?:\/\/[^/?#@]+([/?#]|$)/.test(request.url)) return request;
  } catch (error) {
    throw unusable(input, init, error.message, error);
  }
  throw unusable(input, init, ABSOLUTE);
}

const ABSOLUTE = "the URL has to begin with `http://` or `https://` and a host, without credentials";

function unusable(input, init, message, cause) {
  const method = `${init?.method ?? input?.method ?? "GET"}`.toUpperCase();
  const url = `${input?.url ?? input}`;
  // A URL may contain secrets, in particular an invalid one.
  let reason = message.includes(url) ? "the URL cannot be used" : message;
  let target = method;
  try {
    target = targetOf(method, new URL(url));
  } catch {
    reason = ABSOLUTE;
    // It is shown if it has no part for secrets, such as `/x` and `undefined/v1/buckets`.
    const [path] = url.split(/[?#]/);
    if (/^[\w./:-]{1,200}$/.test(path)) target = `${method} ${path}`;
  }
  return new HttpError("unusable", { method, target }, reason, { cause });
}
