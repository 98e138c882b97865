/** A server with agents that remember, and that declare skills and tools. */

import { type AgentContext, defineAgent, type MemoryScope, type ServerConfig } from "bridle";
import { Type } from "typebox";
import type { JsonValue } from "../../src/store/port.ts";
import { serve } from "./serve.ts";

interface Action {
  do: "write" | "read" | "search" | "ask";
  key?: string;
  content?: JsonValue;
  words?: string;
  scope?: MemoryScope;
  expires_in_ms?: number;
}

async function act(ctx: AgentContext, action: Action): Promise<JsonValue> {
  const { key = "", content = null, words = "", scope, expires_in_ms } = action;
  const options = scope === undefined ? {} : { scope };
  switch (action.do) {
    case "write":
      return await ctx.memory.write(key, content, {
        ...options,
        ...(expires_in_ms === undefined ? {} : { expiresInMs: expires_in_ms }),
      });
    case "read":
      return (await ctx.memory.read(key, options)) ?? null;
    case "search":
      return (await ctx.memory.search(words)).map((found) => [found.key, found.content]);
    case "ask":
      return await ctx.ask("Go on?");
  }
}

/** Does what its input lists, in order, and gives back what each gave. */
const librarian = defineAgent({
  name: "librarian",
  version: "1",
  tools: [
    { name: "shelf.find", description: "Finds a book.", input: Type.Object({ title: Type.String() }) },
    { name: "shelf.count", description: "Counts the books.", output: Type.Integer() },
  ],
  skills: [
    {
      id: "lend",
      description: "Lends a book.",
      input: Type.Object({ title: Type.String({ minLength: 1 }), days: Type.Integer({ minimum: 1 }) }),
      output: Type.Object({ due: Type.String() }),
    },
    { id: "browse", name: "Browse", description: "Looks around." },
  ],
  async run(ctx) {
    // The test's own input, in the test's own shape.
    const actions = (ctx.input.actions ?? []) as unknown[] as Action[];
    const results: JsonValue[] = [];
    for (const action of actions) results.push(await act(ctx, action));
    return { results };
  },
});

/** Has a tool of the same name as another agent. */
const porter = defineAgent({
  name: "porter",
  version: "1",
  tools: [{ name: "shelf.find", description: "Finds a shelf." }],
  run: async () => undefined,
});

export const config: Partial<ServerConfig> = { agents: [librarian, porter] };

if (import.meta.main) await serve(config);
