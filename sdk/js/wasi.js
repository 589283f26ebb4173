// The transport of components: requests over `wasi:http`. The host does TLS, and trusts the usual
// authorities and those that the operator grants as `ca`.

import { handle } from "wasi:http/outgoing-handler@0.2.0";
import { Fields, OutgoingBody, OutgoingRequest, httpErrorCode } from "wasi:http/types@0.2.0";

import { HttpError, hostError, limits, tooLarge } from "./http.js";

/** Bytes that are read, and written, at once. */
const READ = 64n << 10n;
const WRITE = 4096;
/** The maximum number of milliseconds between two polls. */
const PATIENCE = 8;
/** Methods whose requests have a body, so that its length is sent even if it is empty. */
const TELL_LENGTH = ["POST", "PUT", "PATCH"];

/** Sends a request: status, headers and body of the answer. */
export async function send(request) {
  const outgoing = asked(request);
  // Without a body there is no length to announce.
  const sending = request.body.length > 0 ? outgoing.body() : undefined;
  const coming = told(request, () => handle(outgoing, undefined));
  if (sending) write(sending, request.body);
  await ready(coming, request.signal);
  const { val: answer } = coming.get();
  if (answer.tag === "err") throw hostError(request, answer.val);
  return read(request, answer.val);
}

function asked(request) {
  const { hostname, port, protocol, pathname, search } = new URL(request.url);
  const headers = [...request.headers];
  if (request.body.length > 0 || TELL_LENGTH.includes(request.method)) {
    headers.push(["content-length", `${request.body.length}`]);
  }
  const bytes = (text) => Uint8Array.from(text, (character) => character.charCodeAt(0));
  let fields;
  try {
    fields = Fields.fromList(headers.map(([name, value]) => [name, bytes(value)]));
  } catch (error) {
    throw new HttpError("unusable", request, `a header cannot be sent: ${error.payload.tag ?? error.payload}`);
  }
  const outgoing = new OutgoingRequest(fields);
  try {
    outgoing.setMethod({ tag: "other", val: request.method });
    outgoing.setScheme({ tag: protocol === "https:" ? "HTTPS" : "HTTP" });
    outgoing.setAuthority(port ? `${hostname}:${port}` : hostname);
    outgoing.setPathWithQuery(pathname + search);
  } catch {
    throw new HttpError("unusable", request, "the method or the URL cannot be sent");
  }
  return outgoing;
}

/** Sends the body. A server that rejects it says why in the answer. */
function write(sending, body) {
  try {
    const stream = sending.write();
    for (let at = 0; at < body.length; at += WRITE) {
      stream.blockingWriteAndFlush(body.subarray(at, at + WRITE));
    }
    stream[Symbol.dispose]();
    OutgoingBody.finish(sending, undefined);
  } catch (error) {
    if (error.payload === undefined) throw error;
  }
}

async function read(request, answer) {
  const fields = answer.headers();
  const headers = fields.entries().map(([name, value]) => [name, String.fromCharCode(...value)]);
  fields[Symbol.dispose]();
  const body = answer.consume();
  const stream = body.stream();
  const parts = [];
  let size = 0;
  try {
    while (size <= limits.largest) {
      const part = stream.read(READ);
      if (part.length === 0) await ready(stream, request.signal);
      parts.push(part);
      size += part.length;
    }
  } catch (error) {
    if (error.payload === undefined) throw error;
    if (error.payload.tag !== "closed") throw brokenOff(request, error.payload.val);
    return { status: answer.status(), headers, body: joined(parts, size) };
  } finally {
    // Children are dropped before their parents; the collector would not guarantee that.
    stream[Symbol.dispose]();
    body[Symbol.dispose]();
  }
  throw tooLarge(request);
}

function joined(parts, size) {
  const bytes = new Uint8Array(size);
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}

function brokenOff(request, error) {
  const code = httpErrorCode(error);
  if (code?.tag.toLowerCase() === "http-response-body-size") return hostError(request, code);
  return new HttpError("lost", request, `the answer broke off${code ? `: ${code.tag}` : ""}`);
}

/** Waits until there is data, while timers and other requests continue. */
async function ready(source, signal) {
  const pollable = source.subscribe();
  try {
    for (let pause = 1; !pollable.ready(); pause = Math.min(2 * pause, PATIENCE)) {
      signal?.throwIfAborted();
      await new Promise((resume) => setTimeout(resume, pause));
    }
  } finally {
    pollable[Symbol.dispose]();
  }
}

function told(request, action) {
  try {
    return action();
  } catch (error) {
    throw error.payload ? hostError(request, error.payload) : error;
  }
}
