// @ts-check
// The driver `acme/note`: a note in a folder that the operator granted.

import { content, inputs, outputs, text } from "./inputs.js";
import * as notes from "./notes.js";
import { conflict, driver, host, needsDeleteBefore, resource } from "@purlin/driver";

export const note = resource({
  type: "note",
  inputs,
  outputs,
  // A note with the same content is from an earlier attempt.
  repeatCreate: true,

  // Gives a note without a title a unique one, which it keeps.
  check({ inputs: { values }, previous, subject }) {
    if (values.title !== undefined) return;
    return { values: { ...values, title: previous?.values.title ?? subject.guresid.slice(0, 12) } };
  },

  name({ inputs, subject }) {
    return inputs.values.title ?? subject.guresid;
  },

  async create({ inputs, name, replaces }) {
    if (replaces === name) throw needsDeleteBefore(`both notes are called \`${name}\``);
    const wanted = await content(inputs);
    const there = notes.read(name);
    if (there !== null && there !== wanted) throw conflict(`there is a note \`${name}\` already`);
    // From here on, an interrupted call is resolved by this id.
    host.checkpoint(name);
    host.progress("writing the note");
    notes.write(name, wanted);
    host.log("info", `wrote the note \`${name}\``);
    return state(name, wanted, inputs);
  },

  async read({ id, name, known, inputs }) {
    const title = id ?? name;
    // A note that is recorded under this name is being replaced.
    if (id === undefined && known.includes(name)) return undefined;
    const there = notes.read(title);
    if (there === null) return undefined;
    if (id === undefined && there !== (await content(inputs))) {
      throw conflict(`the note \`${title}\` is not this resource's`);
    }
    return { state: state(title, there, inputs), values: { title, text: text(there) } };
  },

  updateImpact({ state, after }) {
    // Another title replaces the note, as the schema says.
    if (after.values.title === state.id) return { stableOutputs: ["/outputs/title", "/outputs/path"] };
  },

  async update({ state: { id }, after }) {
    const wanted = await content(after);
    notes.write(id, wanted);
    return state(id, wanted, after);
  },

  delete({ state }) {
    notes.remove(state.id);
  },
});

/** @param {string} title @param {string} content @param {import("./inputs.js").Inputs} inputs */
function state(title, content, { secrets: { signature } }) {
  const mark = signature && `${title}:${signature}`;
  return { id: title, outputs: { title, path: notes.path(title), bytes: notes.size(content), mark } };
}

export default driver({
  name: "acme/note",
  version: "0.1.0",
  description: "A note in a folder that the operator granted.",
  requestedCapabilities: [{ capability: "dirs", reason: "the folder of the notes, as /notes with mode `rw`" }],
  types: [note],
});
