// Builds a component from a driver.

import { mkdir, writeFile } from "node:fs/promises";
import { basename, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { componentize } from "@bytecodealliance/componentize-js";
import * as esbuild from "esbuild";

import { keepBindings } from "./bindings.js";

/** The world of drivers: the contract, and this package's imports from WASI. */
const WIT = fileURLToPath(new URL("wit", import.meta.url));
/** The folder for the bundled code, below the current folder: stack traces refer to its lines. It
 *  also holds the cache for later builds. */
const FOLDER = "build";

const { splicer } = await import(
  new URL("../lib/spidermonkey-embedding-splicer.js", import.meta.resolve("@bytecodealliance/componentize-js"))
);
keepBindings(splicer, resolve(FOLDER, "bindings.cache"));

/** Builds the component `output` from `source`, a module whose default export is the driver. */
export async function build(source, output, { wit = WIT } = {}) {
  const code = await bundle(source, resolve(FOLDER, `${basename(output, ".wasm")}.js`));
  const { component } = await componentize({
    sourcePath: relative(".", code),
    witPath: wit,
    worldName: "driver",
    // A driver serves no HTTP requests.
    disableFeatures: ["fetch-event"],
  });
  await writeFile(output, component);
}

/** Bundles a driver and all its imports into one file: the engine knows no packages. */
async function bundle(source, code) {
  const driver = JSON.stringify(`./${relative(".", resolve(source)).split(sep).join("/")}`);
  await mkdir(FOLDER, { recursive: true });
  await esbuild.build({
    stdin: {
      contents: `import driver from ${driver};
import { lifecycle as component } from ${JSON.stringify(fileURLToPath(new URL("component.js", import.meta.url)))};
export const lifecycle = component(driver);`,
      resolveDir: ".",
      sourcefile: "component",
    },
    outfile: code,
    bundle: true,
    format: "esm",
    target: "es2022",
    external: ["wasi:*", "purlin:*"],
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
  });
  return code;
}
