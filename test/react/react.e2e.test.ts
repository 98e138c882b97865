/** `useChat` of the AI SDK and the hooks of `bridle/react`, in a real browser against a server. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { defineAgent, defineTool, Type } from "bridle";
import { scripted } from "bridle/testing";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { noBrowser, startBrowser, type TestBrowser } from "../support/browser.ts";
import { Client, errorOf, isFinal, type Json } from "../support/client.ts";
import { adminKey, startServer, type TestServer } from "../support/server.ts";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: Type.Object({ at: Type.String() }),
  effect: "none",
  run: ({ at }) => `${at} is blue`,
});

/** Writes with a model that looks, asks, wants an approval, and ends. */
const guide = defineAgent({
  name: "guide",
  version: "1.0.0",
  tools: [look],
  async run(ctx) {
    if (ctx.text === "fail") throw new Error("no way");
    const messages = [{ role: "user" as const, content: ctx.text }];
    const { text } = await ctx.model.stream({ messages, tools: [look] }, { visibility: "public" });
    await ctx.say(text);
    const place = await ctx.ask("Where to?");
    await ctx.approve({ action: `go to ${place}`, payload: { place }, risk: "high" });
    return `Arrived: ${place}`;
  },
});

const answers = [
  { toolCalls: [{ name: "look", input: { at: "the sea" } }] },
  { text: "The sea is blue.", deltas: ["The sea ", "is ", "blue."] },
];

let browser: TestBrowser;
let server: TestServer;
let client: Client;
let pages: ReturnType<typeof createServer>;
let origin: string;

before(async () => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("page.tsx", import.meta.url))],
    ...{ bundle: true, write: false, format: "esm", jsx: "automatic", target: "es2024" },
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
  const script = outputFiles[0]?.text ?? "";
  pages = createServer((request, reply) => {
    if (request.url === "/page.js") return reply.setHeader("content-type", "text/javascript").end(script);
    reply.setHeader("content-type", "text/html");
    reply.end('<!doctype html><div id="root"></div><script type="module" src="/page.js"></script>');
  }).listen(0, "127.0.0.1");
  await once(pages, "listening");
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  const models = scripted((call) => {
    const [first, second] = answers;
    return (call.messages.at(-1)?.role === "tool" ? second : first) ?? "";
  });
  server = await startServer({ flags: ["--cors-origin", origin], config: { agents: [guide], models } });
  client = new Client(server);
  if (noBrowser === false) browser = await startBrowser();
});

after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  pages.close();
});

async function open(view: string, sessionId = ""): Promise<Page> {
  const page = await browser.newPage();
  const hash = new URLSearchParams({
    url: server.url,
    key: adminKey,
    agent: "guide",
    session: sessionId,
    view,
  });
  await page.goto(`${origin}/#${hash}`);
  return page;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Say").fill(text);
  await page.getByLabel("Say").press("Enter");
}

test("UIS-1 useChat shows tools and text, asks, takes an approval and ends, over a reload", {
  skip: noBrowser,
}, async () => {
  const { id } = await client.createSession();
  const page = await open("chat", id);
  await say(page, "What colour is the sea?");
  await page.getByText("The sea is blue.").waitFor();
  await page.getByText("look output-available").waitFor();
  await page.getByText("Where to?").waitFor();
  assert.equal(await page.getByText("The sea is blue.").count(), 1);

  await page.reload();
  await page.getByText("Where to?").waitFor();
  assert.equal(await page.locator("section.user").count(), 1);
  await say(page, "Porto");
  await page.getByRole("button", { name: "Approve go to Porto" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Approve go to Porto" }).click();
  await page.getByText("Arrived: Porto").waitFor();
  await page.getByText("approval output-available").waitFor();
  await page.getByText("ready", { exact: true }).waitFor();

  await page.reload();
  await page.getByText("Arrived: Porto").waitFor();
  assert.deepEqual(await page.locator("section.user p").allTextContents(), [
    "What colour is the sea?",
    "Porto",
  ]);
  await say(page, "fail");
  await page.getByText(/error: no way/).waitFor();
  await page.close();
});

test("UIS-2 the hooks show a conversation, its approvals and its task as they change", {
  skip: noBrowser,
}, async () => {
  const page = await open("hooks");
  await say(page, "What colour is the sea?");
  await page.getByText("The sea is blue.").waitFor();
  await page.getByText(/^asking INPUT_REQUIRED/).waitFor();
  await say(page, "Lisbon");
  await page.getByRole("button", { name: "Approve go to Lisbon" }).click();
  await page.getByText("Arrived: Lisbon").waitFor();
  await page.getByText(/^ready COMPLETED receipt\.issued/).waitFor();
  assert.equal(await page.getByRole("button").count(), 0);
  await page.close();
});

const chat = (sessionId: string, body: Json, options: Json = {}) =>
  client.call(`/v1/sessions/${sessionId}/ui`, { method: "POST", body, ...options });
const userSays = (text: string) => ({ messages: [{ role: "user", parts: [{ type: "text", text }] }] });

test("UIS-3 the UI stream refuses what it cannot do and needs the scopes of what it does", async () => {
  const { id } = await client.createSession();
  for (const [body, problem] of [
    [{ ...userSays("x"), trigger: "regenerate-message" }, /cannot be made again/],
    [{ messages: [{ role: "user", parts: [{ type: "file", url: "data:," }] }] }, /"file" is not supported/],
    [{ messages: [{ role: "assistant", parts: [] }] }, /last message must be/],
    [{ messages: [] }, /messages/],
  ] as const)
    assert.match(errorOf(await chat(id, body), 400).message, problem);
  assert.match(errorOf(await chat("session_none", userSays("x")), 404).message, /not found/);
  const { key } = await client.createKey({ scopes: ["tasks:write", "tasks:read"] });
  errorOf(await chat(id, userSays("x"), { key }), 403);
  assert.equal((await client.get(`/v1/sessions/${id}/ui/x/stream`)).status, 204);
  assert.deepEqual(
    (await client.get("/v1/tasks?limit=1")).body.data.filter((task: Json) => task.session_id === id),
    [],
  );
});

test("UIS-4 the UI stream needs no version header, and the task goes on when the page leaves", async () => {
  const { id } = await client.createSession();
  const leave = new AbortController();
  const answer = await fetch(`${server.url}/v1/sessions/${id}/ui`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...userSays("Hi"), agent: "guide" }),
    signal: leave.signal,
  });
  assert.equal(answer.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  leave.abort();
  const { body } = await client.get(`/v1/tasks?session_id=${id}`);
  const waiting = await client.untilTask(
    body.data[0].id,
    ({ status }) => status === "INPUT_REQUIRED" || isFinal({ status }),
  );
  assert.equal(waiting.status, "INPUT_REQUIRED");
});
