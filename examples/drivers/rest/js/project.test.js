// The driver without WebAssembly: against a `fetch` that responds from memory.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Api } from "./api.js";
import { project as type } from "./project.js";
import { HttpError, host } from "@purlin/driver";

const LOST = null;
const wanted = { name: "hello", region: "eu", size: 2 };
const project = (id, more = {}) => ({ id, ...wanted, owner: "me", ...more });
const call = { idempotencyKey: "key-1", deadline: 0 };
const connection = { server: "https://api.example/v1/", token: "secret" };
const api = new Api(connection, call);
let requests;

beforeEach(() => (requests = []));

function answers(...all) {
  globalThis.fetch = async (url, request) => {
    requests.push({ url, ...request });
    const answer = all.shift();
    if (answer === LOST) {
      throw new HttpError("lost", { method: request.method, target: url }, "the connection ended before the answer");
    }
    const [status, body] = answer;
    const text = status === 204 ? null : JSON.stringify(body);
    return new Response(text, { status, headers: { "retry-after": "0" } });
  };
}

test("a lost answer is asked for again with the same key", async () => {
  answers(LOST, [429, {}], [201, project("p-1", { token: "shown-once" })]);
  assert.equal((await api.create(wanted, "me")).token, "shown-once");
  assert.equal(requests.length, 3);
  for (const { method, url, headers } of requests) {
    assert.equal(`${method} ${url}`, "POST https://api.example/v1/projects");
    assert.equal(headers["idempotency-key"], "key-1");
    assert.equal(headers.authorization, "Bearer secret");
  }
});

test("what is not known is undecided", async () => {
  answers(LOST, LOST, LOST, LOST);
  await assert.rejects(api.create(wanted, "me"), (error) => error.failure(true).name === "undecided");
  answers([201, { ok: true }]);
  await assert.rejects(api.create(wanted, "me"), { name: "undecided" });
  answers([400, { error: "no such region" }]);
  const refused = (error) => error.name === "failed" && error.details.status === "400";
  await assert.rejects(api.create(wanted, "me"), (error) => refused(error) && /no such region/.test(error.message));
});

test("a project is found on any page", async () => {
  const others = { items: [project("p-1", { owner: "other" }), project("p-2")], after: "2" };
  answers([200, others], [200, { items: null, after: "3" }], [200, { items: [project("p-3")], after: null }]);
  assert.equal((await api.find("hello", "me", ["p-2"])).id, "p-3");
  const page = "https://api.example/v1/projects?name=hello";
  assert.deepEqual(requests.map(({ url }) => url), [page, `${page}&after=2`, `${page}&after=3`]);
});

test("a list ends in each of the ways of APIs", async () => {
  for (const end of [{}, { after: null }, { after: "" }, { after: "2" }]) {
    answers([200, { items: [], after: "2" }], [200, { items: [], ...end }]);
    requests = [];
    assert.equal(await api.find("hello", "me", []), undefined);
    assert.equal(requests.length, 2);
  }
});

test("gone is deleted and nothing to read", async () => {
  answers([204], [404, {}], [404, {}], [404, {}], [404, {}]);
  await api.delete("a/b");
  await api.delete("a/b");
  assert.equal(await api.get("a/b"), undefined);
  assert.equal(requests[0].url, "https://api.example/v1/projects/a%2Fb");
});

test("a project that can still be read is not gone", async () => {
  answers([200, {}], [200, project("p-1")], [202, null]);
  await assert.rejects(api.delete("p-1"), { name: "pending" });
  await assert.rejects(api.delete("p-1"), { name: "pending" });
  assert.equal(requests.length, 3);
});

test("what cannot be read is not taken for gone", async () => {
  answers([200, { uid: "p-1" }], [200, project("p-1", { id: null })], [401, {}], [200, {}]);
  for (let i = 0; i < 3; i++) await assert.rejects(api.get("p-1"), { name: "failed" });
  await assert.rejects(api.find("hello", "me", []), { name: "failed" });
});

test("a project that is not ready is pending", async () => {
  const request = { subject: { guresid: "me" }, inputs: { values: wanted, connection }, name: "hello", call };
  const creating = project("p-1", { status: "creating" });
  const create = () => type.create(request);
  const read = (id) => type.read({ ...request, id, known: [] });
  const update = () => type.update({ ...request, state: { id: "p-1" }, after: request.inputs });
  for (const [act, answer] of [
    [create, [201, { ...creating, token: "once" }]],
    [create, [202, project("p-1", { token: "once" })]],
    [() => read("p-1"), [200, creating]],
    [() => read(undefined), [200, { items: [creating] }]],
    [update, [202, project("p-1")]],
  ]) {
    answers(answer);
    await assert.rejects(act(), ({ name, payload: { val } }) => {
      // What exists is recorded, with the token that is shown only once.
      const { token, ...outputs } = val.state.outputs;
      assert.deepEqual([name, val.afterMs, outputs], ["pending", 0, { id: "p-1", ...wanted }]);
      assert.equal(token, act === create ? "once" : undefined);
      return true;
    });
  }
  answers([200, project("p-1", { status: "ready" })], [204], [404, {}]);
  assert.deepEqual((await read("p-1")).values, wanted);
  await type.delete({ ...request, state: { id: "p-1" } });
  assert.deepEqual(host.messages[0], ["checkpoint", "p-1", undefined]);
});
