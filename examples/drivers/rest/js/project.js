// @ts-check
// The driver `acme/project`: a project in a REST API that speaks JSON.

import { Api } from "./api.js";
import { inputs, outputs } from "./schema.js";
import { driver, host, pending, resource } from "@purlin/driver";

export const project = resource({
  type: "project",
  inputs,
  outputs,
  // The API accepts idempotency keys: a repeated `create` returns the result of the first one, with the
  // token. Remove this line if your API may forget keys before an interrupted deployment continues.
  repeatCreate: true,

  name({ inputs }) {
    return inputs.values.name;
  },

  async create({ inputs, subject, call }) {
    const created = await new Api(inputs.connection, call).create(inputs.values, subject.guresid);
    // From here on, an interrupted call is resolved by this id.
    host.checkpoint(created.id);
    return ready(created);
  },

  async read({ id, name, known, inputs, subject, call }) {
    const api = new Api(inputs.connection, call);
    const found = await (id === undefined ? api.find(name, subject.guresid, known) : api.get(id));
    if (found === undefined) return undefined;
    const values = { name: found.name, region: found.region, size: found.size };
    return { state: ready(found), values };
  },

  async update({ state, after, call }) {
    return ready(await new Api(after.connection, call).update(state.id, after.values));
  },

  async delete({ state, inputs, call }) {
    await new Api(inputs.connection, call).delete(state.id);
  },
});

/**
 * The state of a project that is ready. Otherwise Purlin records the state, and calls `read` later. Only `create`
 * gets the token, and Purlin keeps it, as the schema says.
 * @param {import("./api.js").Project} found
 */
function ready({ id, name, region, size, token, pendingMs }) {
  const state = { id, outputs: { id, name, region, size, token } };
  if (pendingMs !== undefined) throw pending(pendingMs, "the API is still working on the project", state);
  return state;
}

export default driver({
  name: "acme/project",
  version: "0.1.0",
  description: "A project in a REST API.",
  requestedCapabilities: [{ capability: "http", reason: "the API that `connection.server` names" }],
  types: [project],
});
