/** What `bridle init` offers to begin with: a folder each in `templates/`. */

export const templates = {
  hello: { agent: "hello", description: "two steps and a question" },
  assistant: { agent: "orders", description: "a model with tools, and an approval" },
  approvals: { agent: "publisher", description: "an effect that a person approves" },
  a2a: { agent: "desk", description: "two agents, one hands work to the other, here or over A2A" },
  nightly: { agent: "nightly", description: "a schedule that reads files and writes a report" },
} as const;

export type TemplateName = keyof typeof templates;

export const templateNames: readonly TemplateName[] = ["hello", "assistant", "approvals", "a2a", "nightly"];
