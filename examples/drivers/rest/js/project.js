// The driver `acme/project`: a project in a REST API that speaks JSON.

import { Api } from "./api.js";
import { inputSchema, outputSchema } from "./schema.js";
import { host, pending } from "@purlin/driver";

/** @type {import("@purlin/driver").Driver<import("./types").Inputs>} */
export default {
  info: {
    name: "acme/project",
    version: "0.1.0",
    description: "A project in a REST API.",
    requestedCapabilities: [{ capability: "http", reason: "the API that `connection.server` names" }],
  },
  type: {
    typeName: "project",
    inputs: inputSchema,
    outputs: outputSchema,
    // The API accepts idempotency keys: a repeated `create` returns the result of the first one, with the
    // token. Remove this line if your API may forget keys before an interrupted deployment continues.
    repeatCreate: true,
  },

  name({ inputs }) {
    return inputs.values.name;
  },

  async create({ inputs, subject, call }) {
    const created = await new Api(inputs.connection, call).create(inputs.values, subject.guresid);
    // From here on, an interrupted call is resolved by this id.
    host.checkpoint(created.id);
    const secrets = created.token === undefined ? {} : { token: created.token };
    return ready(created, { id: created.id, outputs: outputs(created), secrets });
  },

  async read({ id, name, known, inputs, subject, call }) {
    const api = new Api(inputs.connection, call);
    const found = await (id === undefined ? api.find(name, subject.guresid, known) : api.get(id));
    if (found === undefined) return undefined;
    const values = { name: found.name, region: found.region, size: found.size };
    return { state: ready(found, { id: found.id, outputs: outputs(found) }), values };
  },

  async update({ state, after, call }) {
    const updated = await new Api(after.connection, call).update(state.id, after.values);
    return ready(updated, { id: state.id, outputs: outputs(updated) });
  },

  async delete({ state, inputs, call }) {
    await new Api(inputs.connection, call).delete(state.id);
  },
};

/**
 * The state of a project that is ready. Otherwise Purlin records the state, and calls `read` later.
 * @param {import("./types").Project} found @param {import("@purlin/driver").State} state
 */
function ready({ pendingMs }, state) {
  if (pendingMs !== undefined) throw pending(pendingMs, "the API is still working on the project", state);
  return state;
}

/**
 * The outputs of a project, without the token: only `create` gets it, and Purlin keeps it, as the
 * schema says.
 * @param {import("./types").Project} found
 */
function outputs({ id, name, region, size }) {
  return { id, name, region, size };
}
