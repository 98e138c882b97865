/** One call under way: whom its questions go to, its time, which stands still while a person is asked, and how it is given up. */

import { type Static, Type } from "typebox";
import { Compile } from "typebox/schema";
import { lazy } from "../lazy.ts";
import type { Elicitation, ElicitationAnswer, McpCallOptions } from "./mcp.ts";
import { McpError } from "./mcp.ts";

/** What a question of a server can be answered with. */
const flatContent = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Array(Type.String())]),
);
const contentCheck = lazy(() => Compile(flatContent));

export type FlatAnswer =
  | { action: "accept"; content: Static<typeof flatContent> }
  | { action: "decline" | "cancel" };

export class RunningCall {
  readonly #given = new AbortController();
  readonly #options: McpCallOptions;
  readonly #onAbort = () => this.#giveUp(this.#options.signal.reason, "The call was cancelled.");
  readonly #what: string;
  #timer: NodeJS.Timeout | undefined;
  readonly #timeoutMs: number;
  #leftMs: number;
  #runningSince = 0;
  #questions = 0;
  #reason: unknown;
  #hasEnded = false;

  /** `what` is what the sentence about its time begins with. */
  constructor(options: McpCallOptions, timeoutMs: number, what: string) {
    this.#options = options;
    this.#leftMs = timeoutMs;
    this.#timeoutMs = timeoutMs;
    this.#what = what;
    options.signal.addEventListener("abort", this.#onAbort);
  }

  /** Aborted when nobody waits for the call any more. Its reason is what the server may read. */
  get signal(): AbortSignal {
    return this.#given.signal;
  }

  /** The trace that it is part of. */
  get trace(): Readonly<Record<string, string>> {
    return this.#options.trace ?? {};
  }

  /** The result, unless the call is given up before: then the reason for that is thrown at once. */
  async orGivenUp<T>(work: Promise<T>): Promise<T> {
    try {
      return await abortable(work, this.signal);
    } catch (error) {
      throw this.signal.aborted ? this.#reason : error;
    }
  }

  startTimer(): void {
    if (this.#hasEnded) return;
    this.#runningSince = performance.now();
    this.#timer = setTimeout(() => {
      const sentence = `${this.#what} did not answer within ${this.#timeoutMs} ms.`;
      const late = new McpError("mcp_timeout", sentence, { isOutcomeUnknown: true });
      this.#giveUp(late, "The call took too long.");
    }, this.#leftMs);
  }

  async ask(asked: Elicitation): Promise<FlatAnswer> {
    if (this.#questions++ === 0) this.#stopTimer();
    try {
      return flat(await this.#options.onElicitation(asked));
    } catch (error) {
      // Without an answer the call has nowhere to go.
      this.#giveUp(error, "The question could not be asked.");
      throw error;
    } finally {
      if (--this.#questions === 0) this.startTimer();
    }
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener("abort", this.#onAbort);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#runningSince));
  }

  #giveUp(reason: unknown, told: string): void {
    if (this.#hasEnded) return;
    this.#reason = reason;
    this.end();
    this.#given.abort(told);
  }
}

function flat(answer: ElicitationAnswer): FlatAnswer {
  if (answer.action !== "accept") return { action: answer.action };
  const { action, content } = answer;
  if (contentCheck().Check(content)) return { action, content };
  throw new TypeError("An answer to an MCP server has text, numbers, truth values and lists of text.");
}

/** The result, or the signal's reason as soon as it is aborted. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  // It may fail after nobody waits for it any more.
  work.catch(() => {});
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
