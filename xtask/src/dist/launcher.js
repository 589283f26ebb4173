#!/usr/bin/env node
// Runs the program from the package for this processor.
"use strict";

const { spawn } = require("node:child_process");

let program;
try {
  program = require.resolve(`@purlin/cli-${process.platform}-${process.arch}/bin/purlin`);
} catch {
  console.error(
    `error: there is no package with Purlin for ${process.platform} on ${process.arch}, or npm did not install it\n` +
      "hint: npm installs it as an optional dependency, unless `--omit=optional` is set",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends Ctrl-C to the program as well.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: cannot run ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
