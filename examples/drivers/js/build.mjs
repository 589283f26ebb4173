// Makes ./note.wasm.

import { writeFile } from "node:fs/promises";

import { componentize } from "@bytecodealliance/componentize-js";

const { component } = await componentize({
  sourcePath: "main.js",
  witPath: "wit",
  worldName: "driver",
  // A driver answers no requests. This one makes none either; without "http" here, there is `fetch`.
  disableFeatures: ["fetch-event", "http"],
});
await writeFile("note.wasm", component);
