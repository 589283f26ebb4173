// The meaning of requests without an answer, and which calls they leave undecided.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { fetchBy } from "./fetch.js";
import { effects, hostError, limits, tooLarge } from "./http.js";
import { HttpError, conflict } from "./index.js";
import { outcome } from "./outcome.js";

beforeEach(() => effects.clear());

const URL_ = "https://api.example/v1/things?token=hush";
const request = (method) => ({ method, target: `${method} https://api.example/v1/things` });
const answer = (status, headers = []) => async () => ({ status, headers, body: new TextEncoder().encode("{}") });

/** The outcome of a driver's call with one request, which the host ends with a code. */
async function ended(method, tag, changes = true) {
  const send = async (sent) => {
    throw hostError(sent, { tag });
  };
  const error = await fetchBy(send)(URL_, { method }).catch((error) => error);
  assert.ok(error instanceof HttpError && error instanceof TypeError);
  assert.ok(!error.message.includes("hush"), error.message);
  const { tag: failure, val } = outcome(error, changes).payload;
  effects.clear();
  return [error.kind, failure, val];
}

test("each kind of error is a failure of its own", async () => {
  for (const [tag, kind, harmless, harmful, observing] of [
    ["HTTP-request-denied", "denied", "denied", "denied", "denied"],
    ["destination-IP-prohibited", "denied", "denied", "denied", "denied"],
    ["HTTP-request-URI-invalid", "unusable", "failed", "failed", "failed"],
    ["connection-limit-reached", "unusable", "failed", "failed", "failed"],
    ["connection-refused", "unreachable", "retry-after", "retry-after", "retry-after"],
    ["destination-IP-unroutable", "unreachable", "retry-after", "retry-after", "retry-after"],
    ["DNS-error", "untrusted", "failed", "failed", "failed"],
    ["TLS-certificate-error", "untrusted", "failed", "failed", "failed"],
    ["connection-terminated", "lost", "retry-after", "undecided", "failed"],
    ["HTTP-response-incomplete", "lost", "retry-after", "undecided", "failed"],
    ["internal-error", "lost", "retry-after", "undecided", "failed"],
    ["HTTP-response-body-size", "too-large", "failed", "undecided", "failed"],
  ]) {
    for (const method of ["GET", "HEAD", "OPTIONS"]) {
      assert.deepEqual((await ended(method, tag)).slice(0, 2), [kind, harmless], `${method} ${tag}`);
    }
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      assert.deepEqual((await ended(method, tag)).slice(0, 2), [kind, harmful], `${method} ${tag}`);
      assert.equal((await ended(method, tag, false))[1], observing, `${method} ${tag} in read`);
    }
  }
  assert.equal(tooLarge(request("GET")).kind, "too-large");
  assert.match(tooLarge(request("GET")).message, new RegExp(`${limits.largest} bytes`));
});

test("failures carry what the contract asks for", async () => {
  const [, , denial] = await ended("POST", "HTTP-request-denied");
  assert.deepEqual([denial.capability, denial.target], ["http", "POST https://api.example/v1/things"]);
  const [, , retry] = await ended("POST", "connection-refused");
  assert.equal(retry.afterMs, 1000);
});

test("a request that cannot be sent is unusable", async () => {
  const fetch = fetchBy(() => assert.fail("sent"));
  for (const [url, init] of [
    ["things"],
    ["ftp://api.example/"],
    ["https://me:hush@api.example/"],
    [URL_, { method: "GET", body: "x" }],
    [URL_, { method: "POST", headers: { "a\nb": "c" } }],
  ]) {
    await assert.rejects(fetch(url, init), (error) => {
      assert.equal(error.kind, "unusable", url);
      assert.equal(outcome(error, true).payload.tag, "failed");
      assert.ok(!error.message.includes("hush"), error.message);
      return true;
    });
  }
  for (const [url, target] of [
    ["/x?key=hush", "GET /x"],
    ["undefined/v1/things#hush", "GET undefined/v1/things"],
    ["http://me:hush@api example/", "GET"],
    ["Bearer hush", "GET"],
    [undefined, "GET undefined"],
  ]) {
    await assert.rejects(fetch(url), {
      message: `${target}: the URL has to begin with \`http://\` or \`https://\` and a host, without credentials`,
    });
  }
  assert.equal(effects.size, 0);
});

test("after a request with effects, a fault leaves the call undecided", async () => {
  const fault = new TypeError("undefined is not an object");
  const after = async (method, status, headers) => {
    effects.clear();
    await fetchBy(answer(status, headers))(URL_, { method });
    return outcome(fault, true)?.payload.tag;
  };
  assert.equal(outcome(fault, true), undefined);
  for (const status of [200, 201, 204, 303, 408, 500, 502, 503]) {
    assert.equal(await after("POST", status), "undecided", `${status}`);
    assert.equal(await after("GET", status), undefined, `${status}`);
  }
  for (const status of [400, 404, 409, 429]) assert.equal(await after("POST", status), undefined, `${status}`);
  assert.equal(await after("POST", 503, [["retry-after", "3"]]), undefined);

  await after("PUT", 200);
  assert.match(outcome(fault, true).payload.val.message, /`PUT https:\/\/api.example\/v1\/things` was sent before/);
  assert.equal(outcome(fault, false), undefined);
  // Then not even "no server was reached" is true for the whole call.
  const unreachable = hostError(request("GET"), { tag: "connection-refused" });
  assert.equal(outcome(unreachable, true).payload.tag, "undecided");
  const lost = hostError(request("GET"), { tag: "connection-terminated" });
  assert.equal(outcome(lost, true).payload.tag, "undecided");
  assert.equal(outcome(conflict("a driver knows better"), true).payload.tag, "conflict");
});

test("an error that a driver wraps is found", () => {
  const lost = hostError(request("POST"), { tag: "connection-terminated" });
  const wrapped = new Error("cannot make it", { cause: new Error("really", { cause: lost }) });
  assert.equal(outcome(wrapped, true).payload.tag, "undecided");
  const round = new Error("round");
  round.cause = round;
  assert.equal(outcome(round, true), undefined);
});

test("fetch sends what it is given and answers as fetch does", async () => {
  let sent;
  const send = async (request) => ((sent = request), { status: 201, headers: [["x", "1"]], body: request.body });
  const response = await fetchBy(send)(new Request(URL_, { method: "POST", body: "hé" }), { headers: { a: "b" } });
  assert.deepEqual([sent.method, sent.url, sent.body.length], ["POST", URL_, 3]);
  assert.deepEqual(sent.headers.filter(([name]) => name === "a" || name === "content-length"), [["a", "b"]]);
  assert.deepEqual([response.status, response.headers.get("x"), response.url], [201, "1", URL_]);
  assert.equal(await response.text(), "hé");
  assert.equal((await fetchBy(answer(204))(URL_)).status, 204);
  await assert.rejects(fetchBy(send)(URL_, { signal: AbortSignal.abort() }), { name: "AbortError" });
});
