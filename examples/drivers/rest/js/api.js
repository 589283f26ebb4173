// A client of the API: its requests, and the meaning of the responses. Everything that is specific to
// your API belongs here.

import { failed, retryAfter, undecided } from "@purlin/driver";
import { Client, segment } from "@purlin/driver/rest";

/** The parts of a project that the driver needs. */
const FIELDS = ["id", "name", "region", "size"];
/** Milliseconds to wait before looking again for a deleted project. */
const AGAIN = 1000;

/** A client for one call of the driver. */
export class Api {
  /** @param {import("./types").Connection} connection @param {import("@purlin/driver").Call} call */
  constructor({ server, token }, call) {
    this.client = new Client(server, call, { authorization: `Bearer ${token}` });
  }

  /**
   * Creates a project. The key makes it safe to send this twice.
   * @param {import("./types").Values} wanted @param {string} owner
   * @returns {Promise<import("./types").Created>}
   */
  async create({ name, region, size }, owner) {
    const body = { name, region, size, owner };
    const answer = await this.client.send("POST", "/projects", { body, keyed: true });
    return complete(answer.success().json(), undecided);
  }

  /** @param {string} id @returns {Promise<import("./types").Project | undefined>} */
  async get(id) {
    const answer = await this.client.send("GET", `/projects/${segment(id)}`);
    return answer.status === 404 ? undefined : complete(answer.success().json(), failed);
  }

  /**
   * Looks for a project of this resource by its name, in all pages of the list. Ids in `known`
   * belong to others.
   * @param {string} name @param {string} owner @param {string[]} known
   * @returns {Promise<import("./types").Project | undefined>}
   */
  async find(name, owner, known) {
    const query = { name };
    for (;;) {
      const page = (await this.client.send("GET", "/projects", { query })).success().json();
      if (!Array.isArray(page?.items)) throw failed("the API answered a list without `items`");
      for (const item of page.items) {
        const found = complete(item, failed);
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
   * @param {string} id @param {import("./types").Values} wanted
   */
  async update(id, { size }) {
    const answer = await this.client.send("PATCH", `/projects/${segment(id)}`, { body: { size }, keyed: true });
    return complete(answer.success().json(), undecided);
  }

  /**
   * Deletes a project. A missing project is a success. APIs may answer before a project is gone, so
   * the answer counts only once the project cannot be read any more. Purlin calls again until then.
   * @param {string} id
   */
  async delete(id) {
    const answer = await this.client.send("DELETE", `/projects/${segment(id)}`);
    if (answer.status !== 404) answer.success();
    if ((await this.get(id)) !== undefined) throw retryAfter(AGAIN, "it still exists");
  }
}

/**
 * A project with all that the driver needs. Without that the failure is of this kind: a request with
 * effects was carried out, so Purlin has to find out what exists.
 */
function complete(project, kind) {
  const missing = FIELDS.find((name) => project?.[name] === undefined);
  if (missing !== undefined) throw kind(`the API answered a project without \`${missing}\``);
  return project;
}
