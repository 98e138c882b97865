/** Where webhooks are told: it keeps what it took, in order, and does not take everything while there are faults. */

import type { Machine } from "./machine.ts";

const refusedShare = 0.15;

export class WebhookReceiver {
  readonly #machine: Machine;
  readonly #taken = new Map<string, string[]>();
  isHealthy = false;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  receive(path: string, body: string): number {
    if (!this.isHealthy && this.#machine.random() < refusedShare) return 503;
    const name = path.slice(1);
    const taken = this.#taken.get(name) ?? [];
    taken.push(body);
    this.#taken.set(name, taken);
    return 200;
  }

  takenBy(name: string): readonly string[] {
    return this.#taken.get(name) ?? [];
  }
}
