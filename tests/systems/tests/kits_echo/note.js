// A driver whose outputs are its inputs.

const any = { type: "object", properties: { values: { type: "object" }, secrets: { type: "object" } } };

/** @type {import("@purlin/driver").Driver} */
export default {
  info: { name: "shop/memo", version: "0.1.0", description: "Returns its inputs." },
  type: {
    typeName: "kept",
    inputs: any,
    outputs: { type: "object", properties: { sealed: { writeOnly: true } } },
    repeatCreate: true,
  },

  create({ inputs, name }) {
    return { id: name, outputs: { all: inputs.values.all }, secrets: { sealed: inputs.secrets.all } };
  },

  delete() {},
};
