// The types of drivers. The contract in `wit/` explains each field.

/** An integer beyond 2^53 - 1 is a `bigint`, so that it keeps its digits. */
export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json };
export type Document = { [name: string]: any };
type Maybe<T> = T | Promise<T>;

export interface Context {
  org?: string;
  app: string;
  env: string;
  envType: string;
  namespace?: string;
  deployment: string;
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

export interface Inputs<Values = any, Secrets = any, Params = any, Connection = any> {
  values: Values;
  secrets: Secrets;
  params: Params;
  connection: Connection;
  account: { name?: string };
  unknown: string[];
  sensitive: string[];
}

export interface ManifestFile {
  name: string;
  location: string;
  data: Json;
}

/** A driver's result for a resource. */
export interface State {
  id: string;
  outputs?: Document;
  secrets?: Document;
  cookie?: Uint8Array;
  manifests?: ManifestFile[];
  /** Pointers into `{"outputs":…,"manifests":{NAME: data}}`. */
  sensitive?: string[];
  version?: number;
  notes?: Record<string, Json>;
}

export interface Call {
  idempotencyKey: string;
  /** Milliseconds since 1970. */
  deadline: number;
  hints: Record<string, Json>;
}

export interface CheckRequest<I = Inputs> {
  subject: Subject;
  inputs: I;
  previous?: I;
  call: Call;
}

export interface NameRequest<I = Inputs> {
  subject: Subject;
  inputs: I;
  call: Call;
}

export interface CreateRequest<I = Inputs> {
  subject: Subject;
  inputs: I;
  name: string;
  replaces?: string;
  call: Call;
}

export interface ReadRequest<I = Inputs> {
  subject: Subject;
  id?: string;
  name: string;
  inputs: I;
  state?: Required<State>;
  known: string[];
  call: Call;
}

export interface Change<I = Inputs> {
  subject: Subject;
  state: Required<State>;
  before: I;
  after: I;
  name: string;
  call: Call;
}

export interface DeleteRequest<I = Inputs> {
  subject: Subject;
  state: Required<State>;
  inputs: I;
  dataLossAllowed: boolean;
  call: Call;
}

/** Something about one input. */
export interface Finding {
  pointer: string;
  message: string;
}

export interface Checked {
  values: Document;
  secrets: Document;
  warnings?: Finding[];
}

export interface Observed {
  state: State;
  values?: Document;
}

export interface Impact {
  replaces?: string[];
  deleteBeforeReplace?: boolean;
  /** Pointers into `{"outputs":…,"secrets":…}`. */
  stableOutputs?: string[];
}

export interface TypeSchema {
  /** The type, or `*` for every other one. */
  typeName: string;
  /** A JSON Schema. */
  inputs: object;
  /** A JSON Schema. */
  outputs: object;
  /** A promise: `create`, called again with the same idempotency key, creates nothing twice. */
  repeatCreate?: boolean;
}

export type Capability = "http" | "tcp" | "udp" | "dns" | "env" | "dirs" | "secrets" | (string & {});

export interface RequestedCapability {
  capability: Capability;
  /** Without it, the inputs decide. */
  pattern?: string;
  reason: string;
}

export interface DriverInfo {
  /** `ORG/NAME`. */
  name: string;
  version: string;
  description: string;
  requestedCapabilities?: RequestedCapability[];
  /** Anything else for people, such as `homepage` or `license`. */
  notes?: Record<string, Json>;
}

/** The life of the resources of one type. The host works without functions that it lacks. */
export interface ResourceType<I = Inputs> {
  type: TypeSchema;
  check?(request: CheckRequest<I>): Maybe<Checked>;
  name?(request: NameRequest<I>): Maybe<string>;
  create(request: CreateRequest<I>): Maybe<State>;
  /**
   * `undefined` if the system shows nothing. Purlin believes that only once the grace of the driver has
   * passed. A driver that cannot look throws a failure.
   */
  read?(request: ReadRequest<I>): Maybe<Observed | undefined>;
  updateImpact?(change: Change<I>): Maybe<Impact>;
  update?(change: Change<I>): Maybe<State>;
  delete(request: DeleteRequest<I>): Maybe<void>;
}

/** A driver of one type: the default export of its module. */
export interface Driver<I = Inputs> extends ResourceType<I> {
  info: DriverInfo;
}

/** A driver of several types: the default export of its module. */
export interface DriverOfTypes {
  info: DriverInfo;
  types: ResourceType<any>[];
}

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
export function isUnknown(inputs: Pick<Inputs, "unknown">, pointer: string): boolean;

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
