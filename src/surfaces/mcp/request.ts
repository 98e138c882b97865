/** One HTTP request of the protocol, once it is known who sends it. */

import type { Logger } from "pino";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Caller } from "../../policy/caller.ts";
import type { ServerFacts } from "../server-facts.ts";
import type { OpenCalls } from "./open-calls.ts";

export interface McpRequest {
  kernel: Kernel;
  facts: ServerFacts;
  logger: Logger;
  openCalls: OpenCalls;
  caller: Caller;
  id: string;
  /** `modern` since 2026-07-28, where every request stands for itself; `legacy` before. */
  era: "legacy" | "modern";
  /** What an older client calls its conversation. */
  conversation: string | null;
  /** Whether forms can be put to the person at the client. */
  elicits: boolean;
  /** Aborted, with an `Ending` as the reason, when nobody waits for the answer. */
  signal: AbortSignal;
}

const elicitingSuffix = ".elicits";

/**
 * The name that an older client's conversation is given when it begins. Nothing is kept under it: all that is to be known of
 * the client later is in the name itself, so that it is as good after a restart as before.
 */
export function nameConversation(elicits: boolean): string {
  return `${crypto.randomUUID()}${elicits ? elicitingSuffix : ""}`;
}

export function conversationElicits(conversation: string | null): boolean {
  return conversation?.endsWith(elicitingSuffix) ?? false;
}

/** Whether these capabilities of a client have forms: named, or, as it was at first, just elicitation. */
export function hasForms(capabilities: unknown): boolean {
  const { elicitation }: { elicitation?: unknown } = Object(capabilities);
  if (typeof elicitation !== "object" || elicitation === null) return false;
  return "form" in elicitation || Object.keys(elicitation).length === 0;
}
