// Builds a component from a driver.

import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { componentize } from "@bytecodealliance/componentize-js";
import * as esbuild from "esbuild";

import { keepBindings } from "./bindings.js";
import { traced } from "./trace.js";

/** The world of drivers: the contract, and this package's imports from WASI. */
const WIT = fileURLToPath(new URL("wit", import.meta.url));
/** The folder of this package. */
const SDK = here(fileURLToPath(new URL(".", import.meta.url)));
/** The folder for the bundled code, below the current folder. It also holds the cache for later builds. */
const FOLDER = "build";
/** The name of the source map in the bundle. */
const MAP = "__purlin_source_map";

const { splicer } = await import(
  new URL("../lib/spidermonkey-embedding-splicer.js", import.meta.resolve("@bytecodealliance/componentize-js"))
);
keepBindings(splicer, resolve(FOLDER, "bindings.cache"));

/** A path with slashes, relative to the current folder. */
function here(path) {
  return relative(".", path).split(sep).join("/");
}

/**
 * Builds the component `output` from `source`, a module whose default export is the driver. A fault that the module
 * throws when it is loaded is an error with its place.
 */
export async function build(source, output, { wit = WIT } = {}) {
  const { code, sourceMap } = await bundle(source, resolve(FOLDER, `${basename(output, ".wasm")}.js`));
  try {
    const { component } = await componentize({
      sourcePath: code,
      witPath: wit,
      worldName: "driver",
      // A driver serves no HTTP requests.
      disableFeatures: ["fetch-event"],
    });
    await writeFile(output, component);
  } catch (error) {
    throw Object.assign(error, { message: fault(traced(error.message, sourceMap)) });
  }
}

/** What a module threw when it was loaded, and where in the author's files; any other message as it is. */
function fault(message) {
  const [, thrown] = /evaluating top-level script\n\S+ ([^]*?)\n(?:Additionally|Stack)/.exec(message) ?? [];
  if (thrown === undefined) return message;
  const frames = message.split("\n").filter((line) => /^ +\S*@/.test(line) && !line.includes(`@${SDK}/`));
  return [thrown, ...frames].join("\n");
}

/** Bundles a driver and all its imports into one file: the engine knows no packages. */
async function bundle(source, outfile) {
  const driver = JSON.stringify(`./${here(resolve(source))}`);
  const { outputFiles } = await esbuild.build({
    stdin: {
      contents: `import driver from ${driver};
import { lifecycle as component } from ${JSON.stringify(fileURLToPath(new URL("component.js", import.meta.url)))};
export const lifecycle = component(driver, () => ${MAP});`,
      resolveDir: ".",
      sourcefile: "component",
    },
    outfile,
    bundle: true,
    format: "esm",
    target: "es2022",
    external: ["wasi:*", "purlin:*"],
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    sourcemap: "external",
    sourcesContent: false,
    write: false,
  });
  const textOf = (wanted) => outputFiles.find(({ path }) => path === wanted).text;
  const { sources, mappings } = JSON.parse(textOf(`${outfile}.map`));
  const code = here(outfile);
  const names = sources.map((path) => here(resolve(dirname(outfile), path)));
  const sourceMap = { file: code, sdk: SDK, sources: names, mappings };
  await mkdir(FOLDER, { recursive: true });
  // After the code, whose lines it would move.
  await writeFile(outfile, `${textOf(outfile)}var ${MAP} = ${JSON.stringify(sourceMap)};\n`);
  return { code, sourceMap };
}
