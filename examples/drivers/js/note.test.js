// Tests the driver with files of this machine, without WebAssembly.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, test } from "node:test";

import { inputs as schema } from "./inputs.js";
import { note } from "./note.js";
import { host } from "@purlin/driver";

let folder;

beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), "note-"));
  host.messages.length = 0;
  host.files = filesIn(folder);
});

/** What `files.js` of the SDK does, with the driver's paths in a folder of this machine. */
function filesIn(root) {
  const here = (path) => join(root, path);
  const attempt = (action) => {
    try {
      return action();
    } catch (error) {
      throw Object.assign(error, { code: { ENOENT: "no-entry", EACCES: "access" }[error.code] ?? "io" });
    }
  };
  fs.mkdirSync(here("/notes"));
  return {
    has: (folder) => fs.existsSync(here(folder)),
    read: (path) => attempt(() => fs.readFileSync(here(path))),
    write: (path, bytes) => attempt(() => fs.writeFileSync(here(path), bytes)),
    rename: (from, to) => attempt(() => fs.renameSync(here(from), here(to))),
    remove: (path) => attempt(() => fs.unlinkSync(here(path))),
  };
}

const subject = { guresid: "0123456789abcdef0123456789abcdef01234567", typeName: "note" };
const others = { account: {}, unknown: [], sensitive: [] };
const inputs = (values, secrets = {}) => ({ values, secrets, ...others });
const hello = inputs({ title: "hello", text: "Hello." });
const create = (inputs, replaces) => note.create({ subject, inputs, name: inputs.values.title, replaces });
const file = (title) => fs.readFileSync(join(folder, "notes", `${title}.md`), "utf8");

test("a note lives", async () => {
  const state = await create(hello);
  assert.deepEqual(state, {
    id: "hello",
    outputs: { title: "hello", path: "/notes/hello.md", bytes: 7, mark: undefined },
  });
  assert.equal(file("hello"), "Hello.\n");
  assert.deepEqual(host.messages[0], ["checkpoint", "hello", undefined]);
  await create(hello);
  await assert.rejects(create(inputs({ title: "hello", text: "Hi." })), { name: "conflict" });

  const read = (id, inputs = hello) => note.read({ subject, id, name: "hello", known: [], inputs, state });
  fs.writeFileSync(join(folder, "notes/hello.md"), "Somebody was here.\n");
  assert.deepEqual((await read("hello")).values, { title: "hello", text: "Somebody was here." });
  await assert.rejects(read(undefined), { name: "conflict" });

  const after = inputs({ title: "hello", text: "wörld 🎉" });
  const impact = note.updateImpact({ state, before: hello, after });
  assert.deepEqual(impact, { stableOutputs: ["/outputs/title", "/outputs/path"] });
  assert.equal((await note.update({ state, before: hello, after })).outputs.bytes, 12);
  assert.equal((await read("hello", after)).values.text, "wörld 🎉");

  note.delete({ state });
  note.delete({ state });
  assert.equal(await read("hello"), undefined);
  assert.deepEqual(fs.readdirSync(join(folder, "notes")), []);
});

test("another title is another note", async () => {
  const state = await create(hello);
  const after = inputs({ title: "other", text: "Hello." });
  // The schema says that it replaces, so no output is stable.
  assert.equal(schema.json.properties.values.properties.title["x-purlin-replaces"], true);
  assert.equal(note.updateImpact({ state, before: hello, after }), undefined);
});

test("a note of the same title replaces another only once that is gone", async () => {
  await create(hello);
  await assert.rejects(create(hello, "hello"), { name: "needs-delete-before" });
  const found = (known) => note.read({ subject, name: "hello", known, inputs: hello });
  assert.equal((await found([])).state.id, "hello");
  assert.equal(await found(["hello"]), undefined);
});

test("a title is drawn once, and what is unknown is left alone", () => {
  const check = (values, previous) => note.check({ subject, inputs: inputs(values), previous: previous && inputs(previous) });
  const drawn = { text: "Hello.", title: "0123456789ab" };
  assert.deepEqual(check({ text: "Hello." }), { values: drawn });
  assert.equal(check(drawn), undefined);
  assert.equal(check({ text: null, title: null }), undefined);
  // A renamed resource has another guresid, and keeps its title.
  assert.deepEqual(check({ text: "Hi." }, { text: "Hello.", title: "first" }), { values: { text: "Hi.", title: "first" } });
});

test("the signature stays secret", async () => {
  const signed = inputs({ title: "s", text: "x" }, { signature: "hush" });
  const state = await create(signed);
  assert.equal(state.outputs.mark, "s:hush");
  assert.match(file("s"), /^x\n-- [0-9a-f]{64}\n$/);
  assert.equal((await note.read({ subject, id: "s", inputs: signed })).values.text, "x");
  assert.ok(!JSON.stringify([host.messages, { ...state.outputs, mark: undefined }]).includes("hush"));
});

test("without the folder it is denied", async () => {
  fs.rmdirSync(join(folder, "notes"));
  await assert.rejects(create(hello), (error) => error.payload.val.target === "/notes");
});

test("a failure says its code", async () => {
  fs.mkdirSync(join(folder, "notes/hello.md"));
  await assert.rejects(create(hello), (error) => error.name === "failed" && error.details.code === "io");
});
