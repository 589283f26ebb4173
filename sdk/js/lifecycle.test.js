// Drivers as the host calls them: with the contract's records, without WebAssembly.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { effects } from "./http.js";
import {
  conflict, consent, denied, driver, failed, host, invalidInputs, needsDeleteBefore, notFound, partial, pending, resource, retryAfter,
  s, undecided,
} from "./index.js";
import { needPreview } from "./driver.js";
import { lifecycleOf, previewOf } from "./lifecycle.js";

beforeEach(() => effects.clear());

/** Integers that every SDK keeps. */
const NUMBERS = '{"most":18446744073709551615,"least":-9223372036854775808,"real":0.1}';
const numbers = { most: 18446744073709551615n, least: -9223372036854775808n, real: 0.1 };

const inputsSchema = s.inputs({
  values: s.object({ size: s.bigint({ maximum: 2n ** 64n - 1n }).default(3n) }, { additionalProperties: true }),
  params: s.any(),
  connection: s.object({ server: s.string() }),
});
const outputsSchema = s.outputs({ real: s.number().optional(), token: s.string().secret().optional(), least: s.bigint().optional() }, { additionalProperties: true });

/** The requests that the type `thing` got, and what it returns or throws. */
let seen, answer;

function take(request) {
  seen.push(request);
  if (answer instanceof Error) throw answer;
  return answer;
}
const thing = resource({
  type: "thing",
  inputs: inputsSchema,
  outputs: outputsSchema,
  repeatCreate: true,
  check: take,
  create: take,
  read: take,
  updateImpact: take,
  update: async (change) => take(change),
  delete: take,
});

const info = {
  name: "acme/shop",
  version: "1.2.3",
  description: "Things.",
  requestedCapabilities: [{ capability: "http", reason: "the server of the inputs" }],
  notes: { license: "Apache-2.0", numbers: [18446744073709551615n], homepage: undefined },
};
const ofPlain = { inputs: inputsSchema, outputs: outputsSchema, delete() {} };
const plain = resource({ ...ofPlain, type: "plain", create: () => ({ id: "plain-1" }) });
let lines;

const its = {
  log: (...line) => lines.push(line),
  crash: () => {
    throw new Error("it crashed");
  },
  traced: (stack) => stack.replaceAll("lifecycle.test.js", "author.js"),
  isOurs: (line) => line.includes("/sdk/js/") && !line.includes("author.js"),
};
const shop = (types = [thing, plain], more) => lifecycleOf(driver({ ...info, ...more, types }), its);
/** The driver with a preview of `thing`. */
const foreseeing = () => driver({ ...info, types: [resource({ ...thing, preview: async (effect) => take(effect) }), plain] });
/** Asks a driver what an effect would make, as the host does; the type `thing` answers with this. */
const foresee = (tag, val, answers) => ((answer = answers), previewOf(foreseeing(), its).preview({ tag, val }));

/** Calls a driver as the host does; the type `thing` answers with this. */
const call = (name, request, its) => ((answer = its), shop()[name](request));

async function fails(name, request, answer) {
  return call(name, request, answer).then(
    () => assert.fail("it succeeded"),
    (failure) => failure,
  );
}

beforeEach(() => {
  seen = [];
  answer = undefined;
  lines = [];
});

const bytes = new Uint8Array([0, 255]);
const context = { org: "o", app: "a", env: "dev", envType: "development", namespace: undefined };
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
  assert.deepEqual(described.types.map((one) => [one.typeName, one.implements]), [
    ["thing", ["check", "read", "update-impact", "update", "repeat-create"]],
    ["plain", []],
  ]);
  assert.match(described.types[0].inputs, /"maximum":18446744073709551615/);
  assert.deepEqual(JSON.parse(described.types[0].outputs).properties.token, { type: "string", writeOnly: true });
  assert.deepEqual(described.notes, [["license", '"Apache-2.0"'], ["numbers", "[18446744073709551615]"]]);
  assert.deepEqual(described.requestedCapabilities, [{ capability: "http", reason: "the server of the inputs" }]);
  assert.deepEqual([described.name, described.version, described.description], ["acme/shop", "1.2.3", "Things."]);
  assert.deepEqual(shop([plain], { notes: undefined }).describe().notes, []);
});

test("a declaration that would be ignored in part is a fault", () => {
  const throws = (act, message) => assert.throws(act, { name: "TypeError", message });
  throws(() => resource({ ...plain, updat() {} }), /^resource `plain`: `updat` is unknown; the names are type, /);
  throws(() => resource({ ...plain, create: undefined }), "resource `plain`: `create` is missing");
  throws(() => resource({ ...plain, read: {} }), "resource `plain`: `read` has to be a function");
  throws(() => resource({ ...plain, inputs: { type: "object" } }), "resource `plain`: `inputs` has to be made with `s.inputs`");
  throws(() => driver({ ...info, types: [{ ...plain }] }), "driver: `types` has to be a list of what `resource` returns");
  throws(() => driver({ ...info, types: [plain, plain] }), "driver: two of its types are called `plain`");
  throws(() => driver({ ...info, types: [plain], homepage: "x" }), /^driver: `homepage` is unknown/);
  throws(() => driver({ ...info, types: [] }), /a list/);
  const requestedCapabilities = [{ capability: "http", reason: "the API", patern: "https://*" }];
  throws(() => driver({ ...info, types: [plain], requestedCapabilities }), /^a requested capability: `patern` is unknown/);
});

test("a call goes to its type, else to that for every other one", async () => {
  assert.equal((await call("create", create(), { id: "thing-1" })).id, "thing-1");
  assert.equal((await call("create", create("plain"))).id, "plain-1");
  assert.equal(seen.length, 1);
  const { tag, val } = await fails("create", create("queue"));
  assert.equal(tag, "failed");
  assert.equal(val.message, "the driver does not provision `queue`; its types are thing, plain");
  const any = resource({ ...plain, type: "*", create: () => ({ id: "any-1" }) });
  const all = shop([any, plain]);
  assert.equal((await all.create(create("queue"))).id, "any-1");
  assert.equal((await all.create(create("plain"))).id, "plain-1");
});

test("requests arrive whole", async () => {
  const given = { inputs: inputs(NUMBERS, '{"name":"acme/a"}'), previous: inputs('{"size":3}') };
  const request = { subject: subject(), ...given, call: itsCall };
  const warnings = [{ pointer: "/values/size", message: "is large" }];
  const checked = await call("check", request, { values: { size: 2n ** 64n - 1n }, secrets: {}, warnings });
  assert.deepEqual(checked, { values: '{"size":18446744073709551615}', secrets: "{}", warnings });
  const [one] = seen;
  assert.deepEqual(one.inputs.values, numbers);
  assert.deepEqual(one.inputs.account, { name: "acme/a" });
  assert.deepEqual([one.previous.values, one.previous.account], [{ size: 3n }, {}]);
  assert.deepEqual(one.call, { idempotencyKey: "key-1", deadline: 1700000000000, hints: { batch: numbers, dry: true } });
  assert.deepEqual([one.subject.localName, one.subject.context.namespace], ["externals.x", undefined]);
  assert.deepEqual(Object.entries(one.subject.context.labels), [["owner", "me"], ["__proto__", "ü"]]);

  await call("delete", remove());
  assert.equal(seen.at(-1).dataLossAllowed, true);
  assert.deepEqual(seen.at(-1).state.notes.numbers, numbers);
});

test("inputs are read as their type describes them", async () => {
  const size = (values) => ({ ...create(), inputs: inputs(values) });
  await call("create", size('{"size":7}'), { id: "id-1" });
  await call("create", size("{}"), { id: "id-1" });
  assert.deepEqual(seen.map((one) => one.inputs.values), [{ size: 7n }, { size: 3n }]);
  // Of the inputs that it does not describe, the driver sees nothing.
  assert.deepEqual(Object.keys(seen[0].inputs), ["account", "values", "params", "connection", "unknown", "sensitive"]);
  assert.deepEqual(await fails("create", size('{"size":"large"}')), {
    tag: "invalid-inputs",
    val: [{ pointer: "/values/size", message: "has to be an integer from -2^63 to 2^64 - 1, and is a string" }],
  });
  // What was recorded may be of an earlier version, and must not prevent a deletion.
  await call("delete", { ...remove(), inputs: inputs('{"size":"large"}') });
  const replaced = { ...change(), before: inputs('{"size":"large"}'), after: inputs('{"size":"large"}') };
  assert.deepEqual((await call("updateImpact", replaced, undefined)).replaces, []);
  await call("update", { ...change(), before: inputs('{"size":"large"}') }, { id: "id-1" });
  assert.deepEqual([seen.at(-3).inputs.values, seen.at(-1).before.values], [{ size: "large" }, { size: "large" }]);
  assert.equal((await fails("update", replaced)).tag, "invalid-inputs");
});

test("check gets unknowns and no new defaults, and leaves the rest as it is", async () => {
  const request = { subject: subject(), inputs: { ...inputs('{"size":null,"ü":9007199254740993}'), unknown: ["/values/size"] }, call: itsCall };
  const unchanged = { values: request.inputs.values, secrets: "{}", warnings: [] };
  assert.deepEqual(await call("check", request, undefined), unchanged);
  assert.equal(seen[0].inputs.values.size, null);
  assert.deepEqual(await call("check", request, { warnings: [] }), unchanged);
  await call("check", { ...request, inputs: inputs("{}") }, {});
  assert.deepEqual(seen.at(-1).inputs.values, {});
  request.inputs.unknown = [];
  assert.equal((await fails("check", request)).tag, "invalid-inputs");
});

test("a state comes back as it was", async () => {
  await fails("update", change(), failed("not yet"));
  const ours = seen.at(-1).state;
  assert.equal(ours.version, 4294967295);
  assert.deepEqual(ours.notes, { "console-url": "https://shop.example", numbers });
  // The driver has all outputs together.
  assert.deepEqual([ours.outputs, ours.secrets], [{ ...numbers, token: "hush" }, {}]);
  assert.deepEqual(await call("update", change(), ours), state);
  assert.deepEqual(await call("read", read(state), { state: ours }), { state, values: undefined });
  assert.deepEqual(await call("create", create(), { id: "id-2" }), {
    id: "id-2", outputs: "{}", secrets: "{}", cookie: new Uint8Array(), manifests: [], sensitive: [], version: 0, notes: [],
  });
  assert.equal(await call("read", read(), undefined), undefined);
  await call("read", read({ ...state, outputs: '{"least":1}' }), undefined);
  assert.deepEqual(seen.at(-1).state.outputs, { least: 1n, token: "hush" });
});

test("an impact names outputs by their place", async () => {
  const stable = async (...stableOutputs) => (await call("updateImpact", change(), { stableOutputs })).stableOutputs;
  assert.deepEqual(await stable("/outputs/host", "/outputs/token"), ["/outputs/host", "/secrets/token"]);
  assert.deepEqual(await stable("/outputs"), ["/outputs", "/secrets"]);
  const none = { replaces: [], deleteBeforeReplace: false, stableOutputs: [] };
  assert.deepEqual(await call("updateImpact", change(), undefined), none);
});

test("secret outputs are kept apart", async () => {
  const made = await call("create", create(), {
    id: "id-1", outputs: { real: 0.5, token: "hush" }, secrets: { more: "hush" }, sensitive: ["/outputs/token", "/outputs/real"],
  });
  assert.deepEqual([made.outputs, made.secrets, made.sensitive], ['{"real":0.5}', '{"more":"hush","token":"hush"}', ["/outputs/real"]]);
  const left = await call("create", create(), { id: "id-1", outputs: { token: undefined } });
  assert.deepEqual([left.outputs, left.secrets], ["{}", "{}"]);
});

test("an answer that would be ignored in part, or that is none, is a fault", async () => {
  const a = (name) => `\`create\` of \`thing\`: \`${name}\``;
  for (const [name, request, its, message] of [
    ["create", create(), { id: "id-1", output: {} }, "`create` of `thing` returns an unknown `output`; the names are id, outputs,"],
    ["create", create(), "id-1", "`create` of `thing` has to return an object, such as `{ id, outputs }`, and returns a string"],
    ["create", create(), undefined, "has to return an object, such as `{ id, outputs }`, and returns undefined"],
    ["create", create(), [], "and returns a list"],
    ["create", create(), { id: 7 }, `${a("id")} has to be a string, and is a number; write \`String(id)\``],
    ["create", create(), { outputs: {} }, `${a("id")} is missing; it has to be a string`],
    ["create", create(), { id: "id-1", outputs: "a" }, `${a("outputs")} has to be an object, and is a string`],
    ["create", create(), { id: "id-1", notes: [] }, `${a("notes")} has to be an object, and is a list`],
    ["create", create(), { id: "id-1", cookie: "a" }, `${a("cookie")} has to be a Uint8Array, and is a string`],
    ["create", create(), { id: "id-1", version: 1.5 }, `${a("version")} has to be an integer from 0 to 2^32 - 1`],
    ["create", create(), { id: "id-1", sensitive: "/outputs/a" }, `${a("sensitive")} has to be a list of strings`],
    ["create", create(), { id: "id-1", manifests: [{ name: "a" }] }, `${a("manifests")} has to be a list of`],
    ["create", create(), { id: "id-1", outputs: { token: "a" }, secrets: { token: "b" } }, "`token` is in `outputs` and in `secrets`"],
    ["create", create(), partial({ identity: "id-1" }, "half of it"), "`partial` in `create` of `thing`: `state` has an unknown `identity`"],
    ["create", create(), pending(5000, "wait", { id: 7 }), "`pending` in `create` of `thing`: `state.id` has to be a string"],
    ["update", change(), { id: 7 }, "`update` of `thing`: `id` has to be a string, and is a number"],
    ["read", read(), { id: "id-1" }, "`read` of `thing` returns an unknown `id`; the names are state, values"],
    ["read", read(), { values: {} }, "`read` of `thing`: `state` is missing; it has to be an object"],
    ["read", read(), { state: { id: 7 } }, "`read` of `thing`: `state.id` has to be a string, and is a number"],
    ["read", read(), { state: { id: "id-1" }, values: "a" }, "`read` of `thing`: `values` has to be an object"],
    ["check", create(), { value: {} }, "`check` of `thing` returns an unknown `value`"],
    ["check", create(), { warnings: ["long"] }, "`check` of `thing`: warning 1 has to be a finding, such as `{ pointer: \"/values/size\", message: \"is too large\" }`, and is a string"],
    ["check", create(), { warnings: "long" }, "`check` of `thing`: `warnings` has to be a list, and is a string"],
    ["updateImpact", change(), { replace: [] }, "`updateImpact` of `thing` returns an unknown `replace`"],
    ["updateImpact", change(), { replaces: "/values/size" }, "`updateImpact` of `thing`: `replaces` has to be a list of strings"],
    ["updateImpact", change(), { stableOutputs: [1] }, "`stableOutputs` has to be a list of strings"],
  ]) {
    await assert.rejects(call(name, request, its), { message: "it crashed" });
    assert.ok(lines.at(-1)[1].includes(message), lines.at(-1)[1]);
  }
  const unnamed = shop([resource({ ...plain, create: () => ({ id: "a" }), name() {} })]);
  await assert.rejects(unnamed.name(create("plain")), { message: "it crashed" });
  assert.match(lines.at(-1)[1], /`name` of `plain` has to return a string, and returns undefined/);
});

test("an effect is foreseen from the request of its function", async () => {
  const unknown = { ...inputs('{"size":null}'), unknown: ["/values/size"] };
  const nothing = { outputs: "{}", secrets: "{}", unknown: [], sensitive: [], parts: [], token: undefined, notes: [] };
  const replacing = { ...create(), inputs: unknown, replaces: "id-0" };
  assert.deepEqual(await foresee("create", replacing, undefined), nothing);
  assert.deepEqual(await foresee("update", { ...change(), after: unknown }, {}), nothing);
  assert.deepEqual(await foresee("delete", { ...remove(), inputs: inputs('{"size":"large"}') }, {}), nothing);
  const [created, changed, removed] = seen;
  assert.deepEqual([created.effect, created.inputs.values.size, created.replaces], ["create", null, "id-0"]);
  assert.deepEqual([changed.effect, changed.after.unknown, changed.state.outputs.token], ["update", ["/values/size"], "hush"]);
  assert.deepEqual([removed.effect, removed.dataLossAllowed, removed.inputs.values.size], ["delete", true, "large"]);
  // What would be applied has to fit, and a type without a preview promises nothing.
  const wrong = { ...create(), inputs: inputs('{"size":"large"}') };
  await assert.rejects(foresee("create", wrong), ({ tag }) => tag === "invalid-inputs");
  assert.deepEqual(await foresee("create", create("plain")), nothing);
  // The host finds the export, so that `implements` does not name it.
  assert.deepEqual(lifecycleOf(foreseeing(), its).describe().types[0].implements, shop().describe().types[0].implements);
});

test("a forecast arrives whole", async () => {
  const part = {
    address: "db", movedFrom: "module.db", typeName: "database", action: "delete-then-create", before: numbers,
    after: { size: null }, unknown: ["/after/size"], sensitive: ["/before/key"], replaces: ["/after/size"],
    holdsData: "every table", notes: { reason: "it moved" },
  };
  const its = {
    outputs: { real: null, token: "hush" }, secrets: { more: null }, unknown: ["/outputs/real", "/outputs/token", "/secrets/more"],
    sensitive: ["/outputs/token", "/outputs/real"], parts: [part, { address: "net", typeName: "network", action: "none", before: null }],
    token: bytes, notes: { cost: 3 },
  };
  const bare = { movedFrom: undefined, before: undefined, after: undefined, holdsData: undefined, unknown: [], sensitive: [], replaces: [] };
  assert.deepEqual(await foresee("create", create(), its), {
    outputs: '{"real":null}', secrets: '{"more":null,"token":"hush"}', unknown: ["/outputs/real", "/secrets/token", "/secrets/more"],
    sensitive: ["/outputs/real"],
    parts: [
      { ...part, before: NUMBERS, after: '{"size":null}', notes: [["reason", '"it moved"']] },
      { ...bare, address: "net", typeName: "network", action: "none", notes: [] },
    ],
    token: bytes, notes: [["cost", "3"]],
  });
});

test("a forecast that would be ignored in part is a fault, and a failure without effects is one", async () => {
  const net = { address: "net", typeName: "network", action: "create" };
  for (const [its, message] of [
    ["h", "`preview` of `thing` has to return an object, such as `{ outputs }`, and returns a string"],
    [{ output: {} }, "`preview` of `thing` returns an unknown `output`; the names are outputs, secrets, unknown"],
    [{ outputs: "h" }, "`preview` of `thing`: `outputs` has to be an object, and is a string"],
    [{ outputs: { token: "a" }, secrets: { token: "b" } }, "`token` is in `outputs` and in `secrets`"],
    [{ unknown: "/outputs/a" }, "`preview` of `thing`: `unknown` has to be a list of strings, and is a string"],
    [{ parts: net }, "`preview` of `thing`: `parts` has to be a list, and is an object"],
    [{ parts: [net, { ...net, adress: "" }] }, "`preview` of `thing`: `parts[1]` has an unknown `adress`; the names are address"],
    [{ parts: [{ ...net, action: "replace" }] }, "`preview` of `thing`: `parts[0].action` has to be one of none, create, read,"],
    [{ parts: [{ ...net, address: 7 }] }, "`preview` of `thing`: `parts[0].address` has to be a string, and is a number"],
    [{ parts: [{ ...net, replaces: "/after" }] }, "`preview` of `thing`: `parts[0].replaces` has to be a list of strings"],
    [{ token: "plan" }, "`preview` of `thing`: `token` has to be a Uint8Array, and is a string"],
  ]) {
    await assert.rejects(foresee("create", create(), its), { message: "it crashed" });
    assert.ok(lines.at(-1)[1].includes(message), lines.at(-1)[1]);
  }
  await assert.rejects(foresee("update", change(), notFound("no")), ({ tag }) => tag === "not-found");
});

test("a component exports previews if its driver has one", () => {
  needPreview(foreseeing(), true);
  needPreview(driver({ ...info, types: [thing] }), false);
  assert.throws(() => needPreview(foreseeing(), false), /resource `thing`: `preview` is not exported; the build needs the option `--preview`/);
  assert.throws(() => needPreview(driver({ ...info, types: [thing] }), true), /driver: no type has a `preview`; the build does not need the option/);
});

test("a test says what people agreed to", () => {
  host.messages.length = 0;
  assert.equal(consent.token(), undefined);
  consent.agreed = bytes;
  assert.equal(consent.token(), bytes);
  consent.agreed = undefined;
  consent.reached("net", "create");
  assert.deepEqual(host.messages, [["reached", "net", "create"]]);
});

test("a failure that is made of the wrong arguments is a fault", () => {
  for (const [make, message] of [
    [() => invalidInputs("/values/size", "is too large"), /^`invalidInputs`: argument 1 has to be a finding, such as .*, and is a string$/],
    [() => invalidInputs({ pointer: "/values/size" }), /^`invalidInputs`: argument 1 has to be a finding/],
    [() => invalidInputs([{ pointer: "/values/size", message: "is too large" }]), "`invalidInputs` takes findings, not a list: write `...` before it"],
    [() => pending("wait", 500), "`pending`: the first argument has to be a number of milliseconds, and is a string; write `pending(5000, \"…\")`"],
    [() => pending(-1, "wait"), /^`pending`: the first argument has to be a number of milliseconds/],
    [() => pending(500), "`pending`: the message is missing; it has to be a string"],
    [() => pending(500, "wait", "id-1"), "`pending`: the third argument has to be a state, such as `{ id, outputs }`, and is a string"],
    [() => partial("half", { id: "id-1" }), "`partial`: the message has to be a string, and is an object"],
    [() => partial("id-1", "half"), "`partial`: the first argument has to be a state, such as `{ id, outputs }`, and is a string"],
    [() => retryAfter("busy", 500), /^`retryAfter`: the first argument has to be a number/],
    [() => denied("http", "t"), "`denied`: the message is missing; it has to be a string"],
    [() => conflict(new Error("no")), "`conflict`: the message has to be a string, and is an object"],
    [() => failed("no", "Busy"), "`failed`: the argument for details has to be an object, such as `{ code }`, and is a string"],
  ]) {
    assert.throws(make, { name: "TypeError", message });
  }
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
  const exists = { id: "id-1", outputs: { token: "once" }, notes: { health: "starting" } };
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
  assert.deepEqual([seen[0].state.id, seen[0].state.cookie], ["id-1", bytes]);
});

test("a fault of the driver ends the call, and is logged", async () => {
  await assert.rejects(call("create", create(), new TypeError("undefined is no function")), { message: "it crashed" });
  assert.deepEqual(lines.map(([level]) => level), ["warn", "error"]);
  assert.match(lines[1][1], /TypeError: undefined is no function/);
  assert.match(lines[0][1], /author\.js:\d+/);
  assert.match(lines[1][1], /^TypeError: undefined is no function \(at .*author\.js:\d+:\d+\)?\)$/);
  // The line is not this package's, although that is where the exception was made.
  answer = Object.assign(new TypeError("no"), {
    stack: "at attempt (file:///a/sdk/js/files.js:11:5)\nat get (file:///a/node_modules/x/i.js:2:2)\nat write (a.js:3:1)",
  });
  await assert.rejects(shop().create(create()), { message: "it crashed" });
  assert.equal(lines.at(-1)[1], "TypeError: no (at write (a.js:3:1))");
  answer.stack = "at attempt (file:///a/sdk/js/files.js:11:5)";
  await assert.rejects(shop().create(create()), { message: "it crashed" });
  assert.equal(lines.at(-1)[1], "TypeError: no");
  effects.add({ method: "POST", target: "POST https://api.example/" });
  assert.equal((await fails("create", create(), { id: "id-1", notes: { size: NaN } })).tag, "undecided");
});
