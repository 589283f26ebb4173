// @ts-check
// A client of the API: its requests, and the meaning of the responses. Everything that is specific to
// your API belongs here.

import { failed, pending, undecided } from "@purlin/driver";
import { Client, segment } from "@purlin/driver/rest";

/** @typedef {import("./schema.js").Inputs} Inputs */
/**
 * A project of the API. `owner` says which resource it belongs to, since names are not unique, and `token` is there
 * once. `pendingMs` is how many milliseconds later it makes sense to look again, if the API still works on it.
 * @typedef {Inputs["values"] & { id: string, owner?: string, token?: string, pendingMs?: number }} Project
 */

/** The parts of a project that the driver needs. */
const FIELDS = ["id", "name", "region", "size"];
/** What `status` is while the API works on a project. Throw `failed` if it says that this went wrong. */
const BUSY = ["creating", "updating", "deleting"];

/** A client for one call of the driver. */
export class Api {
  /** @param {Inputs["connection"]} connection @param {import("@purlin/driver").Call} call */
  constructor({ server, token }, call) {
    this.client = new Client(server, call, { authorization: `Bearer ${token}` });
  }

  /**
   * Creates a project. The key makes it safe to send this twice.
   * @param {Inputs["values"]} wanted @param {string} owner
   */
  async create({ name, region, size }, owner) {
    const body = { name, region, size, owner };
    const answer = (await this.client.send("POST", "/projects", { body, keyed: true })).success();
    return complete(answer, answer.json(), undecided);
  }

  /** @param {string} id */
  async get(id) {
    const answer = await this.client.send("GET", `/projects/${segment(id)}`);
    return answer.status === 404 ? undefined : complete(answer, answer.success().json(), failed);
  }

  /**
   * Looks for a project of this resource by its name, in all pages of the list. Ids in `known`
   * belong to others.
   * @param {string} name @param {string} owner @param {string[]} known
   */
  async find(name, owner, known) {
    /** @type {Record<string, string>} */
    const query = { name };
    for (;;) {
      const answer = (await this.client.send("GET", "/projects", { query })).success();
      const page = answer.json();
      // A page without any may have null. A list that lacks the field is not one.
      const items = page?.items === null ? [] : page?.items;
      if (!Array.isArray(items)) throw failed("the API answered a list without `items`", answer.details);
      for (const item of items) {
        const found = complete(answer, item, failed);
        if (found.name === name && found.owner === owner && !known.includes(found.id)) return found;
      }
      // APIs end a list without `after`, with null, with an empty text, or with the same `after` again.
      const { after } = page;
      if (after === undefined || after === null || after === "" || after === query.after) return undefined;
      query.after = after;
    }
  }

  /**
   * Changes a project in place.
   * @param {string} id @param {Inputs["values"]} wanted
   */
  async update(id, { size }) {
    const options = { body: { size }, keyed: true };
    const answer = (await this.client.send("PATCH", `/projects/${segment(id)}`, options)).success();
    return complete(answer, answer.json(), undecided);
  }

  /**
   * Deletes a project. A missing project is a success. APIs may answer before a project is gone, so
   * until it cannot be read any more it is pending: Purlin calls again.
   * @param {string} id
   */
  async delete(id) {
    const answer = await this.client.send("DELETE", `/projects/${segment(id)}`);
    if (answer.status === 404) return;
    if (answer.success().status === 202 || (await this.get(id)) !== undefined) {
      throw pending(answer.afterMs, "it still exists");
    }
  }
}

/**
 * A project with all that the driver needs. Without that the failure is of this kind: a request with
 * effects was carried out, so Purlin has to find out what exists.
 * @param {import("@purlin/driver/rest").Answer} answer @param {any} project @param {typeof failed} kind
 * @returns {Project}
 */
function complete(answer, project, kind) {
  const missing = FIELDS.find((name) => (project?.[name] ?? undefined) === undefined);
  if (missing !== undefined) throw kind(`the API answered a project without \`${missing}\``, answer.details);
  const busy = answer.status === 202 || BUSY.includes(project.status);
  return { ...project, pendingMs: busy ? answer.afterMs : undefined };
}
