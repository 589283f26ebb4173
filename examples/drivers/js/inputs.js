// The inputs of the driver.

import { Faults, isUnknown } from "@purlin/driver";

/** Bytes of the longest text. */
const LONGEST = 64 << 10;
const TITLE = /^[a-z0-9][a-z0-9-]{0,62}$/;
const SIGNED = /\n-- [0-9a-f]{64}$/;
const KNOWN = { values: ["title", "text"], secrets: ["signature"] };

export const inputSchema = {
  type: "object",
  required: ["values"],
  properties: {
    values: {
      type: "object",
      required: ["text"],
      additionalProperties: false,
      properties: {
        text: { type: "string", maxLength: LONGEST, description: "The text of the note." },
        title: {
          type: "string",
          pattern: TITLE.source,
          description: "The name of the note. By default it is derived from the id of the resource.",
        },
      },
    },
    secrets: {
      type: "object",
      additionalProperties: false,
      properties: {
        signature: { type: "string", description: "Its digest is put below the text." },
      },
    },
  },
};

export const outputSchema = {
  type: "object",
  required: ["title", "path", "bytes"],
  additionalProperties: false,
  properties: {
    title: { type: "string" },
    path: { type: "string", description: "The path in the driver's folder." },
    bytes: { type: "integer", description: "The size of the file." },
    mark: { type: "string", writeOnly: true, description: "Title and signature." },
  },
};

const bytes = (text) => new TextEncoder().encode(text);

/** All faults. Unknown values are not checked. */
export function faults(inputs) {
  const faults = new Faults();
  for (const [part, known] of Object.entries(KNOWN)) {
    for (const name of Object.keys(inputs[part])) {
      const place = name.replaceAll("~", "~0").replaceAll("/", "~1");
      if (!known.includes(name)) faults.add(`/${part}/${place}`, `is unknown; the names are ${known.join(", ")}`);
    }
  }
  const judge = (part, name, fault, required = false) => {
    const pointer = `/${part}/${name}`;
    const value = inputs[part][name] ?? null;
    if (isUnknown(inputs, pointer) || (value === null && !required)) return;
    if (value === null) faults.add(pointer, "is missing");
    else if (typeof value !== "string") faults.add(pointer, "has to be a text");
    else if (fault(value)) faults.add(pointer, fault(value));
  };
  judge("values", "text", (text) => bytes(text).length > LONGEST && "is longer than 64 KiB", true);
  judge(
    "values",
    "title",
    (title) => !TITLE.test(title) && "has to be up to 63 lower-case letters, digits and dashes",
  );
  judge("secrets", "signature", () => false);
  return faults;
}

/** Gives a note without a title a unique one. */
export function withDefaults(inputs, subject) {
  if (inputs.values.title != null || isUnknown(inputs, "/values/title")) return inputs.values;
  return { ...inputs.values, title: subject.guresid.slice(0, 12) };
}

/** The content of the file. It has a digest of the signature, which is secret. */
export async function content({ values: { text }, secrets: { signature } }) {
  if (signature == null) return `${text}\n`;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes(signature)));
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${text}\n-- ${hex}\n`;
}

/** The text of a note, without the signature. */
export const text = (content) => content.replace(/\n$/, "").replace(SIGNED, "");
