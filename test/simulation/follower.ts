/** Somebody outside who follows the whole log over connections that break, and continues from the last event that arrived. */

import { followLog } from "../../src/kernel/core/log-tail.ts";
import type { WholeKernel } from "../../src/kernel/kernel.ts";
import { defaultTenantId } from "../../src/kernel/workspaces/ensure-tenant.ts";
import type { Position } from "../../src/store/port.ts";
import type { Machine, Owner } from "./machine.ts";

const againMs = 50;
const hopMs = 3;

export class Follower {
  readonly seen: Position[] = [];
  readonly #machine: Machine;
  readonly #find: () => { owner: Owner; kernel: WholeKernel } | null;

  constructor(machine: Machine, find: () => { owner: Owner; kernel: WholeKernel } | null) {
    this.#machine = machine;
    this.#find = find;
  }

  isAt(position: Position): boolean {
    return (this.seen.at(-1) ?? 0) >= position;
  }

  async run(): Promise<void> {
    while (true) {
      const found = this.#find();
      if (found !== null) await this.#connection(found.owner, found.kernel);
      await this.#machine.pause(againMs);
    }
  }

  /** Resolves when it is cut. What was sent arrives in order, and what has not arrived by then never does. */
  #connection(process: Owner, kernel: WholeKernel): Promise<void> {
    const machine = this.#machine;
    const me = machine.owner;
    let isCut = false;
    return new Promise((resolve) => {
      const cut = () => {
        isCut = true;
        machine.after(hopMs, resolve, me);
      };
      process.onDeath(cut);
      const after = this.seen.at(-1) ?? 0;
      const send = (positions: Position[]) =>
        void machine.after(
          hopMs,
          () => {
            if (!isCut) this.seen.push(...positions);
          },
          me,
        );
      const serve = async () => {
        const { signal } = new AbortController();
        const store = kernel.store.of(defaultTenantId);
        for await (const page of followLog(store, kernel.tail, { after }, signal)) {
          send(page.map(({ position }) => position));
        }
      };
      machine.after(hopMs, () => void serve().catch(cut), process);
      // A connection does not last for ever.
      machine.after(500 + machine.below(4000), cut, me);
    });
  }
}
