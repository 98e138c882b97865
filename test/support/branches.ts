/** Programs for the agent `branches`, and how to make up any of them. */

import fc from "fast-check";

const leaves = [
  "step",
  "llm",
  "effect",
  "spend",
  "say",
  "now",
  "random",
  "artifact",
  "stream",
  "spawn",
  "launch",
  "sleep",
  "ask",
] as const;

export interface Leaf {
  do: (typeof leaves)[number];
  name: string;
  /** How often it awaits nothing before and after. */
  microtasks: number;
  /** How much there is of what is given or made; what is large is stored apart. */
  size: number;
}

export type Program = Leaf | { do: "seq" | "all" | "race"; of: Program[] };

const leaf: fc.Arbitrary<Leaf> = fc.record({
  do: fc.constantFrom(...leaves),
  // Few names: branches that get out of step must take each other's results for their own.
  name: fc.constantFrom("a", "b"),
  microtasks: fc.nat({ max: 12 }),
  size: fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constant(20_000) }),
});

export const anyProgram: fc.Arbitrary<Program> = fc.letrec<{ program: Program; block: Program }>((tie) => ({
  program: fc.oneof({ maxDepth: 3, depthSize: "medium" }, leaf, tie("block")),
  block: fc.record({
    do: fc.constantFrom("seq", "all", "all", "race"),
    of: fc.array(tie("program"), { minLength: 2, maxLength: 4 }),
  }),
})).block;
