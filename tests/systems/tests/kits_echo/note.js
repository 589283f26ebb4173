// A driver whose outputs are its inputs, as it foresees.

import { consent, driver, resource, s } from "@purlin/driver";

const all = s.array(s.any());

/** Its only part, which has the number of values. */
const list = (action, size) => ({ address: "list", typeName: "list", action, after: { size } });

const state = (id, { values, secrets }) => {
  const token = consent.token();
  const agreed = token && new TextDecoder().decode(token);
  return { id, outputs: { all: values.all, sealed: secrets.all, agreed } };
};

const kept = resource({
  type: "kept",
  inputs: s.inputs({ values: s.object({ all }), secrets: s.object({ all }) }),
  outputs: s.outputs({ all, sealed: all.secret(), agreed: s.string().optional() }),
  repeatCreate: true,

  create({ inputs, name }) {
    consent.reached("list", "create");
    return state(name, inputs);
  },

  update: ({ state: { id }, after }) => state(id, after),

  delete() {},

  preview({ effect, inputs, after = inputs }) {
    if (effect === "delete") return;
    const { unknown, values, secrets } = after;
    if (unknown.length > 0) return { parts: [{ ...list(effect, null), unknown: ["/after/size"] }] };
    const size = values.all.length;
    const token = new TextEncoder().encode(`${effect} ${size}`);
    return { outputs: { all: values.all, sealed: secrets.all }, parts: [list(effect, size)], token };
  },
});

export default driver({ name: "shop/memo", version: "0.1.0", description: "Returns its inputs.", types: [kept] });
