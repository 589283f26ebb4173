// The notes, as files.

import { denied, failed, host } from "@purlin/driver";

/** Where the driver sees the folder that it was granted. */
const FOLDER = "/notes";

export const path = (title) => `${FOLDER}/${title}.md`;
const beside = (title) => `${FOLDER}/.${title}.tmp`;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const bytes = (content) => new TextEncoder().encode(content);

/** How long the file of a note is. */
export const size = (content) => bytes(content).length;

/** The content of a note; null if it does not exist. */
export function read(title) {
  return attempt("read", title, () => decoder.decode(host.files.read(path(title))));
}

/** Writes a note completely or not at all, even if the process is killed. */
export function write(title, content) {
  attempt("write", title, () => {
    host.files.write(beside(title), bytes(content));
    host.files.rename(beside(title), path(title));
  });
}

/** Removes a note; a missing one is fine. */
export function remove(title) {
  // The first one may be left by an interrupted attempt.
  for (const file of [beside(title), path(title)]) {
    attempt("remove", title, () => host.files.remove(file));
  }
}

/** Does something to a note; null where it is not there. */
function attempt(what, title, action) {
  if (!host.files.has(FOLDER)) throw denied("dirs", FOLDER, "notes are kept in this folder");
  try {
    return action();
  } catch (error) {
    if (error.code === "no-entry") return null;
    const message = `cannot ${what} the note \`${title}\`: ${error.message}`;
    if (["access", "not-permitted", "read-only"].includes(error.code)) throw denied("dirs", FOLDER, message);
    throw error.code ? failed(message, { code: error.code }) : error;
  }
}
