/**
 * Plays a script, one instruction a line, so that the author of a client can see every state a task can be in
 * without a model, a person or a network. The whole script is read before the first line runs.
 */

import { type AgentContext, defineAgent } from "../runtime/agents/agent.ts";
import { AgentFailure, Rejected } from "../runtime/run/failures.ts";
import type { JsonValue } from "../store/port.ts";

/** Longer than this is a mistake in the script. */
const sleepMsMax = 30 * 24 * 60 * 60 * 1000;
const chunksMax = 10_000;
const tokensMax = 1_000_000_000;

/** What an instruction gives back ends the run with that result; nothing lets it go on. */
type Instruction = (
  ctx: AgentContext,
  argument: string,
) => Promise<{ result: JsonValue | undefined } | undefined>;

interface Line {
  number: number;
  word: string;
  argument: string;
}

const instructions: Record<string, Instruction> = {
  async say(ctx, text) {
    await ctx.say(text);
    return undefined;
  },
  async ask(ctx, question) {
    const answer = await ctx.ask(question);
    await ctx.say(`You said: ${typeof answer === "string" ? answer : JSON.stringify(answer)}`);
    return undefined;
  },
  async approve(ctx, action) {
    await ctx.approve({ action });
    await ctx.say(`Approved: ${action}`);
    return undefined;
  },
  async sleep(ctx, argument) {
    await ctx.sleep(Number(argument));
    return undefined;
  },
  async artifact(ctx, argument) {
    const [name, text] = splitWord(argument);
    await ctx.artifact({ name, text });
    return undefined;
  },
  async stream(ctx, argument) {
    const count = Number(argument);
    const artifact = await ctx.streamArtifact({ name: `stream-${count}.txt`, mimeType: "text/plain" });
    for (let n = 1; n <= count; n++) await artifact.write(`chunk ${n} of ${count}\n`);
    await artifact.close();
    return undefined;
  },
  async step(ctx, name) {
    const value = await ctx.step(name, () => Math.random());
    await ctx.say(`Step ${name} gave ${value}`);
    return undefined;
  },
  async host(ctx, argument) {
    const [capability, json] = splitWord(argument);
    const given = await ctx.host(capability, json === "" ? null : JSON.parse(json));
    await ctx.say(`Host ${capability} gave ${JSON.stringify(given)}`);
    return undefined;
  },
  async directive(ctx, argument) {
    const [action_type, json] = splitWord(argument);
    const terms = json === "" ? {} : JSON.parse(json);
    const { status, result } = await ctx.shell.directive({ ...terms, action_type });
    if (status !== "shown")
      await ctx.say(`Directive ${action_type} came to ${status}: ${JSON.stringify(result)}`);
    return undefined;
  },
  async progress(ctx, message) {
    await ctx.progress(message);
    return undefined;
  },
  async handoff(ctx, argument) {
    const [url, text] = splitWord(argument);
    const { status, output } = await ctx.handoff({ url, input: text });
    const said = typeof output === "string" ? output : JSON.stringify(output);
    await ctx.say(`Hand-off to ${url} ended ${status}: ${said}`);
    return undefined;
  },
  async secret(ctx, name) {
    const value = await ctx.secret(name);
    await ctx.say(`Secret ${name} has ${[...value].length} characters`);
    return undefined;
  },
  async file(ctx, argument) {
    const [path, text] = splitWord(argument);
    const { bytes } = await ctx.files.write(path, text);
    await ctx.say(`Wrote ${path} (${bytes} bytes)`);
    return undefined;
  },
  async effect(ctx, name) {
    const { outcome, output, artifactId } = await ctx.effect(name, () => countEffect(ctx.taskId, name), {
      payload: { name },
    });
    if (outcome === "done") await ctx.say(`Effect ${name} was done (${output})`);
    else if (outcome === "proposed") await ctx.say(`Effect ${name} was proposed in ${artifactId}`);
    else await ctx.say(`Effect ${name} was simulated`);
    return undefined;
  },
  async spend(ctx, argument) {
    await ctx.spend({ outputTokens: Number(argument) });
    await ctx.say(`Spent ${argument} tokens`);
    return undefined;
  },
  async checkpoint(ctx, name) {
    await ctx.checkpoint(name);
    return undefined;
  },
  async memory(ctx, argument) {
    const [verb, rest] = splitWord(argument);
    const [key, text] = splitWord(rest);
    if (verb === "write") {
      await ctx.memory.write(key, text);
      await ctx.say(`Remembered ${key}`);
      return undefined;
    }
    const known = await ctx.memory.read(key);
    const said = typeof known === "string" ? known : JSON.stringify(known);
    await ctx.say(known === undefined ? `Nothing is known of ${key}` : `${key} is ${said}`);
    return undefined;
  },
  async fail(_ctx, message) {
    throw new AgentFailure("rehearsed_failure", message);
  },
  async reject(_ctx, message) {
    throw new Rejected(message);
  },
  async return(_ctx, text) {
    return { result: text };
  },
};

/** How often each effect of a task was carried out by this process. */
const effects = new Map<string, number>();
const effectsMax = 10_000;

function countEffect(taskId: string, name: string): number {
  const key = `${taskId} ${name}`;
  const count = (effects.get(key) ?? 0) + 1;
  if (effects.size >= effectsMax) effects.clear();
  effects.set(key, count);
  return count;
}

const withNumber = { sleep: sleepMsMax, stream: chunksMax, spend: tokensMax } as const satisfies Record<
  string,
  number
>;

export const rehearsal = defineAgent({
  name: "rehearsal",
  version: "1.0.0",
  description: `Plays a script, one instruction a line: ${Object.keys(instructions).join(", ")}.`,
  skills: [
    { id: "rehearse", name: "Rehearse", description: "Put a task into any state, as the script says." },
  ],
  async run(ctx) {
    const script = parseScript(ctx.text);
    for (const { word, argument } of script) {
      const end = await instructions[word]?.(ctx, argument);
      if (end !== undefined) return end.result;
    }
    return undefined;
  },
});

function parseScript(text: string): Line[] {
  return text.split("\n").flatMap((raw, index) => {
    const [word, argument] = splitWord(raw.trim());
    if (word === "") return [];
    const line = { number: index + 1, word, argument };
    check(line);
    return [line];
  });
}

function check({ number, word, argument }: Line): void {
  if (!Object.hasOwn(instructions, word)) {
    const known = Object.keys(instructions).join(", ");
    throw new AgentFailure(
      "unknown_instruction",
      `Line ${number}: unknown instruction "${word}". Known: ${known}.`,
    );
  }
  if (word === "sleep" || word === "stream" || word === "spend") {
    const value = Number(argument);
    const max = withNumber[word];
    if (argument === "" || !Number.isInteger(value) || value < 0 || value > max) {
      throw new AgentFailure(
        "bad_instruction",
        `Line ${number}: "${word}" needs a whole number from 0 to ${max}.`,
      );
    }
    return;
  }
  if (word === "memory" && !/^(?:write \S+ .|read \S+$)/.test(argument)) {
    throw new AgentFailure(
      "bad_instruction",
      `Line ${number}: "memory" needs "write KEY TEXT" or "read KEY" after it.`,
    );
  }
  if (word === "handoff" && !/^https?:\/\/\S+\s+\S/.test(argument)) {
    throw new AgentFailure("bad_instruction", `Line ${number}: "handoff" needs a URL and a text after it.`);
  }
  if (word === "host" || word === "directive") {
    const [, json] = splitWord(argument);
    const what = word === "host" ? "a capability" : "an action_type";
    if (json !== "" && !isJson(json)) {
      throw new AgentFailure("bad_instruction", `Line ${number}: "${word}" needs ${what} and JSON after it.`);
    }
  }
  if (argument === "" && word !== "return") {
    throw new AgentFailure("bad_instruction", `Line ${number}: "${word}" needs something after it.`);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function splitWord(text: string): [string, string] {
  const space = text.search(/\s/);
  return space === -1 ? [text, ""] : [text.slice(0, space), text.slice(space + 1).trim()];
}
