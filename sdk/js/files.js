// Files in the folders that the operator granted. Errors are thrown as `FileError` with WASI's name
// as `code`, such as `no-entry` or `read-only`.

import { getDirectories } from "wasi:filesystem/preopens@0.2.0";

/** Bytes that are read at once. */
const PART = 1n << 20n;

export class FileError extends Error {
  constructor(code, path) {
    super(`${path}: ${code}`);
    this.code = code;
  }
}

/** Whether a folder was granted. */
export const has = (folder) => getDirectories().some(([, guest]) => guest === folder);

/** The bytes of a file. */
export function read(path) {
  const file = open(path, {}, { read: true });
  const parts = [];
  let size = 0;
  for (let end = false; !end; ) {
    let part;
    [part, end] = attempt(path, () => file.read(PART, BigInt(size)));
    parts.push(part);
    size += part.length;
  }
  const bytes = new Uint8Array(size);
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}

/** Writes the bytes to a file, replacing an existing one. */
export function write(path, bytes) {
  const file = open(path, { create: true, truncate: true }, { write: true });
  for (let at = 0; at < bytes.length; ) {
    at += Number(attempt(path, () => file.write(bytes.subarray(at), BigInt(at))));
  }
}

/** Moves a file, replacing an existing one. */
export function rename(from, to) {
  const [folder, name] = find(from);
  const [toFolder, toName] = find(to);
  attempt(from, () => folder.renameAt(name, toFolder, toName));
}

/** Removes a file. */
export function remove(path) {
  const [folder, name] = find(path);
  attempt(path, () => folder.unlinkFileAt(name));
}

function open(path, openFlags, flags) {
  const [folder, name] = find(path);
  return attempt(path, () => folder.openAt({}, name, openFlags, flags));
}

/** The granted folder that a path is in, and the rest of the path. */
function find(path) {
  for (const [folder, guest] of getDirectories()) {
    const within = guest.endsWith("/") ? guest : `${guest}/`;
    if (path.startsWith(within)) return [folder, path.slice(within.length)];
  }
  throw new FileError("no-entry", path);
}

function attempt(path, action) {
  try {
    return action();
  } catch (error) {
    throw typeof error?.payload === "string" ? new FileError(error.payload, path) : error;
  }
}
