/**
 * A server with agents for shells:
 *
 *   director   gives the directives of its input, one after the other or side by side, and returns what came of each
 *   confidant  is told in confidence: does with the shell's state what `input.do` says
 *   mirror     returns what it knows of the shell
 *   asker      asks with a schema, then for permission with a payload
 */

import type { AgentContext, ServerConfig, ShellDirective, StepContext } from "bridle";
import { AgentFailure, defineAgent, Type } from "bridle";
import type { JsonObject, JsonValue } from "../../src/store/port.ts";
import { serve } from "./serve.ts";

const director = defineAgent({
  name: "director",
  version: "1",
  async run(ctx) {
    // What a test gives is checked by what is under test.
    const directives: ShellDirective[] = JSON.parse(JSON.stringify(ctx.input.directives ?? []));
    const give = (directive: ShellDirective) =>
      ctx.shell.directive(directive).catch((error: unknown) => {
        if (!(error instanceof AgentFailure)) throw error;
        return { code: error.code, message: error.message };
      });
    if (ctx.input.parallel === true) return await Promise.all(directives.map(give));
    const outcomes: JsonValue[] = [];
    for (const directive of directives) outcomes.push(await give(directive));
    return outcomes;
  },
});

const gone = "environment_gone";

/** How long the word is that it was told: the state goes nowhere else. */
async function wordLength(ctx: AgentContext, name: string): Promise<JsonValue> {
  const environment = await ctx.shell.environment();
  return await ctx.step(name, (step) => lengthOf(environment?.reveal(step)));
}

function lengthOf(state: JsonObject | undefined): number {
  return String(state?.word ?? "").length;
}

const confidences: Record<string, (ctx: AgentContext) => Promise<JsonValue | undefined>> = {
  /** Says whatever it can. */
  async leak(ctx) {
    const environment = await ctx.shell.environment();
    const told: { state: JsonObject } = { state: {} };
    await ctx.step("take", (step) => {
      told.state = environment?.reveal(step) ?? {};
    });
    const secret = JSON.stringify(told.state);
    await ctx.say(`I was told ${secret}`);
    await ctx.progress(`still thinking about ${secret}`);
    await ctx.artifact({ name: `about-${String(told.state.pin)}`, text: secret });
    await ctx.step(`step ${String(told.state.word)}`, () => told.state);
    await ctx.shell.directive({ action_type: "render_ui", payload: { component: "Leak", data: told.state } });
    throw new AgentFailure("leaked", `It was ${secret}`, told.state);
  },
  async count(ctx) {
    return await wordLength(ctx, "look");
  },
  /** Looks before and after a question, and asks for what is gone. */
  async again(ctx) {
    const first = await wordLength(ctx, "first");
    const answer = await ctx.ask("Shall I go on?");
    const environment = await ctx.shell.environment();
    try {
      const second = await ctx.step("second", (step) => lengthOf(environment?.reveal(step)));
      return { first, answer, second };
    } catch (error) {
      if (!(error instanceof AgentFailure) || error.code !== gone) throw error;
    }
    const { status } = await ctx.shell.directive({
      action_type: "com.bridle.environment.request",
      payload: { fallback_message: "Please sign in again." },
    });
    return { first, answer, status, again: await wordLength(ctx, "third") };
  },
  async outside(ctx) {
    const environment = await ctx.shell.environment();
    const kept: { step: StepContext | null } = { step: null };
    await ctx.step("keep", (step) => {
      kept.step = step;
    });
    if (kept.step === null || environment === null) return null;
    return environment.reveal(kept.step);
  },
  async model(ctx) {
    const environment = await ctx.shell.environment();
    return await ctx.step("chat", (step) => lengthOf(environment?.reveal(step)), {
      kind: "llm",
    });
  },
  async tier(ctx) {
    const environment = await ctx.shell.environment();
    return environment === null ? null : { tier: environment.tier, state: environment.state };
  },
};

const confidant = defineAgent({
  name: "confidant",
  version: "1",
  async run(ctx) {
    return await confidences[String(ctx.input.do)]?.(ctx);
  },
});

const mirror = defineAgent({
  name: "mirror",
  version: "1",
  async run(ctx) {
    const { isPresent, identity, hint } = ctx.shell;
    const environment = await ctx.shell.environment();
    return {
      isPresent,
      identity,
      hint,
      input: ctx.input,
      text: ctx.text,
      parts: [...ctx.parts],
      environment: environment?.tier ?? null,
    };
  },
});

const asker = defineAgent({
  name: "asker",
  version: "1",
  async run(ctx) {
    const { region } = await ctx.ask("Which region?", Type.Object({ region: Type.String() }));
    await ctx.approve({ action: `deploy to ${region}`, payload: { region }, risk: "dangerous" });
    return `deployed to ${region}`;
  },
});

export const config: Partial<ServerConfig> = {
  agents: [director, confidant, mirror, asker],
  authFailuresMax: 10_000,
};

if (import.meta.main) await serve(config);
