/** An enforcer waits for the decision of one exchange, without asking again and again. */

import type { DecisionDeliver } from "../core/wire.ts";
import { findExchange } from "./exchange-status.ts";
import type { Gateway } from "./gateway.ts";
import { type Principal, requireRole } from "./principal.ts";
import { type ExchangeRef, exchangeId } from "./records/exchange.ts";
import { refusal } from "./refusals.ts";

/** Who waits holds a connection; more than these at once are somebody's mistake. */
const watchesMax = 10_000;

/** Those who wait for exchanges to change, in memory: who asks again after a restart finds out from the store. */
export class Waits {
  readonly #watches = new Map<string, Set<Watch>>();
  #count = 0;

  wake(ref: ExchangeRef): void {
    for (const watch of this.#watches.get(exchangeId(ref)) ?? []) watch.wake();
  }

  /** From here on no change goes unnoticed. */
  watch(ref: ExchangeRef): Watch {
    if (this.#count >= watchesMax) throw refusal("RateLimited", "Too many wait here already.");
    const id = exchangeId(ref);
    const watches = this.#watches.get(id) ?? new Set();
    const watch = new Watch(() => {
      if (watches.delete(watch)) this.#count -= 1;
      if (watches.size === 0 && this.#watches.get(id) === watches) this.#watches.delete(id);
    });
    this.#watches.set(id, watches.add(watch));
    this.#count += 1;
    return watch;
  }
}

export class Watch implements Disposable {
  readonly #leave: () => void;
  #isWoken = false;
  #resume = () => {};

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  wake(): void {
    this.#isWoken = true;
    this.#resume();
  }

  /** Resolves with the first change since the last time, after a time, or when the signal says so. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      this.#resume = resolve;
      signal.addEventListener("abort", this.#resume);
      await promise;
      signal.removeEventListener("abort", this.#resume);
      clearTimeout(timer);
    }
    this.#isWoken = false;
  }

  [Symbol.dispose](): void {
    this.#leave();
  }
}

/** Null when there is none in time, or when there never will be. */
export async function waitForDecision(
  gateway: Gateway,
  principal: Principal,
  requestId: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<DecisionDeliver | null> {
  requireRole(principal, "enforcer");
  await gateway.heardFrom(principal);
  const { deps, envelopes, waits } = gateway;
  // How long somebody waits is measured by a clock that nobody can set.
  const until = performance.now() + timeoutMs;
  using watch = waits.watch({ tenantId: principal.tenantId, requestId });
  while (true) {
    const exchange = await findExchange(gateway, principal, requestId);
    if (exchange.decision !== null) return envelopes.decisionDeliver(exchange, exchange.decision);
    const leftMs = until - performance.now();
    if (exchange.state !== "pendingApproval" || leftMs <= 0 || signal.aborted) return null;
    const toExpiryMs = Math.max(0, exchange.expiresAtMs + 1 - deps.now());
    await watch.next(Math.min(leftMs, toExpiryMs), signal);
  }
}
