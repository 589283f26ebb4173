// The types of drivers. The contract in `wit/` explains each field.

/** An integer beyond 2^53 - 1 is a `bigint`, so that it keeps its digits. */
export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json };
export type Document = { [name: string]: any };
type Maybe<T> = T | Promise<T>;

export interface Context {
  org: string;
  app: string;
  env: string;
  envType: string;
  namespace: string;
  deployment: string;
}

export interface Resource {
  urn: string;
  guresid: string;
  typeName: string;
  class: string;
  id: string;
  context: Context;
}

export interface Inputs<Values = any, Secrets = any, Params = any, Connection = any> {
  values: Values;
  secrets: Secrets;
  params: Params;
  connection: Connection;
  account?: string;
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
}

export interface Call {
  idempotencyKey: string;
  /** Milliseconds since 1970. */
  deadline: number;
}

export interface CheckRequest<I = Inputs> {
  resource: Resource;
  inputs: I;
  previous?: Document;
}

export interface NameRequest<I = Inputs> {
  resource: Resource;
  inputs: I;
}

export interface CreateRequest<I = Inputs> {
  resource: Resource;
  inputs: I;
  name: string;
  replaces?: string;
  call: Call;
}

export interface ReadRequest<I = Inputs> {
  resource: Resource;
  id?: string;
  name: string;
  inputs: I;
  state?: Required<State>;
  known: string[];
  call: Call;
}

export interface Change<I = Inputs> {
  resource: Resource;
  state: Required<State>;
  before: I;
  after: I;
  name: string;
  call: Call;
}

export interface DeleteRequest<I = Inputs> {
  resource: Resource;
  state: Required<State>;
  inputs: I;
  call: Call;
}

export interface Fault {
  pointer: string;
  message: string;
}

export interface Checked {
  values: Document;
  secrets: Document;
  warnings?: Fault[];
}

export interface Observed {
  state: State;
  values?: Document;
}

export interface Impact {
  replaces?: string[];
  deleteBeforeReplace?: boolean;
  stableOutputs?: string[];
}

export interface TypeSchema {
  typeName: string;
  /** A JSON Schema. */
  inputs: object;
  /** A JSON Schema. */
  outputs: object;
}

export type Capability = "http" | "tcp" | "udp" | "dns" | "env" | "dirs" | "secrets";

export interface RequestedCapability {
  capability: Capability;
  pattern: string;
  reason: string;
}

export interface Manifest {
  /** `ORG/NAME`. */
  name: string;
  version: string;
  description: string;
  types: TypeSchema[];
  requestedCapabilities?: RequestedCapability[];
  /** A promise: `create`, called again with the same idempotency key, creates nothing twice. */
  repeatCreate?: boolean;
}

/** A driver: the default export of its module. The host works without functions that it lacks. */
export interface Driver<I = Inputs> {
  manifest: Manifest;
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

export type FailureTag =
  | "invalid-inputs"
  | "denied"
  | "not-found"
  | "conflict"
  | "retry-after"
  | "partial"
  | "failed"
  | "undecided"
  | "needs-delete-before";

/**
 * Why a call failed. Throw one only if it is certain that nothing was changed, or `partial` if
 * something was.
 */
export class Failure extends Error {
  constructor(tag: FailureTag, val: unknown, message: string);
  readonly payload: { tag: FailureTag; val: any };
}

export function invalidInputs(...faults: Fault[]): Failure;
export function denied(capability: Capability, target: string, message: string): Failure;
export function notFound(message: string): Failure;
export function conflict(message: string): Failure;
export function retryAfter(afterMs: number, message: string): Failure;
export function partial(state: State, message: string): Failure;
export function failed(message: string): Failure;
export function undecided(message: string): Failure;
export function needsDeleteBefore(message: string): Failure;

/** Collects all faults, so that they are reported at once. */
export class Faults extends Array<Fault> {
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
  checkpoint(id: string): void;
  progress(message: string, percent?: number): void;
  count(name: string, by?: number): void;
  measure(name: string, value: number): void;
  cancelled(): boolean;
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
