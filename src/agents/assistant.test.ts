/** The assistant, as its persona makes it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse, scripted } from "../testing/index.ts";
import { assistant } from "./assistant.ts";
import { rehearsal } from "./rehearsal.ts";

test("AST-1 the model receives the persona's instructions, the conversation and the question", async () => {
  // Given a persona with instructions, when the assistant is asked, then the model hears them, the conversation and the
  // question.
  const run = await rehearse(assistant, {
    input: "And now?",
    conversation: [
      { role: "user", text: "What is 2+2?" },
      { role: "agent", text: "4" },
    ],
    models: ["Now it is late."],
    persona: { model_policy: { instructions: "You are a clock." } },
  });
  assert.equal(run.output, "Now it is late.");
  assert.deepEqual(run.models[0]?.messages, [
    { role: "system", content: "You are a clock." },
    { role: "user", content: "What is 2+2?" },
    { role: "assistant", content: "4" },
    { role: "user", content: "And now?" },
  ]);
});

test("AST-2 given no model, when the assistant is asked, then it says what to set", async () => {
  const run = await rehearse(assistant, { input: "Hello", models: { ...scripted([]), defaultModel: null } });
  assert.equal(run.failure?.code, "model_not_configured");
  assert.match(run.failure?.message ?? "", /BRIDLE_MODEL.*BRIDLE_LOCAL_MODEL_URL.*model_policy\.model/s);
});

test("AST-3 a person approves a tool call at or above the persona's risk threshold", async () => {
  // Given a persona that names a tool and asks from a risk on, when the model wants it, then a person decides first.
  const mail = { effect: "irreversible" as const, run: () => ({ sent: true }) };
  const options = {
    input: "Write to Ada.",
    tools: { send_mail: mail },
    persona: { tools: ["send_mail"], approval_policy: { ask_from: "high" as const } },
  };
  const models = [{ toolCalls: [{ name: "send_mail", input: { to: "ada" } }] }, "Done."];
  const approved = await rehearse(assistant, { ...options, models, people: { approvals: [true] } });
  assert.equal(approved.output, "Done.");
  assert.equal(approved.approvals[0]?.action, "send_mail");
  const denied = await rehearse(assistant, { ...options, models, people: { approvals: [false] } });
  assert.match(JSON.stringify(denied.models[1]?.messages.at(-1)), /execution-denied/);
});

test("AST-4 memory writes, questions to a person and handoffs run as ordinary steps", async () => {
  // Given a memory, somebody to ask and another persona, when the model uses them, then they are steps like all others.
  const run = await rehearse(assistant, {
    input: "Plan the party.",
    agents: [rehearsal],
    persona: { handoffs: ["persona_rehearsal"] },
    people: { answers: ["Friday"] },
    models: [
      { toolCalls: [{ name: "ask_person", input: { question: "When?" } }] },
      { toolCalls: [{ name: "memory_write", input: { key: "party", content: "Friday" } }] },
      {
        toolCalls: [
          { name: "hand_off", input: { to: "persona_rehearsal", work: "return The cake is bought." } },
        ],
      },
      "All set for Friday.",
    ],
    crashEverywhere: true,
  });
  assert.equal(run.output, "All set for Friday.");
  assert.match(JSON.stringify(run.models[1]?.messages.at(-1)), /Friday/);
  assert.match(JSON.stringify(run.models[3]?.messages.at(-1)), /The cake is bought\./);
});

test("AST-5 a persona without tools cannot call a tool that the server has", async () => {
  // Given a persona without tools, when the model asks for one that the server has, then there is none.
  const run = await rehearse(assistant, {
    input: "Look it up.",
    models: [{ toolCalls: [{ name: "http_get", input: { url: "https://example.com" } }] }, "I cannot."],
  });
  assert.equal(run.output, "I cannot.");
  assert.match(JSON.stringify(run.models[1]?.messages.at(-1)), /There is no tool/);
  assert.ok(!run.models[0]?.tools?.some(({ name }) => name.startsWith("http")));
});

test("AST-5 a persona with all tools (*) is not offered tools that would be refused", async () => {
  // Given a persona whose list of tools is a star, when the assistant is asked, then the model is not offered what would
  // be refused.
  const run = await rehearse(assistant, {
    input: "Look it up.",
    models: ["I cannot."],
    tools: { look_up: { effect: "none", run: () => "found" } },
    persona: { tools: ["*"] },
  });
  const offered = run.models[0]?.tools?.map(({ name }) => name) ?? [];
  assert.ok(offered.includes("look_up"));
  assert.ok(!offered.includes("http_get"), offered.join());
});

test("AST-7 the assistant runs without a missing tool and tells the model that it is unavailable", async () => {
  // Given a tool that is not there now, when the assistant is asked, then it does without and the model knows.
  const run = await rehearse(assistant, {
    input: "Look it up.",
    models: ["I cannot look it up now."],
    persona: { tools: ["github.*", "wiki.search"] },
    tools: { "github.search": { effect: "none", run: () => "found" } },
  });
  assert.equal(run.output, "I cannot look it up now.");
  const [system] = run.models[0]?.messages ?? [];
  assert.match(String(system?.content), /Not available now: wiki\.search/);
  assert.ok(run.models[0]?.tools?.some(({ name }) => name === "github_search"));
});
