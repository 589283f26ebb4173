// The types that TypeScript infers: `types.test.ts` compiles, and each of its wrong lines is rejected.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const run = (...args) =>
  spawnSync("tsc", args, { cwd: fileURLToPath(new URL(".", import.meta.url)), encoding: "utf8" });
const skip = run("--version").error && "SKIPPED: `tsc` is not installed; `npm install --global typescript` installs it";

test("TypeScript knows inputs and outputs", { skip }, () => {
  const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"];
  const { stdout, status } = run(...options, "types.test.ts");
  assert.equal(status, 0, stdout);
});
