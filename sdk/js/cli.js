#!/usr/bin/env node
// `purlin-driver SOURCE OUTPUT`: builds a component from a driver; with `--preview`, one that exports its previews.

import { build } from "./build.js";

const PREVIEW = "--preview";
const preview = process.argv.includes(PREVIEW);
const [source, output, ...rest] = process.argv.slice(2).filter((one) => one !== PREVIEW);
if (output === undefined || rest.length > 0) {
  console.error(`usage: purlin-driver SOURCE.js|SOURCE.ts OUTPUT.wasm [${PREVIEW}]`);
  process.exit(2);
}
try {
  await build(source, output, { preview });
} catch (error) {
  // esbuild has printed its own.
  if (error.errors === undefined) console.error(`error: ${error.message}`);
  process.exit(1);
}
