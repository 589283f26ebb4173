// @ts-check
// The inputs and outputs of the driver. Purlin rejects inputs that do not fit before it calls the driver.

import { s } from "@purlin/driver";

export const inputs = s.inputs({
  values: s.object({
    text: s.string({ maxLength: 65_536 }).describe("The text of the note."),
    title: s
      .string({ pattern: /^[a-z0-9][a-z0-9-]{0,62}$/ })
      .replaces()
      .optional()
      .describe("The name of the note. By default it is derived from the id of the resource."),
  }),
  secrets: s.object({
    signature: s.string().optional().describe("Its digest is put below the text."),
  }),
});

export const outputs = s.outputs({
  title: s.string(),
  path: s.string().describe("The path in the driver's folder."),
  bytes: s.integer().describe("The size of the file."),
  mark: s.string().secret().optional().describe("Title and signature."),
});

/** @typedef {import("@purlin/driver").Infer<typeof inputs>} Inputs */

/**
 * The content of the file. It has a digest of the signature, which is secret.
 * @param {Inputs} inputs
 */
export async function content({ values: { text }, secrets: { signature } }) {
  if (signature === undefined) return `${text}\n`;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(signature));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${text}\n-- ${hex}\n`;
}

/**
 * The text of a note, without the signature.
 * @param {string} content
 */
export const text = (content) => content.replace(/\n$/, "").replace(/\n-- [0-9a-f]{64}$/, "");
