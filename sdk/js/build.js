// Builds a component from a driver.

import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { componentize } from "@bytecodealliance/componentize-js";
import * as esbuild from "esbuild";

import { keepBindings } from "./bindings.js";
import { traced } from "./trace.js";

/** The worlds of drivers: the contract, and this package's imports from WASI. */
const WIT = fileURLToPath(new URL("wit", import.meta.url));
/** The folder of this package. */
const SDK = here(fileURLToPath(new URL(".", import.meta.url)));
/** The folder for the bundled code, below the current folder. It also holds the cache for later builds. */
const FOLDER = "build";
/** The name of the source map in the bundle. */
const MAP = "__purlin_source_map";
/** What the bundle calls its first lines, which connect the driver. */
const ENTRY = "component";

const { splicer } = await import(
  new URL("../lib/spidermonkey-embedding-splicer.js", import.meta.resolve("@bytecodealliance/componentize-js"))
);
keepBindings(splicer, resolve(FOLDER, "bindings.cache"));

/** A path with slashes, relative to the current folder. */
function here(path) {
  return relative(".", path).split(sep).join("/");
}

/**
 * Builds the component `output` from `source`, a module whose default export is the driver. With `preview`, it exports
 * the previews of the driver's types. A fault that the module throws when it is loaded is an error with its place.
 */
export async function build(source, output, { wit = WIT, preview = false } = {}) {
  const { code, sourceMap } = await bundle(source, resolve(FOLDER, `${basename(output, ".wasm")}.js`), preview);
  try {
    const { component } = await componentize({
      sourcePath: code,
      witPath: wit,
      worldName: preview ? "driver-with-preview" : "driver",
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
  const isOurs = (line) => line.includes(`@${SDK}/`) || line.includes(`@${ENTRY}:`);
  const frames = message.split("\n").filter((line) => /^ +\S*@/.test(line) && !isOurs(line));
  return [thrown, ...frames].join("\n");
}

/** Bundles a driver and all its imports into one file: the engine knows no packages. */
async function bundle(source, outfile, preview) {
  const driver = JSON.stringify(`./${here(resolve(source))}`);
  const component = JSON.stringify(fileURLToPath(new URL("component.js", import.meta.url)));
  // Only the world with previews has it.
  const consent = preview ? 'import * as consent from "purlin:preview/consent@0.1.0";' : "const consent = undefined;";
  const { outputFiles } = await esbuild.build({
    stdin: {
      contents: `import driver from ${driver};
import { component } from ${component};
${consent}
export const { lifecycle, preview } = component(driver, () => ${MAP}, consent);`,
      resolveDir: ".",
      sourcefile: ENTRY,
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
