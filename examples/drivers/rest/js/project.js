// The driver `acme/project`: a project in a REST API that speaks JSON.

import { Api } from "./api.js";
import { inputSchema, outputSchema } from "./schema.js";
import { host } from "@purlin/driver";

/** @type {import("@purlin/driver").Driver<import("./types").Inputs>} */
export default {
  manifest: {
    name: "acme/project",
    version: "0.1.0",
    description: "A project in a REST API.",
    // The API accepts idempotency keys: a repeated `create` returns the result of the first one, with the
    // token. Remove this line if your API may forget keys before an interrupted deployment continues.
    repeatCreate: true,
    types: [{ typeName: "project", inputs: inputSchema, outputs: outputSchema }],
    requestedCapabilities: [{ capability: "http", pattern: "", reason: "the API that `connection.server` names" }],
  },

  name({ inputs }) {
    return inputs.values.name;
  },

  async create({ inputs, resource, call }) {
    const created = await new Api(inputs.connection, call).create(inputs.values, resource.guresid);
    // From here on, an interrupted call is resolved by this id.
    host.checkpoint(created.id);
    const secrets = created.token === undefined ? {} : { token: created.token };
    return { id: created.id, outputs: outputs(created), secrets };
  },

  async read({ id, name, known, inputs, resource, call }) {
    const api = new Api(inputs.connection, call);
    const found = await (id === undefined ? api.find(name, resource.guresid, known) : api.get(id));
    if (found === undefined) return undefined;
    const values = { name: found.name, region: found.region, size: found.size };
    return { state: { id: found.id, outputs: outputs(found) }, values };
  },

  async update({ state, after, call }) {
    const updated = await new Api(after.connection, call).update(state.id, after.values);
    return { id: state.id, outputs: outputs(updated) };
  },

  async delete({ state, inputs, call }) {
    await new Api(inputs.connection, call).delete(state.id);
  },
};

/**
 * The outputs of a project, without the token: only `create` gets it, and Purlin keeps it, as the
 * schema says.
 * @param {import("./types").Project} found
 */
function outputs({ id, name, region, size }) {
  return { id, name, region, size };
}
