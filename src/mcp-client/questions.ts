/**
 * Which call a server's question belongs to. The present protocol answers the call itself with the question, so there it is
 * known (`exchange.ts`). The protocol before it sends a request of its own:
 *
 *   Q1  Over HTTP it comes in the stream that answers the call: what is heard there is heard in the call's context.
 *   Q2  Otherwise (over standard streams always) it belongs to the only call under way. Where there are several it is
 *       kept until there is one; a call that waits for an answer does not end by itself. If all of them wait, nobody
 *       can know, and their questions are refused.
 *   Q3  A server that asked like that gets its calls one at a time from then on.
 *   Q4  A call that was given up may still be asking. A question after it is refused, and such a server gets a new
 *       connection before the next call.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Elicitation } from "./mcp.ts";
import type { FlatAnswer, RunningCall } from "./running-call.ts";

/** The call in whose context something is sent, and heard. */
export const currentCall = new AsyncLocalStorage<RunningCall>();

export class Questions {
  readonly #underWay = new Set<RunningCall>();
  readonly #renewConnection: () => void;
  #changed = Promise.withResolvers<void>();
  #kept = 0;
  #isOneAtATime = false;
  #wasGivenUp = false;

  /** `renewConnection` has the next call made on a new connection, where no old call can ask. */
  constructor(renewConnection: () => void) {
    this.#renewConnection = renewConnection;
  }

  /** Runs a call when it is its turn. */
  async during<T>(call: RunningCall, run: () => Promise<T>): Promise<T> {
    while (this.#isOneAtATime && this.#underWay.size > 0) await call.orGivenUp(this.#changed.promise);
    this.#underWay.add(call);
    try {
      return await currentCall.run(call, run);
    } finally {
      this.#underWay.delete(call);
      this.#wasGivenUp ||= call.signal.aborted;
      if (this.#isOneAtATime && this.#wasGivenUp && this.#underWay.size === 0) {
        this.#renewConnection();
      }
      this.#tellOthers();
    }
  }

  /** The answer of whoever the question is for; throws what the server is told when nobody knows. */
  async ask(asked: Elicitation, withdrawn: AbortSignal): Promise<FlatAnswer> {
    const related = currentCall.getStore();
    if (related !== undefined) {
      if (this.#underWay.has(related)) return await related.ask(asked);
      throw new Error("The call that this question belongs to is over.");
    }
    this.#isOneAtATime = true;
    this.#kept++;
    this.#tellOthers();
    try {
      return await (await this.#onlyCall(withdrawn)).ask(asked);
    } finally {
      this.#kept--;
    }
  }

  /** A new connection has no old calls. */
  connected(): void {
    this.#wasGivenUp = false;
  }

  async #onlyCall(withdrawn: AbortSignal): Promise<RunningCall> {
    for (;;) {
      const [only, ...others] = this.#underWay;
      const isHopeless = others.length > 0 && this.#kept >= this.#underWay.size;
      if (only === undefined || isHopeless || this.#wasGivenUp || withdrawn.aborted) {
        throw new Error(
          "It cannot be told which call this question belongs to. Calls come one at a time from now on.",
        );
      }
      if (others.length === 0) return only;
      await this.#changed.promise;
    }
  }

  #tellOthers(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
