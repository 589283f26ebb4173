// The inputs of the driver, and the responses of the API.

import type { Inputs as Given } from "@purlin/driver";

export interface Values {
  name: string;
  region: string;
  size: number;
}

export interface Connection {
  server: string;
  token: string;
}

export type Inputs = Given<Values, {}, {}, Connection>;

export interface Project extends Values {
  id: string;
  /** Which resource it belongs to. Names are not unique. */
  owner?: string;
  /** What the API is doing with it. */
  status?: string;
  /** Milliseconds after which to look again, if it is not ready. */
  pendingMs?: number;
}

/** A project that was just created. Its token is shown only now. */
export interface Created extends Project {
  token?: string;
}
