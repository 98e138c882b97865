/** Sessions in which no run starts until they are resumed. Known from the store at the start, and from the log afterwards. */

import type { KernelEvent } from "../../kernel/core/events.ts";
import type { WholeKernel } from "../../kernel/kernel.ts";

const pageSize = 200;

export class PausedSessions {
  readonly #ids = new Set<string>();

  async load(store: WholeKernel["store"]): Promise<void> {
    for (const tenantId of await store.tenantIds()) await this.#loadOf(store, tenantId);
  }

  async #loadOf(store: WholeKernel["store"], tenantId: string): Promise<void> {
    let beyond: { born: number; id: string } | undefined;
    while (true) {
      const page = await store.of(tenantId).list({
        kind: "session",
        statuses: ["PAUSED"],
        order: "oldest_first",
        ...(beyond === undefined ? {} : { beyond }),
        limit: pageSize,
      });
      for (const { id } of page) this.#ids.add(id);
      if (page.length < pageSize) return;
      beyond = page.at(-1);
    }
  }

  has(sessionId: string): boolean {
    return this.#ids.has(sessionId);
  }

  /** Whether work that was held may start now. */
  note({ event, payload, resource: { id } }: KernelEvent): boolean {
    if (event === "session.closed") this.#ids.delete(id);
    if (event !== "vendor.bridle.session.updated") return false;
    if (payload.changes.state === "PAUSED") this.#ids.add(id);
    return payload.changes.state === "ACTIVE" && this.#ids.delete(id);
  }
}
