// @ts-check
// The notes, as files.

import { denied, failed, host } from "@purlin/driver";

/** Where the driver sees the folder that it was granted. */
const FOLDER = "/notes";

/** @param {string} title */
export const path = (title) => `${FOLDER}/${title}.md`;
/** @param {string} title */
const beside = (title) => `${FOLDER}/.${title}.tmp`;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
/** @param {string} content */
const bytes = (content) => new TextEncoder().encode(content);

/**
 * How long the file of a note is.
 * @param {string} content
 */
export const size = (content) => bytes(content).length;

/**
 * The content of a note; null if it does not exist.
 * @param {string} title
 */
export function read(title) {
  return attempt("read", title, () => decoder.decode(host.files.read(path(title))));
}

/**
 * Writes a note completely or not at all, even if the process is killed.
 * @param {string} title @param {string} content
 */
export function write(title, content) {
  attempt("write", title, () => {
    host.files.write(beside(title), bytes(content));
    host.files.rename(beside(title), path(title));
  });
}

/**
 * Removes a note; a missing one is fine.
 * @param {string} title
 */
export function remove(title) {
  // The first one may be left by an interrupted attempt.
  for (const file of [beside(title), path(title)]) {
    attempt("remove", title, () => host.files.remove(file));
  }
}

/**
 * Does something to a note; null where it is not there.
 * @template T
 * @param {string} what @param {string} title @param {() => T} action
 */
function attempt(what, title, action) {
  if (!host.files.has(FOLDER)) throw denied("dirs", FOLDER, "notes are kept in this folder");
  try {
    return action();
  } catch (error) {
    const { code, message } = /** @type {Error & { code?: string }} */ (error);
    if (code === "no-entry") return null;
    if (code === undefined) throw error;
    const told = `cannot ${what} the note \`${title}\`: ${message}`;
    if (["access", "not-permitted", "read-only"].includes(code)) throw denied("dirs", FOLDER, told);
    throw failed(told, { code });
  }
}
