// Keeps what componentize-js makes of the engine and the world. That takes most of the time of a
// build, and changes only with the two. This module needs no componentize-js.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { deserialize, serialize } from "node:v8";

/**
 * Lets the part of componentize-js that makes bindings keep them in a file. There is no option for
 * that, so its functions are replaced.
 */
export function keepBindings(splicer, file) {
  const make = splicer.spliceBindings;
  splicer.spliceBindings = (engine, features, source, wit, ...rest) => {
    const key = digest([engine, JSON.stringify([features, source, rest]), ...texts(wit)]);
    const kept = read(file);
    if (kept?.key === key) return kept.bindings;
    const bindings = make(engine, features, source, wit, ...rest);
    mkdirSync(dirname(file), { recursive: true });
    // Beside it first: a build that is interrupted leaves no half of it.
    writeFileSync(`${file}.${process.pid}`, serialize({ key, bindings }));
    renameSync(`${file}.${process.pid}`, file);
    return bindings;
  };
  // It would take imports of WASI from the component that a driver has no use for, in most of the
  // time that is left of a build. The host answers them only within the grants.
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
