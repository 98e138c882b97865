/**
 * A program that embeds the shell: a kiosk which shows what an agent says, prints tickets when its person agrees, and does
 * nothing else. It plays the person too, checks what came of it, and exits with 1 when it is wrong.
 *
 *   node examples/kiosk/main.ts
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { approvalOf, messageText, Shell, type ShellState } from "bridle/shell";
import { defineAgent, startServer } from "../../src/index.ts";

const clerk = defineAgent({
  name: "clerk",
  version: "1.0.0",
  description: "Sells a ticket.",
  skills: [{ id: "sell", description: "Sell a ticket" }],
  async run(ctx) {
    const city = await ctx.ask("Where do you want to go?");
    await ctx.approve({ action: `charge 20 € for ${city}`, risk: "high" });
    const printed = await ctx.shell.directive({
      action_type: "com.example.kiosk.print",
      payload: {
        text: `One ticket to ${city}`,
        fallback_message: "Please ask at the counter for your ticket.",
      },
      requires_user_approval: true,
      deadline_ms: 30_000,
    });
    await ctx.shell.directive({
      action_type: "com.example.kiosk.dance",
      payload: { fallback_message: "(Imagine a little dance.)" },
    });
    return printed.status === "completed" ? "Have a good journey." : "No ticket was printed.";
  },
});

const data = mkdtempSync(join(tmpdir(), "bridle-example-"));
const server = await startServer({
  agents: [clerk],
  port: 0,
  dataDirectory: data,
  apiKey: "example-key-for-this-machine",
});
const { url } = server;
const key = "example-key-for-this-machine";

const screen: string[] = [];
const show = (text: string) => void screen.push(text);
const printTicket = async (text: string, _signal: AbortSignal) => void screen.push(`[printer] ${text}`);
const confirmOnScreen = async (text: string, _signal: AbortSignal) => {
  screen.push(`[asked] ${text}`);
  return true;
};
const storage = new Map<string, string>();

try {
  const shell = new Shell({
    url: `${url}/openharness/v1`,
    headers: { authorization: `Bearer ${key}` },
    identity: { shell_kind: "com.example.kiosk", locale: "en-GB" },
    taskHint: { sop_id: "clerk" },
    // What this program can do. Whatever else an engine wants is not done.
    handlers: {
      render_message: (directive) => show(messageText(directive) ?? ""),
      "com.example.kiosk.print": async ({ payload }, { signal }) => {
        await printTicket(String(payload.text), signal);
        return { printed: 1 };
      },
    },
    // Who is asked. Without this, the answer is always no.
    approve: async (directive, { signal }) => {
      const { summary, artifactHash } = approvalOf(directive);
      const what = summary ?? `Carry out ${directive.actionType}`;
      return await confirmOnScreen(`${what}? ${artifactHash?.slice(0, 8) ?? ""}`.trim(), signal);
    },
    onNotice: (text) => show(text),
    onDiagnostic: ({ code, actionType }) => show(`[log] ${code}: ${actionType}`),
    onStateChange: (state) => storage.set("conversation", JSON.stringify(state)),
  });

  let turn = await shell.send("A ticket, please.");
  if (turn.awaits === "answer") turn = await shell.send("Vienna");
  if (turn.status === "failed") show(`Sorry: ${turn.error?.message}`);

  assert.equal(turn.status, "completed");
  assert.deepEqual(
    screen.map((line) => line.replace(/\? [0-9a-f]{8}$/, "? <hash>")),
    [
      "Where do you want to go?",
      "[asked] charge 20 € for Vienna? <hash>",
      "[asked] Carry out com.example.kiosk.print?",
      "[printer] One ticket to Vienna",
      "(Imagine a little dance.)",
      "[log] unknown_action_type: com.example.kiosk.dance",
      "Have a good journey.",
    ],
  );
  const kept: ShellState = JSON.parse(storage.get("conversation") ?? "null");
  assert.equal(kept.continuation, undefined, "the run has ended");
  process.stdout.write(`${screen.join("\n")}\n`);
} finally {
  await server.stop(0);
  rmSync(data, { recursive: true, force: true });
}
