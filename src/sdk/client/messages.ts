/** What people say, as the server takes it. */

import type { MessageInput } from "./types.ts";

/** Text is what a user says; a message or the fields of an object are taken as they are. */
export type Said = string | MessageInput | Record<string, unknown>;

export function inputOf(said: Said): MessageInput | Record<string, unknown> {
  return typeof said === "string" ? messageOf(said) : said;
}

/** Text is sent as text, anything else as JSON. */
export function messageOf(said: unknown): MessageInput {
  const visibility = "public";
  const part =
    typeof said === "string"
      ? ({ type: "text", text: said, visibility } as const)
      : ({ type: "json", value: said, visibility } as const);
  return { role: "user", parts: [part] };
}

/** The persona that came with an agent. The one that answers when nobody else is named goes by that. */
export function personaOf(agent: string): string {
  return `persona_${agent === "echo" ? "default" : agent}`;
}
