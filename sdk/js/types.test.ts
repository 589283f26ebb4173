// What TypeScript knows of a driver. `types.test.js` checks this file with `tsc`; it is never run.

import { consent, driver, pending, resource, s } from "./index.js";
import type { Forecast, Infer, Json, Later, Planned, Schema } from "./index.js";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles if both types are the same. */
const same = <A, B>(_: Equal<A, B>) => {};

const inputs = s.inputs({
  values: s.object({
    size: s.integer({ minimum: 1 }).default(1).replaces(),
    exact: s.bigint(),
    region: s.enum(["eu", "us"]).nullable().optional(),
    tags: s.record(s.string()),
    rules: s.array(s.object({ port: s.integer(), on: s.boolean().default(true) })),
    form: s.union(s.string(), s.object({ a: s.number() })),
    open: s.object({ known: s.string() }, { additionalProperties: true }),
    any: s.any(),
    raw: s.schema<"x" | "y">({ enum: ["x", "y"] }),
  }),
  secrets: s.object({ token: s.string() }),
});
const outputs = s.outputs({ id: s.string(), size: s.integer().optional(), key: s.string().secret().writeOnce() });

type Facts = { account: { name?: string }; unknown: string[]; sensitive: string[] };
type Values = {
  size: number;
  exact: bigint;
  region?: "eu" | "us" | null;
  tags: { [name: string]: string };
  rules: { port: number; on: boolean }[];
  form: string | { a: number };
  open: { known: string } & { [name: string]: unknown };
  any: Json;
  raw: "x" | "y";
};
type PlannedValues = {
  size?: number | null;
  exact: bigint | null;
  region?: "eu" | "us" | null;
  tags: { [name: string]: string | null } | null;
  rules: ({ port: number | null; on?: boolean | null } | null)[] | null;
  form: string | { a: number | null } | null;
  open: ({ known: string | null } & { [name: string]: unknown }) | null;
  any: Json;
  raw: "x" | "y" | null;
};

// Member by member, since the order of optional ones and of intersections does not matter.
type In = Infer<typeof inputs>;
const values = (one: In["values"]): Values => one;
const back = (one: Values): In["values"] => one;
same<In["values"]["rules"], Values["rules"]>(true);
same<In["values"]["region"], Values["region"]>(true);
same<Omit<In, "values" | "secrets">, Facts>(true);
const planned = (one: Planned<typeof inputs>["values"]): PlannedValues => one;
const plannedBack = (one: PlannedValues): Planned<typeof inputs>["values"] => one;
same<Planned<typeof inputs>["values"]["rules"], PlannedValues["rules"]>(true);
same<Infer<typeof outputs>, { id: string; size?: number; key: string }>(true);
same<Later<typeof outputs>, { id: string; size?: number; key?: string }>(true);

const described = s.inputs({ account: s.object({ key: s.string() }) });
same<Infer<typeof described>["account"], { key: string }>(true);

interface Tree {
  name: string;
  children: Tree[];
}
interface PlannedTree {
  name: string | null;
  children?: (PlannedTree | null)[] | null;
}
const tree: Schema<Tree, PlannedTree> = s.object({
  name: s.string(),
  children: s.array(s.lazy("tree", () => tree)).default([]),
});
same<Infer<typeof tree>, Tree>(true);

const thing = resource({
  type: "thing",
  inputs,
  outputs,
  check({ inputs, previous }) {
    const { size, rules } = inputs.values;
    // @ts-expect-error it may be unknown, or missing
    size + 1;
    // @ts-expect-error any part of it may be unknown
    rules[0].port;
    same<typeof size, number | null | undefined>(true);
    // @ts-expect-error the connection is always the current one
    previous?.connection;
    if (inputs.values.exact === 0n) return;
    return { values: { ...inputs.values, size: previous?.values.size ?? 3 } };
  },
  name: ({ inputs }) => inputs.secrets.token,
  create({ inputs, name }) {
    const size: number = inputs.values.size;
    // @ts-expect-error it is a number
    const text: string = inputs.values.size;
    // @ts-expect-error the schema has no such input
    inputs.values.sice;
    // @ts-expect-error the driver describes no params
    inputs.params;
    // @ts-expect-error it may be missing or null
    inputs.values.region.length;
    // @ts-expect-error not a number, so that it keeps its digits
    inputs.values.exact + 1;
    if (inputs.values.region === null) throw pending(1000, "soon", { id: name, outputs: { id: name } });
    return { id: name, outputs: { id: name, size, key: text } };
  },
  read({ state }) {
    // @ts-expect-error it is missing after a checkpoint
    state?.outputs.id.length;
    // `create` returned the key.
    return { state: { id: "a", outputs: { id: "a" } }, values: { rules: [], tags: {} } };
  },
  updateImpact({ before, after }) {
    if (before.values.size !== after.values.size) return { replaces: ["/values/size"] };
  },
  update: ({ state, after }) => ({ ...state, outputs: { id: state.id, size: after.values.size } }),
  async delete({ inputs }) {
    inputs.secrets.token.length;
  },
  preview(effect) {
    // @ts-expect-error the effect may have no inputs of this name
    effect.inputs;
    if (effect.effect === "delete") return effect.dataLossAllowed ? { token: consent.token() } : undefined;
    const { size } = effect.effect === "create" ? effect.inputs.values : effect.after.values;
    same<typeof size, number | null | undefined>(true);
    return { outputs: { size: null }, unknown: ["/outputs/size"], parts: [{ address: "a", typeName: "b", action: "adopt" }] };
  },
});
// @ts-expect-error an output has another type
const other: Forecast<Infer<typeof outputs>> = { outputs: { size: "1" } };
// @ts-expect-error there is no such action
consent.reached("a", "replace");
const rest = { type: "thing", inputs, outputs, delete() {} } as const;
// @ts-expect-error an output is missing
resource({ ...rest, create: () => ({ id: "a", outputs: { id: "a" } }) });
// @ts-expect-error outputs are missing
resource({ ...rest, create: () => ({ id: "a" }) });
// @ts-expect-error an output has another type
resource({ ...rest, create: () => ({ id: 1, outputs: { id: "a", key: "k" } }) });
// @ts-expect-error there is no `delete`
resource({ type: "thing", inputs, outputs, create: () => ({ id: "a", outputs: { id: "a", key: "k" } }) });
// @ts-expect-error these are JSON Schemas
resource({ ...rest, inputs: { type: "object" }, create: () => ({ id: "a", outputs: { id: "a", key: "k" } }) });
// Without outputs, there are none to return.
resource({ type: "*", inputs: s.inputs({}), outputs: s.outputs({}), create: () => ({ id: "a" }), delete() {} });

// @ts-expect-error an option that strings do not have
s.string({ minimum: 1 });
// @ts-expect-error
s.integer().default("1");
// @ts-expect-error
s.enum(["a", "b"]).default("c");
// @ts-expect-error items cannot be left out
s.array(s.string().optional());
// @ts-expect-error a part is an object, which may have optional fields itself
s.inputs({ values: s.object({}).optional() });
// @ts-expect-error only HTTP has methods
s.string().reaches("tcp", { methods: ["GET"] });

export default driver({ name: "acme/thing", version: "1.0.0", description: "A thing.", types: [thing] });
export { back, other, planned, plannedBack, values };
