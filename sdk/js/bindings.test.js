import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { keepBindings } from "./bindings.js";

test("bindings are made once for an engine and a world", () => {
  const folder = mkdtempSync(join(tmpdir(), "bindings-"));
  const wit = join(folder, "wit");
  mkdirSync(join(wit, "deps"), { recursive: true });
  writeFileSync(join(wit, "driver.wit"), "world driver {}");
  writeFileSync(join(wit, "deps/types.wit"), "interface types {}");
  const file = join(folder, "build/bindings.cache");

  let made = 0;
  const splice = (engine = new Uint8Array([1]), features = ["http"]) => {
    const splicer = { spliceBindings: () => ({ wasm: new Uint8Array([++made]), exports: [["a", { ret: undefined }]] }) };
    keepBindings(splicer, file);
    return splicer.spliceBindings(engine, features, undefined, wit, "driver", false);
  };
  assert.deepEqual(splice(), splice());
  assert.equal(made, 1);
  assert.deepEqual(readdirSync(join(folder, "build")), ["bindings.cache"]);

  const changes = [
    () => splice(new Uint8Array([2])),
    () => splice(undefined, []),
    () => (writeFileSync(join(wit, "deps/types.wit"), "interface other {}"), splice()),
    () => (writeFileSync(join(wit, "deps/more.wit"), ""), splice()),
    () => (writeFileSync(file, "half of it"), splice()),
  ];
  changes.forEach((change, index) => assert.deepEqual([...change().wasm], [index + 2]));
});
