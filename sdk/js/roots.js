// The schemas of inputs and outputs as a whole, as the contract has them.

import { invalidInputs } from "./failures.js";
import { Reading } from "./reading.js";
import { fail, further, holding, wholeOf, write } from "./schema.js";

/** The parts of inputs, and whether one that a driver does not describe has to be empty. */
const PARTS = { values: true, secrets: true, params: false, connection: true, account: false };
const EMPTY = { type: "object", properties: {}, additionalProperties: false };
const SOURCES = ["inputs", "computed"];

/** The JSON Schema of a whole, which `compose` writes. */
function whole(of, rules, compose) {
  const definitions = new Map();
  const own = compose({ of, definitions });
  const shared = Object.fromEntries([...definitions].map(([name, { rules }]) => [name, rules]));
  return { ...own, ...rules, ...(definitions.size > 0 && { $defs: shared }) };
}

/** What `s.inputs` makes. */
export class InputsSchema {
  /** @param parts the schemas by their names, a `Map` @param rules keywords of the whole */
  constructor(parts, rules = {}) {
    const place = "s.inputs";
    for (const [name, part] of parts) {
      if (!Object.hasOwn(PARTS, name))
        fail(place, `\`${name}\` is not a part of inputs; they are ${Object.keys(PARTS).join(", ")}`);
      wholeOf(part, `${place}: \`${name}\``);
      if (!part.kind.isObject || part.marks.nullable)
        fail(place, `\`${name}\` has to be an object, such as \`s.object({…})\``);
    }
    this.parts = parts;
    this.rules = rules;
    this.json = whole("inputs", rules, (context) => {
      const names = Object.keys(PARTS).filter((name) => parts.has(name) || PARTS[name]);
      const properties = names.map((name) => [
        name,
        parts.has(name) ? write(parts.get(name), `inputs.${name}`, context) : EMPTY,
      ]);
      const required = properties.filter(([, { required }]) => required).map(([name]) => name);
      return { type: "object", properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) };
    });
    Object.freeze(this);
  }

  holdsData(what) {
    return new InputsSchema(this.parts, { ...this.rules, ...holding(what, "s.inputs.holdsData") });
  }

  keywords(more) {
    return new InputsSchema(this.parts, { ...this.rules, ...further(more, "s.inputs.keywords") });
  }

  /**
   * Inputs as the schema has them, without parts that it does not describe, but for the account. Faults are thrown,
   * unless the inputs are `recorded`: an earlier version of the driver may have recorded others.
   */
  read({ unknown, sensitive, ...given }, { fill = true, recorded = false } = {}) {
    const reading = new Reading({ unknown, fill });
    const parts = [...this.parts].map(([name, part]) => [name, reading.read(part, given[name], `/${name}`)]);
    if (reading.faults.length > 0 && !recorded) throw invalidInputs(...reading.faults);
    return { account: given.account, ...Object.fromEntries(parts), unknown, sensitive };
  }
}

/** What `s.outputs` makes. */
export class OutputsSchema {
  /** @param schema the object of the outputs @param rules keywords of the whole */
  constructor(schema, rules = {}) {
    this.schema = schema;
    this.rules = rules;
    this.json = whole("outputs", rules, (context) => write(schema, "outputs", context));
    Object.freeze(this);
  }

  source(source) {
    const place = "s.outputs.source";
    if (!SOURCES.includes(source)) fail(place, `has to be one of ${SOURCES.join(", ")}`);
    return new OutputsSchema(this.schema, { ...this.rules, "x-purlin-outputs": source });
  }

  keywords(more) {
    return new OutputsSchema(this.schema, { ...this.rules, ...further(more, "s.outputs.keywords") });
  }

  /**
   * A recorded state with all outputs that the schema names in `outputs`, whichever of them the host keeps secret. An
   * earlier version of the driver may have recorded others.
   */
  join({ outputs, secrets, ...state }) {
    const isNamed = ([name]) => this.schema.kind.fields.has(name);
    const pairs = Object.entries(secrets);
    const all = Object.fromEntries([...Object.entries(outputs), ...pairs.filter(isNamed)]);
    return {
      ...state,
      outputs: new Reading().read(this.schema, all, ""),
      secrets: Object.fromEntries(pairs.filter((pair) => !isNamed(pair))),
    };
  }

  /** The outputs of a state or a forecast, with those in `secrets` that the schema declares secret. */
  split({ outputs = {}, secrets = {}, sensitive = [] }) {
    const stray = Object.keys(secrets).find((name) => Object.hasOwn(outputs, name));
    if (stray !== undefined) fail("the answer", `\`${stray}\` is in \`outputs\` and in \`secrets\``);
    const isSecret = (name) => this.schema.kind.fields.get(name)?.rules.writeOnly === true;
    const pairs = Object.entries(outputs);
    return {
      outputs: Object.fromEntries(pairs.filter(([name]) => !isSecret(name))),
      secrets: Object.fromEntries([...Object.entries(secrets), ...pairs.filter(([name]) => isSecret(name))]),
      // All of a secret output is secret.
      sensitive: sensitive.filter((pointer) => !isSecret(outputOf(pointer))),
    };
  }

  /** Pointers into outputs as pointers into the outputs and the secrets that the host keeps. */
  places(pointers, secrets) {
    return pointers.flatMap((pointer) => {
      if (pointer === "/outputs") return ["/outputs", "/secrets"];
      return [Object.hasOwn(secrets, outputOf(pointer)) ? pointer.replace("/outputs", "/secrets") : pointer];
    });
  }
}

/** The name of the output that a pointer is in. */
function outputOf(pointer) {
  const [, part, name = ""] = pointer.split("/");
  return part === "outputs" ? name.replaceAll("~1", "/").replaceAll("~0", "~") : "";
}
