/** The approvers of a tenant: whoever was paired there, or has once called as that approver. */

import { VersionConflict } from "../../store/port.ts";
import type { GatewayDeps } from "./deps.ts";
import { timeText } from "./times.ts";

const approverKind = "approver";
/** Approvers that one request can go to; of more than these, those who came last. */
const approversMax = 1000;
/** Remembered so that not every call asks the store; forgotten all at once when there are more. */
const seenMax = 20_000;

export class KnownApprovers {
  readonly #deps: GatewayDeps;
  readonly #seen = new Set<string>();

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
  }

  async isKnown(tenantId: string, approverId: string): Promise<boolean> {
    const id = documentId(tenantId, approverId);
    return this.#seen.has(id) || (await this.#deps.store.of(tenantId).get(approverKind, id)) !== undefined;
  }

  async all(tenantId: string): Promise<string[]> {
    const documents = await this.#deps.store.of(tenantId).list({
      kind: approverKind,
      order: "newest_first",
      limit: approversMax,
    });
    return documents.map(({ body }) => (body as { approverId: string }).approverId);
  }

  /** From now on requests for the whole tenant go to this one too. */
  async note(tenantId: string, approverId: string): Promise<void> {
    const id = documentId(tenantId, approverId);
    if (this.#seen.has(id)) return;
    if ((await this.#deps.store.of(tenantId).get(approverKind, id)) === undefined)
      await this.#add(tenantId, approverId);
    if (this.#seen.size >= seenMax) this.#seen.clear();
    this.#seen.add(id);
  }

  async #add(tenantId: string, approverId: string): Promise<void> {
    const { store, now } = this.#deps;
    const id = documentId(tenantId, approverId);
    const createdAt = timeText(now());
    const event = {
      event: "approver.known",
      resource: { object: approverKind, id },
      tenantId,
      workspaceId: null,
      sessionId: null,
      taskId: null,
      actor: `approver:${approverId}`,
      createdAt,
      payload: { approverId },
    };
    const body = { approverId, createdAt };
    try {
      await store.commit({
        expect: [{ kind: approverKind, id, version: 0 }],
        events: [event],
        put: [{ kind: approverKind, id, index: { tenantId }, body }],
        blobs: [],
      });
    } catch (error) {
      // Another call of the same approver was first.
      if (!(error instanceof VersionConflict)) throw error;
    }
  }
}

function documentId(tenantId: string, approverId: string): string {
  return `approver:${JSON.stringify([tenantId, approverId])}`;
}
