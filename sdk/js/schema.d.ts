// The types of the builder `s`, and the types that it gives inputs and outputs.

import type { Json } from "./index.js";

declare const about: unique symbol;

/** How a field may be missing: always, when the host fills it in, or once `create` has returned it. */
type Mark = "optional" | "default" | "once";

/**
 * The schema of a value of type `T`. `P` is the type while a plan is made, when some of it may be unknown. Each method
 * returns another schema.
 */
export interface Schema<T = unknown, P = unknown, M extends Mark = never> {
  readonly [about]: { type: T; planned: P; marks: M };
  /** Says what it is, for people. */
  describe(text: string): this;
  /** Values that fit, for people. */
  example(...values: P[]): this;
  /** The field can be left out. */
  optional(): Schema<T, P, M | "optional">;
  /** The value can be `null`. */
  nullable(): Schema<T | null, P | null, M>;
  /**
   * The field can be left out; the value is then this one. The host fills it in for new resources in `values` and
   * `connection`, and shows it. The SDK fills in all others, in every function but `check`.
   */
  default(value: P): Schema<T, P, M | "default">;
  /** People should not use it any more. */
  deprecated(): this;
  /** It is a secret: an input outside of `secrets`, or an output. */
  secret(): this;
  /** Inputs: a change replaces the resource. In `connection`, it identifies the system. */
  replaces(): this;
  /** Inputs: a change is rejected in the plan. */
  immutable(): this;
  /** Inputs: deleting a resource that has this input loses data, which the text names. */
  holdsData(what?: string): this;
  /** Inputs: the driver reaches the value, so that plans name missing grants: a URL, a server, a path. */
  reaches(target: "http", options?: { methods?: (string | HttpMethod)[] }): this;
  reaches(target: "tcp", options?: { port?: number }): this;
  reaches(target: "dir"): this;
  /** Outputs: only `create` returns it, and the host keeps it. */
  writeOnce(): Schema<T, P, M | "once">;
  /** Further keywords of JSON Schema 2020-12, such as `not` or `dependentRequired`. */
  keywords(more: { [keyword: string]: Json }): this;
}

/** A request that the driver sends to a URL. All places are JSON pointers into the inputs. */
export interface HttpMethod {
  method?: string;
  /** The place of an input that names another method. */
  at?: string;
  /** The place of an input that must be set. */
  if?: string;
  /** Places of inputs, with the values for which it is not sent. */
  unless?: { [place: string]: Json };
  /** Whether it is sent only to change or to delete the resource. */
  later?: boolean;
}

interface StringOptions {
  minLength?: number;
  maxLength?: number;
  /** Without flags, look-around and back references. */
  pattern?: RegExp | string;
  /** The host checks these; any other format is for people. */
  format?: "date" | "date-time" | "email" | "hostname" | "ipv4" | "ipv6" | "uri" | "uuid" | (string & {});
}

interface NumberOptions<N> {
  minimum?: N;
  maximum?: N;
  exclusiveMinimum?: N;
  exclusiveMaximum?: N;
  multipleOf?: N;
}

interface ObjectOptions {
  minProperties?: number;
  maxProperties?: number;
}

type Any = Schema<any, any, Mark>;
type Fields = { [name: string]: Any };
type TypeOf<S> = S extends { readonly [about]: { type: infer T } } ? T : never;
type PlannedOf<S> = S extends { readonly [about]: { planned: infer P } } ? P : never;
/** The fields that may be missing for one of these reasons. */
type Marked<F, M extends Mark> = {
  [K in keyof F]: F[K] extends { readonly [about]: { marks: infer N } }
    ? Extract<N, M> extends never
      ? never
      : K
    : never;
}[keyof F];
type Flat<T> = { [K in keyof T]: T[K] } & {};
/** An object with fields, of which some may be missing. */
type Read<F, Missing extends keyof F> = Flat<
  { [K in Exclude<keyof F, Missing>]: TypeOf<F[K]> } & { [K in Missing]?: TypeOf<F[K]> }
>;
type Plan<F, Missing extends keyof F = Marked<F, "optional" | "default">> = Flat<
  { [K in Exclude<keyof F, Missing>]: PlannedOf<F[K]> | null } & { [K in Missing]?: PlannedOf<F[K]> | null }
>;

/** Facts about inputs, in every request. */
export interface About {
  /** The account that the definition names, empty if it names none: only its name, unless the driver describes it. */
  account: { name?: string };
  /** Pointers to places that are `null` since they are not known yet, in `check`, `updateImpact` and `preview` only. */
  unknown: string[];
  /** Pointers to places outside of `secrets` that hold secrets. */
  sensitive: string[];
}

/** Inputs with these parts. */
type Whole<Parts> = Flat<Parts & Omit<About, keyof Parts>>;

/** What `s.inputs` makes: `T` are the inputs, and `P` the inputs while a plan is made. */
export interface InputsSchema<T = any, P = any> {
  readonly [about]: { type: T; planned: P };
  /** The JSON Schema. */
  readonly json: { [keyword: string]: Json };
  /** Deleting any resource of the type loses data, which the text names. */
  holdsData(what?: string): this;
  /** Further keywords for the whole, such as `oneOf`. */
  keywords(more: { [keyword: string]: Json }): this;
}

/** What `s.outputs` makes: `T` is what `create` returns, and `L` what `update` and `read` return. */
export interface OutputsSchema<T = any, L = any> {
  readonly [about]: { type: T; later: L };
  /** The JSON Schema. */
  readonly json: { [keyword: string]: Json };
  /** The outputs are values and secrets unchanged, or are computed from the inputs without any effect. */
  source(source: "inputs" | "computed"): this;
  /** Further keywords for the whole, such as `oneOf`. */
  keywords(more: { [keyword: string]: Json }): this;
}

/** The type of what a schema describes. */
export type Infer<S> = TypeOf<S>;
/** The same while a plan is made: each value may be `null`, since it is unknown, and defaults may be missing. */
export type Planned<S> = PlannedOf<S>;
/** Outputs of `update` and `read`: those that only `create` returns may be missing. */
export type Later<S> = S extends { readonly [about]: { later: infer L } } ? L : never;

/** The builder: a function for each kind of value. */
export const s: {
  string(options?: StringOptions): Schema<string, string>;
  boolean(): Schema<boolean, boolean>;
  /** A number of 64 bits. An integer beyond 2^53 - 1 is rejected, since it would be rounded. */
  number(options?: NumberOptions<number>): Schema<number, number>;
  /** An integer from -(2^53 - 1) to 2^53 - 1. */
  integer(options?: NumberOptions<number>): Schema<number, number>;
  /** An integer from -2^63 to 2^64 - 1, a `bigint` whatever its size. */
  bigint(options?: NumberOptions<number | bigint>): Schema<bigint, bigint>;
  /** One of several strings, numbers or booleans. */
  enum<const V extends readonly string[] | readonly number[] | readonly boolean[]>(
    values: V,
  ): Schema<V[number], V[number]>;
  array<T, P>(
    item: Schema<T, P>,
    options?: { minItems?: number; maxItems?: number; uniqueItems?: boolean },
  ): Schema<T[], (P | null)[]>;
  /** An object with these fields and, if `additionalProperties` is true, any others. */
  object<F extends Fields>(
    fields: F,
    options: ObjectOptions & { additionalProperties: true },
  ): Schema<Read<F, Marked<F, "optional">> & { [name: string]: unknown }, Plan<F> & { [name: string]: unknown }>;
  object<F extends Fields>(
    fields: F,
    options?: ObjectOptions & { additionalProperties?: false },
  ): Schema<Read<F, Marked<F, "optional">>, Plan<F>>;
  /** An object with any names, or those that match `names`. */
  record<T, P>(
    item: Schema<T, P>,
    options?: ObjectOptions & { names?: RegExp | string },
  ): Schema<{ [name: string]: T }, { [name: string]: P | null }>;
  /** A value of one of several forms. The host fills in no defaults there. */
  union<const S extends readonly [Schema<any, any>, Schema<any, any>, ...Schema<any, any>[]]>(
    ...forms: S
  ): Schema<TypeOf<S[number]>, PlannedOf<S[number]>>;
  /** A schema that contains itself. `make` returns it, and the name is for the JSON Schema. */
  lazy<T, P>(name: string, make: () => Schema<T, P>): Schema<T, P>;
  /** Any JSON. */
  any(): Schema<Json, Json>;
  /** A JSON Schema 2020-12 as it is, for what the builder cannot say. The host checks its values, and the SDK only their `type`. */
  schema<T = Json>(rules: { [keyword: string]: Json }): Schema<T, T>;
  /** The inputs. A driver gets the parts that it describes; `values`, `secrets` and `connection` otherwise must be empty. */
  inputs<F extends { [Part in "values" | "secrets" | "params" | "connection" | "account"]?: Schema<any, any> }>(
    parts: F,
  ): InputsSchema<Whole<{ [K in keyof F]: TypeOf<F[K]> }>, Whole<{ [K in keyof F]: PlannedOf<F[K]> }>>;
  /** The outputs, secret ones included. */
  outputs<F extends Fields>(
    fields: F,
    options: ObjectOptions & { additionalProperties: true },
  ): OutputsSchema<
    Read<F, Marked<F, "optional">> & { [name: string]: unknown },
    Read<F, Marked<F, "optional" | "once">> & { [name: string]: unknown }
  >;
  outputs<F extends Fields>(
    fields: F,
    options?: ObjectOptions & { additionalProperties?: false },
  ): OutputsSchema<Read<F, Marked<F, "optional">>, Read<F, Marked<F, "optional" | "once">>>;
};
