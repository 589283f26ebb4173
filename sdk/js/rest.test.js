// What the client of REST APIs says about an answer, and how long it waits.

import assert from "node:assert/strict";
import { test } from "node:test";

import { host } from "./index.js";
import { Client } from "./rest.js";

async function answer(status, headers = {}, { method = "POST", body = "{}" } = {}) {
  globalThis.fetch = async () => new Response(body, { status, headers });
  return new Client("https://api.example", { idempotencyKey: "key-1" }).send(method, "/things");
}

test("failures say status and request", async () => {
  for (const [status, name] of [[404, "not-found"], [409, "conflict"], [400, "failed"], [500, "undecided"]]) {
    const failure = (await answer(status, { "X-Request-Id": "r-1" })).failure();
    assert.equal(failure.name, name);
    assert.deepEqual(failure.details, { status: `${status}`, "request-id": "r-1" });
  }
  for (const name of ["x-amzn-requestid", "x-amz-request-id"]) {
    assert.equal((await answer(404, { [name]: "a-1" })).failure().details["request-id"], "a-1");
  }
  assert.deepEqual((await answer(404)).failure().details, { status: "404" });
  const unreadable = await answer(201, {}, { body: "<p>" });
  assert.throws(() => unreadable.json(), (error) => error.name === "undecided" && error.details.status === "201");
});

test("an answer says when to look again", async () => {
  assert.equal((await answer(202)).afterMs, 1000);
  assert.equal((await answer(202, { "retry-after": "3" })).afterMs, 3000);
  assert.equal((await answer(202, { "retry-after": "9".repeat(400) })).afterMs, 86_400_000);
});

test("it waits only as long as the call has time", async () => {
  const { timeLeft } = host;
  host.timeLeft = () => 50;
  const { name, payload } = (await answer(503, {}, { method: "GET" })).failure();
  assert.deepEqual([name, payload.val.afterMs], ["retry-after", 1000]);
  host.timeLeft = timeLeft;
});
