/**
 * Agents that show how runs behave, and a server of them. What they do is told by their input and, for what changes from one
 * start to the next, by variables:
 *
 *   AGENT_NOTES     a file to which they append a line for whatever they really do
 *   AGENT_GATE      a file for whose appearance they wait where a test wants them to
 *   AGENT_CODE      `changed` makes the agent `changing` follow `input.change` instead of its first code
 *   AGENT_VERSIONS  which versions of the agent `versioned` are loaded, the newest last
 */

import { appendFileSync, existsSync } from "node:fs";
import { dirname } from "node:path";
import {
  type Agent,
  type AgentContext,
  AgentFailure,
  ApprovalDenied,
  defineAgent,
  Type,
  WaitExpired,
} from "bridle";
import type { JsonObject } from "../../src/store/port.ts";
import { serve } from "./serve.ts";

const gatePollMs = 5;
const aDayMs = 24 * 60 * 60 * 1000;

export function showingAgents(variables: Record<string, string | undefined>): Agent[] {
  const { AGENT_NOTES: notes = "", AGENT_GATE: gateFile = "" } = variables;
  const { AGENT_CODE: code = "", AGENT_VERSIONS: versions = "1.0.0" } = variables;

  function note(line: string): void {
    appendFileSync(notes, `${line}\n`);
  }

  async function gate(): Promise<void> {
    while (!existsSync(gateFile)) {
      // The test is over.
      if (!existsSync(dirname(gateFile))) throw new Error("The gate is gone.");
      await new Promise((resolve) => setTimeout(resolve, gatePollMs));
    }
  }

  function numberOf(ctx: AgentContext, name: string): number {
    return Number(ctx.input[name] ?? 0);
  }

  /** Takes everything that is recorded, says it, and gives it back after a wait. */
  const recorder = defineAgent({
    name: "recorder",
    version: "1.0.0",
    async run(ctx) {
      const once = (name: string) =>
        ctx.step(name, () => {
          note(name);
          return { random: Math.random(), large: name.repeat(5000) };
        });
      const failed = await ctx
        .step("failing", () => {
          note("failing");
          throw new AgentFailure("no_luck", "This went wrong.");
        })
        .catch((error: AgentFailure) => `${error.code}: ${error.message}`);
      const recorded = {
        first: await once("first"),
        failed,
        now: (await ctx.now()).toISOString(),
        random: await ctx.random(),
        uuids: [await ctx.uuid(), await ctx.uuid()],
        artifact: await ctx.artifact({ name: "a.txt", text: "content" }),
      };
      await ctx.progress("half", 50);
      await ctx.checkpoint("before the question");
      await ctx.say(JSON.stringify(recorded));
      const answer = await ctx.ask("Go on?");
      const second = await once("second");
      return { ...recorded, answer, second: second.random };
    },
  });

  /** Three branches of two steps each, side by side; the middle one waits at the gate. */
  const parallel = defineAgent({
    name: "parallel",
    version: "1.0.0",
    async run(ctx) {
      const branch = async (name: string) => {
        const one = await ctx.step(`${name}1`, async () => {
          note(`${name}1`);
          if (name === "b") await gate();
          return Math.random();
        });
        const two = await ctx.step(`${name}2`, () => {
          note(`${name}2`);
          return Math.random();
        });
        return [one, two];
      };
      return await Promise.all(["a", "b", "c"].map(branch));
    },
  });

  /** The same version with other code after a restart. */
  const changing = defineAgent({
    name: "changing",
    version: "1.0.0",
    async run(ctx) {
      const change = code === "changed" ? ctx.input.change : "nothing";
      const step = (name: string) =>
        ctx.step(name, () => {
          note(name);
          return name;
        });
      if (change === "ends at once") return "early";
      if (change === "adds a step") await step("prepare");
      if (change === "renames and catches") await step("download").catch(() => "caught");
      await step(change === "renames a step" ? "download" : "fetch");
      await ctx.say(change === "says something else" ? "Got it." : "Fetched.");
      await ctx.ask(change === "asks something else" ? "Continue?" : "Go on?");
      return "done";
    },
  });

  function versioned(version: string): Agent {
    return defineAgent({
      name: "versioned",
      version,
      async run(ctx) {
        // A wait that is never over, beside the one for the person.
        if (ctx.input.beside === "a sleep") void ctx.sleep(aDayMs);
        if (ctx.input.beside === "a child") {
          const child = await ctx.spawn({ personaId: "persona_rehearsal", input: `sleep ${aDayMs}` });
          void child.result();
        }
        await ctx.ask("Go on?");
        return `done by ${version}`;
      },
    });
  }

  /** Holds a lot of memory while it waits. */
  const holder = defineAgent({
    name: "holder",
    version: "1.0.0",
    async run(ctx) {
      const held = Buffer.alloc(numberOf(ctx, "bytes"), 1);
      const answer = await ctx.ask("Still there?");
      return `${answer} ${held.length}`;
    },
  });

  /** Works behind the gate and notes when it enters and leaves. */
  const busy = defineAgent({
    name: "busy",
    version: "1.0.0",
    async run(ctx) {
      await ctx.step("work", async () => {
        note(`enter ${ctx.text}`);
        await gate();
        // Work that takes a moment, so that others could come in.
        await new Promise((resolve) => setTimeout(resolve, 2));
        note(`leave ${ctx.text}`);
        return null;
      });
    },
  });

  /** Never ends by itself; at each level above the ground it has a child that does not either. */
  const patient = defineAgent({
    name: "patient",
    version: "1.0.0",
    async run(ctx) {
      const level = numberOf(ctx, "level");
      if (level > 0) await ctx.spawn({ input: { level: level - 1 } });
      await ctx.step("wait", ({ signal }) => {
        note(`working ${ctx.taskId}`);
        const { promise, resolve } = Promise.withResolvers<null>();
        signal.addEventListener("abort", () => {
          note(`aborted ${ctx.taskId} ${signal === ctx.signal}`);
          resolve(null);
        });
        return promise;
      });
      note(`went on ${ctx.taskId}`);
      return "went on";
    },
  });

  /** Asks or requests approval with a deadline. */
  const hurried = defineAgent({
    name: "hurried",
    version: "1.0.0",
    async run(ctx) {
      const expiresInMs = numberOf(ctx, "ms");
      if (ctx.input.kind === "approve") {
        await ctx.approve({ action: "Launch it", expiresInMs });
        return "approved";
      }
      return await ctx.ask("Anybody?", Type.String(), { expiresInMs });
    },
  });

  /** When the first question finds nobody, or the request is denied, it asks another question. */
  const persistent = defineAgent({
    name: "persistent",
    version: "1.0.0",
    async run(ctx) {
      try {
        if (ctx.input.kind === "approve") await ctx.approve({ action: "Launch it" });
        else await ctx.ask("Anybody?", Type.String(), { expiresInMs: numberOf(ctx, "ms") });
      } catch (error) {
        if (!(error instanceof WaitExpired) && !(error instanceof ApprovalDenied)) throw error;
      }
      return await ctx.ask("And now?");
    },
  });

  /** Goes on with whatever is there first, and later asks another question. */
  const racer = defineAgent({
    name: "racer",
    version: "1.0.0",
    async run(ctx) {
      const entrants =
        ctx.input.kind === "steps"
          ? [
              ctx.step("slow", async () => {
                await gate();
                return "slow";
              }),
              ctx.step("fast", () => "fast"),
            ]
          : [
              ctx.ask("Quick?").then((answer) => `answer ${answer}`),
              ctx.sleep(numberOf(ctx, "ms")).then(() => "time"),
            ];
      const winner = await Promise.race(entrants);
      await ctx.say(winner);
      await ctx.ask("And then?");
      return winner;
    },
  });

  /** Notes when it is told to stop, whatever it does. */
  const listener = defineAgent({
    name: "listener",
    version: "1.0.0",
    async run(ctx) {
      ctx.signal.addEventListener("abort", () => note(`aborted ${ctx.taskId}`));
      return await ctx.ask("Still there?");
    },
  });

  /** Gives back something that is no JSON, though it claims to be. */
  const circular = defineAgent({
    name: "circular",
    version: "1.0.0",
    async run() {
      const result: { self?: object } = {};
      result.self = result;
      return result as JsonObject;
    },
  });

  /** Has others play scripts, all at once, and gives back what came of each. */
  const director = defineAgent({
    name: "director",
    version: "1.0.0",
    async run(ctx) {
      const scripts = Array.isArray(ctx.input.scripts) ? ctx.input.scripts.map(String) : [];
      const personaId = String(ctx.input.persona ?? "persona_rehearsal");
      const children = await Promise.all(scripts.map((input) => ctx.spawn({ personaId, input })));
      await ctx.say(`Started ${children.length}.`);
      const results = await Promise.all(children.map((child) => child.result()));
      return results.map((result) => ({ ...result }));
    },
  });

  return [
    recorder,
    parallel,
    changing,
    holder,
    busy,
    patient,
    hurried,
    persistent,
    racer,
    listener,
    circular,
    director,
    ...versions.split(",").map(versioned),
  ];
}

if (import.meta.main) await serve({ agents: showingAgents(process.env) });
