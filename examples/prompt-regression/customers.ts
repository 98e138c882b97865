/** Where the customers' plans are known. Here it is a list; elsewhere it would be a service that nobody asks twice for a test. */

import { defineTool, Type } from "bridle";

const plans: Record<string, string> = { "ada@example.com": "gold", "ben@example.com": "basic" };

/** How often it was really asked. */
export const lookups = { count: 0 };

export const customerOf = defineTool({
  name: "customer",
  description: "Finds the plan of whoever wrote a message.",
  input: Type.Object({ text: Type.String() }),
  output: Type.Object({ plan: Type.String() }),
  effect: "none",
  run({ text }) {
    lookups.count += 1;
    const address = /\S+@\S+\.\w+/.exec(text)?.[0] ?? "";
    return { plan: plans[address] ?? "none" };
  },
});
