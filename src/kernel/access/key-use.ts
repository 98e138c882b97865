/**
 * When keys were used last, to the hour. A use is noted in memory; a moment later, outside of the request, an event says so, at
 * most one per key and hour. It is an event like every other change, so it is durable, survives a rebuild and needs no table of
 * its own. A crash loses the uses of the last seconds.
 */

import { type Caller, systemCaller } from "../../policy/caller.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import type { KernelDeps } from "../core/unit.ts";

const everyMs = 60 * 60 * 1000;
/** So that keys that come at once, as after a start, are written one after the other. */
const delayMs = 5000;
/** Forgotten all at once when there are more: the record says whether there is something to write. */
const keysMax = 10_000;

export class KeyUse {
  readonly #deps: KernelDeps;
  /** When the use of a key was noted last. */
  readonly #noted = new Map<string, number>();
  #pending = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: KernelDeps) {
    this.#deps = deps;
  }

  note({ keyId, tenantId }: Caller): void {
    if (keyId === undefined) return;
    const now = this.#deps.clock.now();
    const before = this.#noted.get(keyId);
    if (before !== undefined && now - before < everyMs) return;
    if (this.#noted.size >= keysMax) this.#noted.clear();
    this.#noted.set(keyId, now);
    this.#pending.set(keyId, tenantId);
    this.#timer ??= setTimeout(() => void this.flush(), delayMs).unref();
  }

  /** Writes what is noted; also called before the store is closed. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const pending = this.#pending;
    this.#pending = new Map();
    this.#writing = this.#writing.then(async () => {
      for (const [keyId, tenantId] of pending) await this.#write(keyId, tenantId);
    });
    await this.#writing;
  }

  async #write(keyId: string, tenantId: string): Promise<void> {
    try {
      await runCommand(this.#deps, noteKeyUse, systemCaller(tenantId), { keyId });
    } catch {
      // A store that takes no writes now: the next use is noted again.
      this.#noted.delete(keyId);
    }
  }
}

const noteKeyUse: Command<{ keyId: string }, void> = {
  name: "note_key_use",
  scope: "admin",
  decide(unit, { keyId }) {
    const key = unit.find("api_key", keyId);
    if (key === undefined) return;
    const before = key.last_used_at === undefined ? Number.NEGATIVE_INFINITY : Date.parse(key.last_used_at);
    if (Date.parse(unit.at) - before >= everyMs) unit.emit(key, "vendor.bridle.api_key.used", {});
  },
};
