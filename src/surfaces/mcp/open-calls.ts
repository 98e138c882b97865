/**
 * The calls whose clients wait at this moment. Nothing here outlasts a connection: it only lets what comes in with one
 * request reach the call that came in with another.
 */

import type { RequestId } from "@modelcontextprotocol/server";
import type { Caller } from "../../policy/caller.ts";
import type { QuestionId } from "./questions.ts";

/** Why nobody waits for a call any more, when it is not that it was answered. */
export type Ending = "cancelled" | "gone" | "stopped" | "refused";

export interface OpenCall {
  caller: Caller;
  /** What the client calls the conversation that the call belongs to; null when it has no name for it. */
  conversation: string | null;
  requestId: RequestId;
  end(why: Ending): void;
  /** The person did not answer the question that was put to them. */
  leaveOpen(question: QuestionId, why: string): void;
}

export class OpenCalls {
  readonly #calls = new Set<OpenCall>();

  add(call: OpenCall): Disposable {
    this.#calls.add(call);
    return { [Symbol.dispose]: () => void this.#calls.delete(call) };
  }

  /** Clients that share a key and give their conversations no name may number their calls alike: then none is meant. */
  cancel(caller: Caller, conversation: string | null, requestId: unknown): void {
    const meant = [...this.#calls].filter(
      (call) =>
        isSame(call.caller, caller) && call.conversation === conversation && call.requestId === requestId,
    );
    if (meant.length === 1) meant[0]?.end("cancelled");
  }

  leaveOpen(caller: Caller, question: QuestionId, why: string): void {
    for (const call of this.#calls) if (isSame(call.caller, caller)) call.leaveOpen(question, why);
  }
}

function isSame(one: Caller, other: Caller): boolean {
  const name = ({ tenantId, actor, workspaceIds }: Caller) => JSON.stringify([tenantId, actor, workspaceIds]);
  return name(one) === name(other);
}
