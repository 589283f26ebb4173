// The inputs and outputs of the driver. Purlin applies the schemas: it validates inputs,
// fills in defaults, keeps secrets, and decides which changes replace. So there is no `check`, and no
// `updateImpact`.

export const inputSchema = {
  type: "object",
  required: ["values", "connection"],
  properties: {
    values: {
      type: "object",
      required: ["name"],
      additionalProperties: false,
      properties: {
        name: {
          type: "string",
          pattern: "^[a-z0-9][a-z0-9-]{0,62}$",
          description: "The project's name. A change replaces the project.",
          "x-purlin-replaces": true,
        },
        region: {
          type: "string",
          enum: ["eu", "us"],
          default: "eu",
          description: "The region of the project. It cannot be changed.",
          "x-purlin-immutable": true,
        },
        size: {
          type: "integer",
          minimum: 1,
          maximum: 1000,
          default: 1,
          description: "The number of seats.",
        }
      },
    },
    // The current connection to the API, also in `read` and `delete`.
    connection: {
      type: "object",
      required: ["server", "token"],
      additionalProperties: false,
      properties: {
        server: {
          type: "string",
          pattern: "^https?://[^/?#]+(/[^?#]*)?$",
          description: "The URL of the API, such as `https://api.example/v1`.",
          "x-purlin-replaces": true,
          // So a plan names all grants that are missing.
          "x-purlin-reaches": "http",
          "x-purlin-methods": [
            "POST",
            { method: "GET", later: true },
            { method: "PATCH", later: true },
            { method: "DELETE", later: true },
          ],
        },
        token: {
          type: "string",
          minLength: 1,
          writeOnly: true,
          description: "The token of the API.",
        }
      },
    }
  },
};

export const outputSchema = {
  type: "object",
  required: ["id", "name", "region", "size"],
  additionalProperties: false,
  properties: {
    id: {
      type: "string",
      description: "The project's id in the API.",
    },
    name: {
      type: "string",
    },
    region: {
      type: "string",
    },
    size: {
      type: "integer",
    },
    token: {
      type: "string",
      writeOnly: true,
      description: "The project's own token, which the API shows only once.",
      "x-purlin-write-once": true,
    }
  },
};
