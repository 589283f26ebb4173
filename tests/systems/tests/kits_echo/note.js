// A driver whose outputs are its inputs.

import { driver, resource, s } from "@purlin/driver";

const all = s.array(s.any());

const kept = resource({
  type: "kept",
  inputs: s.inputs({ values: s.object({ all }), secrets: s.object({ all }) }),
  outputs: s.outputs({ all, sealed: all.secret() }),
  repeatCreate: true,

  create({ inputs, name }) {
    return { id: name, outputs: { all: inputs.values.all, sealed: inputs.secrets.all } };
  },

  delete() {},
});

export default driver({ name: "shop/memo", version: "0.1.0", description: "Returns its inputs.", types: [kept] });
