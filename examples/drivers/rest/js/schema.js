// @ts-check
// The inputs and outputs of the driver. Purlin validates inputs, fills in defaults, keeps secrets, and decides which
// changes replace. So there is no `check`, and no `updateImpact`.

import { s } from "@purlin/driver";

const region = s.enum(["eu", "us"]);

export const inputs = s.inputs({
  values: s.object({
    name: s
      .string({ pattern: /^[a-z0-9][a-z0-9-]{0,62}$/ })
      .replaces()
      .describe("The project's name. A change replaces the project."),
    region: region.default("eu").immutable().describe("The region of the project. It cannot be changed."),
    size: s.integer({ minimum: 1, maximum: 1000 }).default(1).describe("The number of seats."),
  }),
  // The current connection to the API, also in `read` and `delete`.
  connection: s.object({
    server: s
      .string({ pattern: /^https?:\/\/[^/?#]+(\/[^?#]*)?$/ })
      .replaces()
      // So a plan names all grants that are missing.
      .reaches("http", { methods: ["POST", ...["GET", "PATCH", "DELETE"].map((method) => ({ method, later: true }))] })
      .describe("The URL of the API, such as `https://api.example/v1`."),
    token: s.string({ minLength: 1 }).secret().describe("The token of the API."),
  }),
});

export const outputs = s.outputs({
  id: s.string().describe("The project's id in the API."),
  name: s.string().describe("The project's name."),
  region: region.describe("The region of the project."),
  size: s.integer().describe("The number of seats."),
  token: s.string().secret().writeOnce().optional().describe("The project's own token, which the API shows only once."),
});

/** @typedef {import("@purlin/driver").Infer<typeof inputs>} Inputs */
