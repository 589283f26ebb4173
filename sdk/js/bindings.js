// Caches the bindings that componentize-js generates from the engine and the world. They take most of
// the time of a build, and change only with the two. This module needs no componentize-js.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { deserialize, serialize } from "node:v8";

/**
 * Makes componentize-js cache its bindings in a file. There is no option for that, so its functions
 * are replaced.
 */
export function keepBindings(splicer, file) {
  const make = splicer.spliceBindings;
  splicer.spliceBindings = (engine, features, source, wit, ...rest) => {
    const key = digest([engine, JSON.stringify([features, source, rest]), ...texts(wit)]);
    const kept = read(file);
    if (kept?.key === key) return kept.bindings;
    const bindings = make(engine, features, source, wit, ...rest);
    mkdirSync(dirname(file), { recursive: true });
    // Beside it first: an interrupted build leaves no partial file.
    writeFileSync(`${file}.${process.pid}`, serialize({ key, bindings }));
    renameSync(`${file}.${process.pid}`, file);
    return bindings;
  };
  // It would remove unused imports of WASI from the component, which takes most of the remaining time
  // of a build. The host answers them only within the grants.
  splicer.stubWasi = (component) => component;
}

function read(file) {
  try {
    return deserialize(readFileSync(file));
  } catch {
    // There is none, or another version of Node.js wrote it.
    return undefined;
  }
}

/** The names and texts of a world's files. */
function texts(wit) {
  const names = readdirSync(wit).sort();
  return names.flatMap((name) => {
    const path = join(wit, name);
    return [name, ...(statSync(path).isDirectory() ? texts(path) : [readFileSync(path)])];
  });
}

/** The digest of parts, each with its length, so that no two lists have the same. */
function digest(parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest("hex");
}
