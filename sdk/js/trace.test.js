// Places of the bundle in stack traces, by the source map that esbuild writes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { traced } from "./trace.js";

/**
 * Line 3 of the bundle is line 1 of `a.ts`, its fifth column is line 41 there, and line 5 is line 1 of `b.js`; lines
 * 1, 2 and 4 are nobody's.
 */
const map = { file: "build/note.js", sources: ["src/a.ts", "b.js"], mappings: ";;AAAA,IAwCE;;CCxCF" };

test("a place of the bundle is that of the author's file", () => {
  const stack = [
    "create@build/note.js:3:1",
    "async*call@build/note.js:3:5",
    "@build/note.js:3:99",
    "later@build/note.js:5:2",
    "export$create@/tmp/05366d4cdd43/sources/initializer.js:6836:29",
    "TypeError at build/note.js:5:7: see note.js:3:1",
  ];
  assert.deepEqual(traced(stack.join("\n"), map).split("\n"), [
    "create@src/a.ts:1:1",
    "async*call@src/a.ts:41:3",
    "@src/a.ts:41:3",
    "later@b.js:1:1",
    "TypeError at b.js:1:1: see note.js:3:1",
  ]);
});

test("a place that nobody wrote stays", () => {
  for (const place of [
    "build/note.js:1:1",
    "build/note.js:4:9",
    "build/note.js:5:1",
    "build/note.js:99:1",
    "build/noteXjs:3:1",
    "",
  ]) {
    assert.equal(traced(place, map), place);
  }
});
