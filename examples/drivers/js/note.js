// The driver `acme/note`: a note in a folder that the operator granted.

import { content, faults, inputSchema, outputSchema, text, withDefaults } from "./inputs.js";
import * as notes from "./notes.js";
import { conflict, host, invalidInputs, needsDeleteBefore } from "@purlin/driver";

/** @type {import("@purlin/driver").Driver} */
export default {
  info: {
    name: "acme/note",
    version: "0.1.0",
    description: "A note in a folder that the operator granted.",
    requestedCapabilities: [{ capability: "dirs", reason: "the folder of the notes, as /notes with mode `rw`" }],
  },
  type: {
    typeName: "note",
    inputs: inputSchema,
    outputs: outputSchema,
    // A note with the same content is from an earlier attempt.
    repeatCreate: true,
  },

  check({ inputs, subject }) {
    faults(inputs).check();
    return { values: withDefaults(inputs, subject), secrets: inputs.secrets };
  },

  name({ inputs }) {
    return inputs.values.title;
  },

  async create({ inputs, name, replaces }) {
    faults(inputs).check();
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
    if (after.values.title !== state.id) return { replaces: ["/values/title"] };
    return { stableOutputs: ["/outputs/title", "/outputs/path"] };
  },

  async update({ state: { id }, after }) {
    faults(after).check();
    if (after.values.title !== id) {
      throw invalidInputs({ pointer: "/values/title", message: "a note keeps its title; another is another note" });
    }
    const wanted = await content(after);
    notes.write(id, wanted);
    return state(id, wanted, after);
  },

  delete({ state }) {
    notes.remove(state.id);
  },
};

function state(title, content, { secrets: { signature } }) {
  return {
    id: title,
    outputs: { title, path: notes.path(title), bytes: notes.size(content) },
    secrets: signature == null ? {} : { mark: `${title}:${signature}` },
  };
}
