/**
 * A server with an agent that lets secrets slip in every way an agent can. Its input names the slip; what slips is in
 * the file `AGENT_PLANTS`, by the name of the slip, so that nobody had to send it over the wire.
 */

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  type AgentContext,
  AgentFailure,
  ApprovalDenied,
  defineAgent,
  Rejected,
  startServer,
  Type,
} from "bridle";
import { createLogger } from "../../src/server/logger.ts";
import type { JsonObject, JsonValue } from "../../src/store/port.ts";
import { sayReady } from "./ready.ts";

/** What one slip lets slip. */
export interface Slip {
  /** Text with a secret of every kind in it. */
  text: string;
  /** A short text with one secret, for names. */
  name: string;
  /** JSON with secrets in keys, in values, and under names that announce them. */
  json: JsonObject;
  /** Looks like nothing; only its being the value of a secret step makes it one. */
  secret: string;
  /** The same, of a secret step whose value is an object. */
  login: { user: string; pin: string };
  /** So much of text and secret that a reader learns something, and so little that neither is whole. */
  cutTo: { text: number; secret: number };
}

const { AGENT_PLANTS = "", BRIDLE_API_KEY = null } = process.env;
const planted: Record<string, Slip> = JSON.parse(readFileSync(AGENT_PLANTS, "utf8"));

const filler = "Ordinary words that fill the page. ".repeat(200);

function readSecret(ctx: AgentContext, { secret }: Slip): Promise<string> {
  return ctx.step("password", () => secret, { kind: "secret" });
}

/** A name per way to let something slip. What is returned is the task's result. */
const slips: Record<string, (ctx: AgentContext, slip: Slip) => Promise<JsonValue | undefined>> = {
  async "says text"(ctx, { text }) {
    await ctx.say(text);
    return undefined;
  },
  async "says a long text"(ctx, { text }) {
    await ctx.say(filler + text);
    return undefined;
  },
  async "says parts"(ctx, { text, json, name }) {
    await ctx.say([
      { type: "text", text, visibility: "internal" },
      { type: "json", value: json, visibility: "receipt_only" },
      { type: "tool_call", tool_call_id: name, name, input: json, visibility: "public" },
      { type: "tool_result", tool_call_id: name, output: text, status: "ok", visibility: "public" },
      { type: "file_ref", uri: name, mime_type: name, visibility: "public" },
    ]);
    return undefined;
  },
  async "gives text from a step"(ctx, { text }) {
    await ctx.step("work", () => text);
    return undefined;
  },
  async "gives JSON from steps of all kinds"(ctx, { json }) {
    for (const kind of ["llm", "mcp", "host", "step"] as const) await ctx.step("work", () => json, { kind });
    return undefined;
  },
  async "gives a long text from a step"(ctx, { text }) {
    await ctx.step("work", () => filler + text);
    return undefined;
  },
  async "throws in a step"(ctx, { text }) {
    await ctx
      .step("work", () => {
        throw new Error(text);
      })
      .catch(() => null);
    return undefined;
  },
  async "fails in a step"(ctx, { text, name }) {
    return await ctx.step("work", () => {
      throw new AgentFailure(name, text);
    });
  },
  async "names a step"(ctx, { name }) {
    return await ctx.step(name, () => 1);
  },
  /** Runs twice: what was recorded must be recognized again. */
  async "names everything and waits"(ctx, { name, text }) {
    await ctx.step(name, () => 1);
    await ctx.checkpoint(name);
    await ctx.now(name);
    await ctx.random(name);
    await ctx.uuid(name);
    await ctx.progress(text, 50);
    await ctx.say(text);
    await ctx.ask(text);
    return "went on";
  },
  async "asks with a schema"(ctx, { text }) {
    return await ctx.ask(text, Type.Object({ city: Type.String({ description: text }) }));
  },
  async "asks for approval"(ctx, { text, json }) {
    await ctx
      .approve({ action: text, payload: json, risk: "high" })
      .catch((error) => (error instanceof ApprovalDenied ? null : Promise.reject(error)));
    return undefined;
  },
  async "is denied"(ctx, { text }) {
    await ctx.approve({ action: text });
    return undefined;
  },
  async "finds nobody"(ctx, { text }) {
    return await ctx.ask(text, Type.String(), { expiresInMs: 1 });
  },
  async "writes an artifact"(ctx, { text, name, json }) {
    await ctx.artifact({ name, mimeType: "text/plain", metadata: json, text });
    await ctx.artifact({ name, mimeType: name, visibility: "internal", text: filler + text });
    return undefined;
  },
  async "writes JSON into an artifact"(ctx, { json }) {
    await ctx.artifact({ name: "data.json", json });
    return undefined;
  },
  async "streams an artifact"(ctx, { text, name, json }) {
    const artifact = await ctx.streamArtifact({ name, metadata: json });
    await artifact.write("first\n");
    await artifact.write(`${text}\n`);
    await artifact.write(filler + text);
    await artifact.close();
    return undefined;
  },
  /** As a model's tokens come: a few characters each. */
  async "streams an artifact in small pieces"(ctx, { text }) {
    const artifact = await ctx.streamArtifact({ name: "tokens.txt" });
    for (let at = 0; at < text.length; at += 5) await artifact.write(text.slice(at, at + 5));
    await artifact.close();
    return undefined;
  },
  async "spawns with text"(ctx, { text }) {
    const child = await ctx.spawn({ personaId: "persona_default", input: text });
    return { ...(await child.result()) };
  },
  async "spawns with JSON"(ctx, { json }) {
    const child = await ctx.spawn({ personaId: "persona_default", input: json });
    return { ...(await child.result()) };
  },
  async "spawns nobody"(ctx, { name }) {
    await ctx.spawn({ personaId: name, input: "work" });
    return undefined;
  },
  async "spawns one who fails"(ctx, { text }) {
    const child = await ctx.spawn({ personaId: "persona_slipping", input: { slip: "throws", note: text } });
    return { ...(await child.result()) };
  },
  async "returns text"(_ctx, { text }) {
    return text;
  },
  async "returns JSON"(_ctx, { json }) {
    return json;
  },
  async "returns a long text"(_ctx, { text }) {
    return filler + text;
  },
  async throws(_ctx, { text }) {
    throw new Error(text);
  },
  async "throws text"(_ctx, { text }) {
    throw text;
  },
  async "fails with details"(_ctx, { text, name, json }) {
    throw new AgentFailure(name, text, json);
  },
  async rejects(_ctx, { text }) {
    throw new Rejected(text);
  },
  async "changes its mind"(ctx, { text, name }) {
    // Before the server is started again it says one thing, after it another: the failure quotes both.
    await ctx.say(`${process.pid} ${text}`);
    await ctx.step(`${name} ${process.pid}`, () => 1);
    await ctx.ask("Go on?");
    return undefined;
  },

  // The value of a secret step

  async "says a secret"(ctx, slip) {
    const secret = await readSecret(ctx, slip);
    await ctx.say(`The secret is ${secret}.`);
    await ctx.say(JSON.stringify({ inside: secret }));
    await ctx.say(`https://example.com/?q=${encodeURIComponent(secret)}`);
    await ctx.say(filler + secret);
    await ctx.say([{ type: "json", value: { [secret]: secret, list: [secret] }, visibility: "public" }]);
    return undefined;
  },
  async "says a secret in JSON in JSON"(ctx, slip) {
    const inside = JSON.stringify({ value: await readSecret(ctx, slip) });
    await ctx.say(JSON.stringify({ inside }));
    return undefined;
  },
  async "returns a secret"(ctx, slip) {
    return await readSecret(ctx, slip);
  },
  async "returns a secret in JSON"(ctx, slip) {
    const secret = await readSecret(ctx, slip);
    return { [secret]: [secret] };
  },
  async "throws a secret"(ctx, slip) {
    throw new Error(`Refused: ${await readSecret(ctx, slip)}`);
  },
  async "fails with a secret"(ctx, slip) {
    const secret = await readSecret(ctx, slip);
    throw new AgentFailure(secret, secret, { [secret]: secret });
  },
  async "writes secrets into artifacts"(ctx, slip) {
    const secret = await readSecret(ctx, slip);
    await ctx.artifact({ name: secret, metadata: { [secret]: secret }, text: `It is ${secret}.` });
    await ctx.artifact({ name: "data.json", json: { [secret]: secret } });
    const artifact = await ctx.streamArtifact({ name: secret, metadata: { secret } });
    await artifact.write(`It is ${secret}.`);
    await artifact.close();
    return undefined;
  },
  async "streams a secret in small pieces"(ctx, slip) {
    const secret = await readSecret(ctx, slip);
    const artifact = await ctx.streamArtifact({ name: "tokens.txt" });
    for (let at = 0; at < secret.length; at += 5) await artifact.write(secret.slice(at, at + 5));
    await artifact.close();
    return undefined;
  },
  async "passes a secret around"(ctx, slip) {
    const secret = await readSecret(ctx, slip);
    await ctx.step(secret, () => ({ secret, inside: `<${secret}>` }));
    await ctx
      .step("fails", () => {
        throw new AgentFailure(secret, secret);
      })
      .catch(() => null);
    await ctx.progress(secret);
    await ctx.checkpoint(secret);
    await ctx.now(secret);
    const child = await ctx.spawn({
      personaId: "persona_default",
      input: { text: secret, [secret]: secret },
    });
    await child.result();
    return undefined;
  },
  async "asks with a secret"(ctx, slip) {
    const secret = await readSecret(ctx, slip);
    await ctx.say(`It is ${secret}.`);
    await ctx.ask(`Is it ${secret}?`);
    await ctx.approve({ action: `Use ${secret}`, payload: { [secret]: secret } });
    return secret;
  },
  async "returns so much that a summary cuts a secret"(ctx, slip) {
    return padded(await readSecret(ctx, slip), slip.cutTo.secret);
  },
  async "throws so much that a summary cuts a secret"(ctx, slip) {
    throw new Error(padded(await readSecret(ctx, slip), slip.cutTo.secret));
  },
  async "returns so much that a summary cuts it"(_ctx, { text, cutTo }) {
    return padded(text, cutTo.text);
  },
  async "cannot read a secret"(ctx, { text, secret }) {
    return await ctx.step(
      "password",
      () => {
        throw new Error(`The vault said ${text} ${secret.length}`);
      },
      { kind: "secret" },
    );
  },
  async "reads a login"(ctx, { login }) {
    const { user, pin } = await ctx.step("login", () => login, { kind: "secret" });
    await ctx.say(`The user ${user} has ${pin}.`);
    await ctx.artifact({ name: "pin.txt", text: pin });
    return pin;
  },
  async "reads several secrets"(ctx, { secret, login }) {
    const one = await ctx.step("one", () => secret, { kind: "secret" });
    await ctx.say(`One is ${one}.`);
    const two = await ctx.step("two", () => [login.pin], { kind: "secret" });
    return { one, two };
  },
};

/** So many characters of a result are in its summary. */
const summaryChars = 279;

/** A text of which the summary shows the first characters only. */
function padded(text: string, shown: number): string {
  return `${"x".repeat(summaryChars - 1 - shown)} ${text}`;
}

const slipping = defineAgent({
  name: "slipping",
  version: "1.0.0",
  async run(ctx) {
    const name = String(ctx.input.slip ?? ctx.text);
    const [slip, plants] = [slips[name], planted[String(ctx.input.plant ?? name)]];
    if (slip === undefined || plants === undefined) throw new AgentFailure("unknown_slip", name);
    return await slip(ctx, plants);
  },
});

const { values } = parseArgs({ options: { port: { type: "string" }, data: { type: "string" } } });
const server = await startServer({
  port: Number(values.port),
  dataDirectory: String(values.data),
  apiKey: BRIDLE_API_KEY,
  logger: createLogger("trace", BRIDLE_API_KEY === null ? [] : [BRIDLE_API_KEY]),
  agents: [slipping],
});
sayReady(server);
process.once("SIGINT", () => server.stop(0));
