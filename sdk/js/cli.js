#!/usr/bin/env node
// `purlin-driver SOURCE OUTPUT`: builds a component from a driver.

import { build } from "./build.js";

const [source, output, ...rest] = process.argv.slice(2);
if (output === undefined || rest.length > 0) {
  console.error("usage: purlin-driver SOURCE.js|SOURCE.ts OUTPUT.wasm");
  process.exit(2);
}
try {
  await build(source, output);
} catch (error) {
  // esbuild has printed its own.
  if (error.errors === undefined) console.error(`error: ${error.message}`);
  process.exit(1);
}
