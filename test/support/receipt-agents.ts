/**
 * Agents that put into a receipt all that a receipt can hold, and some that try to put in what it must not. What they do is
 * told by their input.
 */

import { AgentFailure, ApprovalDenied, defineAgent, type ServerConfig, WaitExpired } from "bridle";

/** Steps of every kind, one of them failing, one too large to be kept in place; artifacts whole and in pieces. */
const worker = defineAgent({
  name: "worker",
  version: "2.1.0",
  async run(ctx) {
    await ctx.step("measure", () => ({ zebra: 1, ant: [true, null, "é"], nested: { b: 2, a: 1.5 } }));
    await ctx.step("measure", () => "again");
    await ctx
      .step("break", () => {
        throw new AgentFailure("no_luck", "This went wrong.");
      })
      .catch(() => null);
    await ctx.step("complete", () => ({ text: "Hello." }), { kind: "llm" });
    await ctx.step("search", () => ["one", "two"], { kind: "mcp" });
    await ctx.step("hostname", () => "box", { kind: "host" });
    await ctx.step("download", () => "x".repeat(10_000));
    await ctx.random();
    await ctx.artifact({ name: "notes.txt", text: "some notes" });
    const draft = await ctx.streamArtifact({ name: "draft.txt", kind: "log" });
    for (const line of ["one\n", "two\n"]) await draft.write(line);
    await draft.close();
    await ctx.say("Nearly there.");
    return `You said ${await ctx.ask("Anything else?")}`;
  },
});

/** Uses a secret, which a replay would have to be given. */
const secretive = defineAgent({
  name: "secretive",
  version: "1.0.0",
  async run(ctx) {
    await ctx.step("password", () => "correct horse battery staple", { kind: "secret" });
    return "done";
  },
});

/** Hands scripts to others, one after the other, and does not wait for the last. */
const director = defineAgent({
  name: "director",
  version: "1.0.0",
  async run(ctx) {
    const scripts = Array.isArray(ctx.input.scripts) ? ctx.input.scripts.map(String) : [];
    for (const [index, input] of scripts.entries()) {
      const child = await ctx.spawn({ personaId: "persona_rehearsal", input });
      if (index < scripts.length - 1) await child.result();
    }
    return "directed";
  },
});

/** Has many others wait at once, and waits too. */
const crowd = defineAgent({
  name: "crowd",
  version: "1.0.0",
  async run(ctx) {
    const personaId = "persona_rehearsal";
    for (let n = 0; n < Number(ctx.input.count); n++) await ctx.spawn({ personaId, input: "ask who?" });
    return await ctx.ask("And now?");
  },
});

/** Wants several permissions, the last of them soon, and goes on whatever is said. */
const petitioner = defineAgent({
  name: "petitioner",
  version: "1.0.0",
  async run(ctx) {
    const actions = Array.isArray(ctx.input.actions) ? ctx.input.actions.map(String) : [];
    const expiresInMs = Number(ctx.input.ms ?? 600_000);
    for (const action of actions) {
      await ctx
        .approve({ action, payload: { to: "production" }, risk: "high", expiresInMs })
        .catch((error) => {
          if (!(error instanceof ApprovalDenied) && !(error instanceof WaitExpired)) throw error;
        });
    }
    return "heard";
  },
});

/** Goes on for ever, a step at a time. */
const walker = defineAgent({
  name: "walker",
  version: "1.0.0",
  async run(ctx) {
    for (let n = 1; ; n++) await ctx.step("walk", () => n);
  },
});

/** Ends in ways that careful authors avoid. */
const careless = defineAgent({
  name: "careless",
  version: "1.0.0",
  async run(ctx) {
    switch (ctx.input.how) {
      case "fails with a credential":
        throw new AgentFailure("no_access", `Refused: Bearer ${"k3y".repeat(10)}`, {
          password: "hunter2-hunter2",
        });
      case "names a step nothing":
        return await ctx.step("", () => 1);
      case "names its failure after ours":
        throw new AgentFailure("nondeterministic_run", "");
      case "puts a time into its failure":
        throw new AgentFailure("late", "Too late.", { at: new Date(0), none: undefined });
      case "puts what is no JSON into its failure":
        throw new AgentFailure("many", "Too many.", { count: 2n ** 64n });
      case "breaks a letter in two":
        await ctx.step("\ud800", () => "\udfff");
        throw new AgentFailure("half", "half a letter: \ud83d");
      case "asks in half":
        return await ctx.ask("\ud800?");
      case "wants half approved":
        await ctx.approve({ action: "\ud800" });
        return null;
      default:
        return null;
    }
  },
});

export const config: Partial<ServerConfig> = {
  agents: [worker, secretive, director, crowd, petitioner, walker, careless],
};
