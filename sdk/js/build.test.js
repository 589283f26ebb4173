// Builds drivers in TypeScript as components.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";

// The current folder is where the build keeps its files.
process.chdir(mkdtempSync(join(tmpdir(), "driver-")));
const { build } = await import("./build.js").catch(({ code }) => ({ code }));
const skip = build === undefined && "SKIPPED: the packages are not installed; `npm install` installs them";

const SDK = JSON.stringify(new URL("index.js", import.meta.url).pathname);
const driver = (more = "", preview = "") => `import { driver, resource, s, type Infer } from ${SDK};

const inputs = s.inputs({ values: s.object({ size: s.bigint().default(1n), kind: s.enum(["a", "b"]) }) });
enum Kind { A = "a", B = "b" }
const double = <T extends Infer<typeof inputs>>({ values }: T): bigint => values.size * 2n;
${more}
export default driver({
  name: "acme/double",
  version: "0.1.0",
  description: "Twice the size.",
  types: [
    resource({
      type: "double",
      inputs,
      outputs: s.outputs({ size: s.bigint(), isA: s.boolean() }),
      create: ({ inputs, name }) => ({ id: name, outputs: { size: double(inputs), isA: inputs.values.kind === Kind.A } }),
      delete() {},
      ${preview}
    }),
  ],
});
`;

before(() => {
  writeFileSync("double.ts", driver());
  writeFileSync("foreseen.ts", driver("", "preview: ({ subject }) => ({ parts: [{ address: subject.urn, typeName: 'a', action: 'create' }] }),"));
  writeFileSync("wrong.ts", driver("const title: string = s.string({ maxLenght: 3 }) as never;"));
});

test("a driver in TypeScript becomes a component", { skip }, async () => {
  await build("double.ts", "double.wasm");
  // A component, not a module.
  assert.deepEqual([...readFileSync("double.wasm").subarray(0, 8)], [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]);
  assert.match(
    readFileSync("build/double.js", "utf8"),
    /\nvar __purlin_source_map = \{"file":"build\/double\.js","sdk":".*","sources":\[.*"double\.ts"/,
  );
});

test("a component exports previews with the option and a driver that has one", { skip }, async () => {
  const text = (file) => readFileSync(file, "latin1");
  await build("foreseen.ts", "foreseen.wasm", { preview: true });
  await build("double.ts", "double.wasm");
  const exported = "purlin:preview/preview@0.1.0";
  assert.deepEqual([text("foreseen.wasm"), text("double.wasm")].map((one) => one.includes(exported)), [true, false]);
  await assert.rejects(build("foreseen.ts", "foreseen.wasm"), {
    message:
      "TypeError: resource `double`: `preview` is not exported; the build needs the option `--preview` of `purlin-driver`, or `preview` of `build`",
  });
  await assert.rejects(build("double.ts", "double.wasm", { preview: true }), /driver: no type has a `preview`; the build does not need the option/);
});

test("a fault in a declaration is reported at its line", { skip }, async () => {
  await assert.rejects(build("wrong.ts", "wrong.wasm"), {
    message:
      "TypeError: s.string: `maxLenght` is unknown; the options are minLength, maxLength, pattern, format\n  @wrong.ts:6:25",
  });
});
