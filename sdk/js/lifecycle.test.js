// Drivers as the host calls them: with the contract's records, without WebAssembly.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { effects } from "./http.js";
import {
  conflict, denied, failed, host, invalidInputs, needsDeleteBefore, notFound, partial, pending, retryAfter, undecided,
} from "./index.js";
import { lifecycleOf } from "./lifecycle.js";

beforeEach(() => effects.clear());

/** Integers that every SDK keeps. */
const NUMBERS = '{"most":18446744073709551615,"least":-9223372036854775808,"real":0.1}';
const numbers = { most: 18446744073709551615n, least: -9223372036854775808n, real: 0.1 };

/** A type that returns, or throws, `answer`. */
class Thing {
  type = { typeName: "thing", inputs: { maximum: 2n ** 64n - 1n }, outputs: {}, repeatCreate: true };
  seen = [];

  take(request) {
    this.seen.push(request);
    if (this.answer instanceof Error) throw this.answer;
    return this.answer;
  }
  check(request) {
    return this.take(request);
  }
  create(request) {
    return this.take(request);
  }
  read(request) {
    return this.take(request);
  }
  updateImpact(change) {
    return this.take(change);
  }
  async update(change) {
    return this.take(change);
  }
  delete(request) {
    return this.take(request);
  }
}

const info = {
  name: "acme/shop",
  version: "1.2.3",
  description: "Things.",
  requestedCapabilities: [{ capability: "http", reason: "the server of the inputs" }],
  notes: { license: "Apache-2.0", numbers: [18446744073709551615n], homepage: undefined },
};
const plain = { type: { typeName: "plain", inputs: {}, outputs: {} }, create: () => ({ id: "plain-1" }), delete() {} };
let thing, lines;

function shop(driver = { info, types: [thing, plain] }) {
  return lifecycleOf(driver, {
    log: (...line) => lines.push(line),
    crash: () => {
      throw new Error("it crashed");
    },
  });
}

/** Calls a driver as the host does; `Thing` answers with this. */
const call = (name, request, answer) => ((thing.answer = answer), shop()[name](request));

async function fails(name, request, answer) {
  return call(name, request, answer).then(
    () => assert.fail("it succeeded"),
    (failure) => failure,
  );
}

beforeEach(() => {
  thing = new Thing();
  lines = [];
});

const bytes = new Uint8Array([0, 255]);
const context = { org: "o", app: "a", env: "dev", envType: "development", namespace: undefined, deployment: "d-1" };
const subject = (typeName = "thing") => ({
  urn: "urn:purlin:x", guresid: "0123", typeName, class: "default", localName: "externals.x",
  context: { ...context, labels: [["owner", "me"], ["__proto__", "ü"]] },
});
const inputs = (values = "{}", account = "{}") => ({
  values, secrets: "{}", params: "{}", connection: '{"server":"s"}', account, unknown: ["/values/a"], sensitive: [],
});
const itsCall = { idempotencyKey: "key-1", deadline: 1700000000000n, hints: [["batch", NUMBERS], ["dry", "true"]] };
const state = {
  id: "id-1", outputs: NUMBERS, secrets: '{"token":"hush"}', cookie: bytes,
  manifests: [{ name: "a.yaml", location: "cluster", data: NUMBERS }],
  sensitive: ["/outputs/real", "/manifests/a.yaml/least"], version: 4294967295,
  notes: [["console-url", '"https://shop.example"'], ["numbers", NUMBERS]],
};
const create = (typeName) => ({ subject: subject(typeName), inputs: inputs(), name: "n", call: itsCall });
const read = (state) => ({ ...create(), id: "id-1", known: [], state });
const change = () => ({ ...create(), inputs: undefined, state, before: inputs(), after: inputs(NUMBERS) });
const remove = () => ({ ...create(), state, dataLossAllowed: true });

test("it describes each type", () => {
  const described = shop().describe();
  assert.deepEqual(described.types, [
    {
      typeName: "thing",
      implements: ["check", "read", "update-impact", "update", "repeat-create"],
      inputs: '{"maximum":18446744073709551615}',
      outputs: "{}",
    },
    { typeName: "plain", implements: [], inputs: "{}", outputs: "{}" },
  ]);
  assert.deepEqual(described.notes, [["license", '"Apache-2.0"'], ["numbers", "[18446744073709551615]"]]);
  assert.deepEqual(described.requestedCapabilities, [{ capability: "http", reason: "the server of the inputs" }]);
  assert.deepEqual([described.name, described.version, described.description], ["acme/shop", "1.2.3", "Things."]);
});

test("a driver of one type is that type", async () => {
  const alone = shop({ info: { ...info, notes: undefined }, ...plain, update: () => ({ id: "plain-1" }) });
  const { types, notes } = alone.describe();
  assert.deepEqual([types.map((one) => [one.typeName, one.implements]), notes], [[["plain", ["update"]]], []]);
  assert.equal((await alone.create(create("plain"))).id, "plain-1");
  await assert.rejects(alone.create(create()), { tag: "failed" });
});

test("a call goes to its type, else to that for every other one", async () => {
  assert.equal((await call("create", create(), { id: "thing-1" })).id, "thing-1");
  assert.equal((await call("create", create("plain"))).id, "plain-1");
  assert.equal(thing.seen.length, 1);
  const { tag, val } = await fails("create", create("queue"));
  assert.equal(tag, "failed");
  assert.equal(val.message, "the driver does not provision `queue`; its types are thing, plain");
  const any = { ...plain, type: { ...plain.type, typeName: "*" }, create: () => ({ id: "any-1" }) };
  const all = shop({ info, types: [any, plain] });
  assert.equal((await all.create(create("queue"))).id, "any-1");
  assert.equal((await all.create(create("plain"))).id, "plain-1");
});

test("requests arrive whole", async () => {
  const given = { inputs: inputs(NUMBERS, '{"name":"acme/a"}'), previous: inputs('{"size":3}') };
  const request = { subject: subject(), ...given, call: itsCall };
  const warnings = [{ pointer: "/values/size", message: "is large" }];
  const answer = await call("check", request, { values: { size: 2n ** 64n - 1n }, secrets: {}, warnings });
  assert.deepEqual(answer, { values: '{"size":18446744073709551615}', secrets: "{}", warnings });
  const [seen] = thing.seen;
  assert.deepEqual(seen.inputs.values, numbers);
  assert.deepEqual(seen.inputs.account, { name: "acme/a" });
  assert.deepEqual([seen.previous.values, seen.previous.account], [{ size: 3 }, {}]);
  assert.deepEqual(seen.call, { idempotencyKey: "key-1", deadline: 1700000000000, hints: { batch: numbers, dry: true } });
  assert.deepEqual([seen.subject.localName, seen.subject.context.namespace], ["externals.x", undefined]);
  assert.deepEqual(Object.entries(seen.subject.context.labels), [["owner", "me"], ["__proto__", "ü"]]);

  await call("delete", remove());
  assert.equal(thing.seen.at(-1).dataLossAllowed, true);
  assert.deepEqual(thing.seen.at(-1).state.notes.numbers, numbers);
});

test("a state comes back as it was", async () => {
  await fails("update", change(), failed("not yet"));
  const ours = thing.seen.at(-1).state;
  assert.equal(ours.version, 4294967295);
  assert.deepEqual(ours.notes, { "console-url": "https://shop.example", numbers });
  assert.deepEqual(await call("update", change(), ours), state);
  assert.deepEqual(await call("read", read(state), { state: ours }), { state, values: undefined });
  assert.deepEqual(await call("create", create(), { id: "id-2" }), {
    id: "id-2", outputs: "{}", secrets: "{}", cookie: new Uint8Array(), manifests: [], sensitive: [], version: 0, notes: [],
  });
  assert.equal(await call("read", read(), undefined), undefined);
});

test("an impact names outputs by their place", async () => {
  assert.deepEqual(await call("updateImpact", change(), { stableOutputs: ["/outputs/host"] }), {
    replaces: [], deleteBeforeReplace: false, stableOutputs: ["/outputs/host"],
  });
});

test("failures carry their details", async () => {
  const details = { code: "Busy", status: 409 };
  const problem = { message: "no", details: [["code", "Busy"], ["status", "409"]] };
  for (const make of [notFound, conflict, failed, undecided, needsDeleteBefore]) {
    const { name } = make("no");
    assert.deepEqual(await fails("create", create(), make("no", details)), { tag: name, val: problem });
    assert.deepEqual((await fails("create", create(), make("no"))).val, { message: "no", details: [] });
  }
  const half = await fails("create", create(), partial({ id: "id-1" }, "no", details));
  assert.deepEqual([half.tag, half.val.state.id, half.val.problem], ["partial", "id-1", problem]);
  const added = conflict("no");
  added.details.code = "Busy";
  assert.deepEqual((await fails("create", create(), added)).val.details, [["code", "Busy"]]);
  assert.deepEqual(partial({ id: "id-1" }, "no", { code: "Busy" }).details, { code: "Busy" });

  assert.deepEqual((await fails("create", create(), retryAfter(1500.2, "busy"))).val, { afterMs: 1500n, message: "busy" });
  assert.equal((await fails("create", create(), denied("http", "t", "why"))).val.target, "t");
  const finding = { pointer: "/values/a", message: "is wrong" };
  assert.deepEqual(await fails("check", create(), invalidInputs(finding)), { tag: "invalid-inputs", val: [finding] });
});

test("what is pending is told, with a state or without", async () => {
  const exists = { id: "id-1", secrets: { token: "once" }, notes: { health: "starting" } };
  for (const [name, request] of [["create", create()], ["update", change()], ["read", read()]]) {
    const { tag, val } = await fails(name, request, pending(2000, "it starts", exists));
    assert.deepEqual([tag, val.afterMs, val.message], ["pending", 2000n, "it starts"]);
    assert.deepEqual([val.state.secrets, val.state.notes], ['{"token":"once"}', [["health", '"starting"']]]);
  }
  for (const [name, request] of [["read", read()], ["delete", remove()]]) {
    assert.equal((await fails(name, request, pending(2000, "it is going away"))).val.state, undefined);
  }
});

test("after a crash, the cookie of the checkpoint is there", async () => {
  host.messages.length = 0;
  host.checkpoint("id-1", bytes);
  assert.deepEqual(host.messages, [["checkpoint", "id-1", bytes]]);
  const known = { ...state, outputs: "{}", secrets: "{}", manifests: [], sensitive: [], version: 0, notes: [] };
  await call("read", read(known), undefined);
  assert.deepEqual([thing.seen[0].state.id, thing.seen[0].state.cookie], ["id-1", bytes]);
});

test("a fault of the driver ends the call, and is logged", async () => {
  await assert.rejects(call("create", create(), new TypeError("undefined is no function")), { message: "it crashed" });
  assert.deepEqual(lines.map(([level]) => level), ["warn", "error"]);
  assert.match(lines[1][1], /TypeError: undefined is no function/);
  effects.add({ method: "POST", target: "POST https://api.example/" });
  assert.equal((await fails("create", create(), { id: "id-1", notes: { size: NaN } })).tag, "undecided");
});
