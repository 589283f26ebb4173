// The types of drivers. The contract in `wit/` explains each field.

import type { About, Infer, InputsSchema, Later, OutputsSchema, Planned } from "./schema.js";

export { s } from "./schema.js";
export type { HttpMethod, Infer, InputsSchema, Later, OutputsSchema, Planned, Schema } from "./schema.js";

/** An integer beyond 2^53 - 1 is a `bigint`, so that it keeps its digits. */
export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json };
export type Document = { [name: string]: any };
export type Maybe<T> = T | Promise<T>;

export interface Context {
  org?: string;
  app: string;
  env: string;
  envType: string;
  namespace?: string;
  labels: Record<string, string>;
}

/** The resource that a call is about. */
export interface Subject {
  urn: string;
  guresid: string;
  typeName: string;
  class: string;
  localName: string;
  context: Context;
}

export interface ManifestFile {
  name: string;
  location: string;
  data: Json;
}

interface Stored {
  id: string;
  cookie?: Uint8Array;
  manifests?: ManifestFile[];
  /** Pointers into `{"outputs":…,"manifests":{NAME: data}}`. */
  sensitive?: string[];
  version?: number;
  notes?: Record<string, Json>;
}

/** A driver's result for a resource. The SDK keeps those outputs apart that the schema declares secret. */
export interface State<O = Document> extends Stored {
  outputs?: O;
  /** Secret outputs that the schema does not name. */
  secrets?: Document;
}

/** A state that is complete: with all outputs that have to be there. */
export type Complete<O> = {} extends O ? State<O> : State<O> & { outputs: O };

/** What the host recorded. After a checkpoint, or from an earlier version of the driver, outputs may be missing. */
export type Recorded<O = Document> = Required<Stored> & { outputs: Partial<O>; secrets: Document };

export interface Call {
  idempotencyKey: string;
  /** Milliseconds since 1970. */
  deadline: number;
  hints: Record<string, Json>;
}

/**
 * A value that is not known yet is `null`, and listed in `inputs.unknown`; so every value may be `null` here. A value
 * with a default is missing if the resource was created without it.
 */
export interface CheckRequest<I = InputsSchema> {
  subject: Subject;
  inputs: Planned<I>;
  /** The inputs of the last provisioning. */
  previous?: Omit<Infer<I>, "connection" | "account">;
  call: Call;
}

export interface NameRequest<I = InputsSchema> {
  subject: Subject;
  inputs: Infer<I>;
  call: Call;
}

export interface CreateRequest<I = InputsSchema> {
  subject: Subject;
  inputs: Infer<I>;
  name: string;
  replaces?: string;
  call: Call;
}

export interface ReadRequest<I = InputsSchema, O = OutputsSchema> {
  subject: Subject;
  id?: string;
  name: string;
  /** As recorded, perhaps by an earlier version of the driver. In an import, inputs that are yet to be drawn are missing. */
  inputs: Infer<I>;
  state?: Recorded<Infer<O>>;
  known: string[];
  call: Call;
}

/** A change that is planned. As in `check`, every value may be `null`, since it may be unknown. */
export interface PlannedChange<I = InputsSchema, O = OutputsSchema> {
  subject: Subject;
  state: Recorded<Infer<O>>;
  /** As recorded, perhaps by an earlier version of the driver. */
  before: Infer<I>;
  after: Planned<I>;
  name: string;
  call: Call;
}

export interface Change<I = InputsSchema, O = OutputsSchema> {
  subject: Subject;
  state: Recorded<Infer<O>>;
  /** As recorded, perhaps by an earlier version of the driver. */
  before: Infer<I>;
  after: Infer<I>;
  name: string;
  call: Call;
}

export interface DeleteRequest<I = InputsSchema, O = OutputsSchema> {
  subject: Subject;
  state: Recorded<Infer<O>>;
  /** As recorded, perhaps by an earlier version of the driver. */
  inputs: Infer<I>;
  dataLossAllowed: boolean;
  call: Call;
}

/** Something about one input. */
export interface Finding {
  pointer: string;
  message: string;
}

type Group<T, Name extends string> = Name extends keyof T ? T[Name] : Document;
type Partly<T> = T extends object ? (T extends readonly unknown[] ? T : { [K in keyof T]?: Partly<T[K]> }) : T;

/** What is left out stays as it is. */
export interface Checked<I = InputsSchema> {
  values?: Group<Planned<I>, "values">;
  secrets?: Group<Planned<I>, "secrets">;
  warnings?: Finding[];
}

export interface Observed<I = InputsSchema, O = OutputsSchema> {
  state: Complete<Later<O>>;
  /** Without values that the driver cannot determine. */
  values?: Partly<Group<Infer<I>, "values">>;
}

export interface Impact {
  replaces?: string[];
  deleteBeforeReplace?: boolean;
  /** Pointers into `{"outputs":…,"secrets":…}`; `outputs` has all that the schema names, also secret ones. */
  stableOutputs?: string[];
}

/**
 * An effect that may follow: the request that its function would get. As in `check`, every value may be `null`, since
 * it may be unknown. The idempotency key is empty, and a new resource whose inputs are unknown has no name yet (an
 * empty one).
 */
export type Effect<I = InputsSchema, O = OutputsSchema> =
  | (Omit<CreateRequest<I>, "inputs"> & { effect: "create"; inputs: Planned<I> })
  | (PlannedChange<I, O> & { effect: "update" })
  | (DeleteRequest<I, O> & { effect: "delete" });

/**
 * What happens to a part. `none`: nothing but another address; `read`: it is only read; `adopt`: an existing object
 * becomes this part; `forget`: it stays, and the resource no longer has it.
 */
export type Action =
  | "none"
  | "create"
  | "read"
  | "update"
  | "create-then-delete"
  | "delete-then-create"
  | "delete"
  | "adopt"
  | "forget";

/** One of the objects that a resource consists of, and what happens to it. */
export interface Part {
  /** Within the resource: 1 to 4096 bytes, the same in every forecast, and of no other part. */
  address: string;
  /** Its address so far, if the effect changes that. */
  movedFrom?: string;
  /** In the driver's words, such as `aws_subnet`. */
  typeName: string;
  action: Action;
  /** Its attributes so far, and afterwards, with `null` in unknown places; left out if there are none to show. */
  before?: unknown;
  after?: unknown;
  /** Places that are unknown, as pointers into `{"before":…,"after":…}`. */
  unknown?: string[];
  /** Places that hold secrets. */
  sensitive?: string[];
  /** Places that make a replacement necessary. */
  replaces?: string[];
  /** The data that is lost if the part is deleted or replaced; left out if it holds no data. */
  holdsData?: string;
  /** Anything else for people, such as `reason`. */
  notes?: Record<string, Json>;
}

type Certain<T> = T extends readonly (infer E)[]
  ? (Certain<E> | null)[]
  : T extends object
    ? { [K in keyof T]?: Certain<T[K]> | null }
    : T;

/** What an effect would make. What is left out is not promised. */
export interface Forecast<O = Document> {
  /** Outputs that are certain, also secret ones. Each is a promise that the host checks after the effect. */
  outputs?: Certain<O>;
  /** Secret outputs that the schema does not name. */
  secrets?: Document;
  /** Places within these outputs that are not certain, and are `null` there, such as `/outputs/urls/0`. */
  unknown?: string[];
  /** Places within them that hold secrets besides, as in a state. */
  sensitive?: string[];
  /** The parts to which something happens, at most 10,000. */
  parts?: Part[];
  /** What ties the effect to this forecast, if all inputs are known: `consent.token()` returns it. */
  token?: Uint8Array;
  /** Anything else for people. */
  notes?: Record<string, Json>;
}

export type Capability = "http" | "tcp" | "udp" | "dns" | "env" | "dirs" | "secrets" | (string & {});

export interface RequestedCapability {
  capability: Capability;
  /** Without it, the inputs decide. */
  pattern?: string;
  reason: string;
}

/** The life of the resources of one type. The host works without functions that it lacks. */
export interface ResourceType<I extends InputsSchema = any, O extends OutputsSchema = any> {
  /** The type, or `*` for every other one. */
  type: string;
  inputs: I;
  outputs: O;
  /** A promise: `create`, called again with the same idempotency key, creates nothing twice. */
  repeatCreate?: boolean;
  check?(request: CheckRequest<I>): Maybe<Checked<I> | void>;
  name?(request: NameRequest<I>): Maybe<string>;
  create(request: CreateRequest<I>): Maybe<Complete<Infer<O>>>;
  /**
   * `undefined` if the system shows nothing. Purlin believes that only once the grace of the driver has
   * passed. A driver that cannot look throws a failure.
   */
  read?(request: ReadRequest<I, O>): Maybe<Observed<I, O> | undefined>;
  updateImpact?(change: PlannedChange<I, O>): Maybe<Impact | void>;
  update?(change: Change<I, O>): Maybe<Complete<Later<O>>>;
  /** What an effect would make, which plans show. The build needs the option `preview`. */
  preview?(effect: Effect<I, O>): Maybe<Forecast<Infer<O>> | void>;
  delete(request: DeleteRequest<I, O>): Maybe<void>;
}

/** Declares a resource type. Its functions get the types that its inputs and outputs describe. */
export function resource<I extends InputsSchema, O extends OutputsSchema>(type: ResourceType<I, O>): ResourceType<I, O>;

export interface Driver {
  /** `ORG/NAME`. */
  name: string;
  version: string;
  description: string;
  types: ResourceType[];
  requestedCapabilities?: RequestedCapability[];
  /** Anything else for people, such as `homepage` or `license`. */
  notes?: Record<string, Json>;
}

/** Declares a driver, the default export of its module. A call goes to the type of its resource, else to `*`. */
export function driver(about: Driver): Driver;

export type FailureTag =
  | "invalid-inputs"
  | "denied"
  | "not-found"
  | "conflict"
  | "retry-after"
  | "pending"
  | "partial"
  | "failed"
  | "undecided"
  | "needs-delete-before";

/** Facts about a failure for people, by name, such as `code`, `status` and `request-id`. */
export type Details = Record<string, string>;

/**
 * Why a call failed. Throw one only if it is certain that nothing was changed, `partial` if something was and
 * the rest failed, or `pending` if nothing failed but it is not done yet.
 */
export class Failure extends Error {
  constructor(tag: FailureTag, val: unknown, message: string);
  readonly payload: { tag: FailureTag; val: any };
  /** To which a driver may add. Not every kind has them. */
  readonly details?: Details;
}

export function invalidInputs(...faults: Finding[]): Failure;
export function denied(capability: Capability, target: string, message: string): Failure;
export function notFound(message: string, details?: Details): Failure;
export function conflict(message: string, details?: Details): Failure;
export function retryAfter(afterMs: number, message: string): Failure;
/** From `create` and `update` with the state, from `read` with or without it, from `delete` without it. */
export function pending(afterMs: number, message: string, state?: State): Failure;
export function partial(state: State, message: string, details?: Details): Failure;
export function failed(message: string, details?: Details): Failure;
export function undecided(message: string, details?: Details): Failure;
export function needsDeleteBefore(message: string, details?: Details): Failure;

/** Collects all faults, so that they are reported at once. */
export class Faults extends Array<Finding> {
  add(pointer: string, message: string): void;
  check(): void;
}

/** Whether a place in the inputs, or one around it, is unknown. */
export function isUnknown(inputs: Pick<About, "unknown">, pointer: string): boolean;

/** Files in granted folders. Errors have WASI's name as `code`. */
export interface Files {
  has(folder: string): boolean;
  read(path: string): Uint8Array;
  write(path: string, bytes: Uint8Array): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
}

/** The host's functions for a driver. */
export interface Host {
  /** In tests: the driver's messages. */
  messages: unknown[][];
  log(level: "trace" | "debug" | "info" | "warn" | "error", message: string): void;
  /** Only in `create` and `update`. */
  checkpoint(id: string, cookie?: Uint8Array): void;
  progress(message: string, percent?: number): void;
  count(name: string, by?: number): void;
  measure(name: string, value: number): void;
  cancelled(): boolean;
  /** Milliseconds until the host ends the call. */
  timeLeft(): number;
  /** In tests: provided by the test. */
  files: Files;
}

export const host: Host;

/** What people agreed to, for `create`, `update` and `delete` of a type with a preview. */
export interface Consent {
  /** In tests: the token. */
  agreed?: Uint8Array;
  /**
   * The token of the forecast that people agreed to; `undefined` if there is none, and in a function without effects.
   * If the system has changed since, throw `conflict`.
   */
  token(): Uint8Array | undefined;
  /** Shows people that a part is done. In tests, `host.messages` has it. */
  reached(address: string, action: Action): void;
}

export const consent: Consent;

/** Why a request has no answer. */
export type HttpErrorKind = "denied" | "unusable" | "unreachable" | "untrusted" | "lost" | "too-large";

/** There is no answer to a request: the error of `fetch` in a component. */
export class HttpError extends TypeError {
  readonly kind: HttpErrorKind;
  /** Method and URL, without a query. */
  readonly target: string;
  readonly reason: string;
  /** Whether the request may have been carried out. */
  readonly carriedOut: boolean;
  /** Its failure, in a function that `changes` something or in another. */
  failure(changes: boolean): Failure;
}

/** `largest`: the maximum number of bytes of an answer's body. */
export const limits: { largest: number };
