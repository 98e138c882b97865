/** `bridle gate hook`: a coding tool asks before it does something. Whatever goes wrong here, the tool is told no. */

import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { decideGate, type GateSubject } from "../../gate/decide.ts";
import { type HookAdapter, hookSeconds, hookWaitSeconds } from "../../gate/hooks/adapter.ts";
import { adapterNamed } from "../../gate/hooks/adapters.ts";
import { loadPolicy } from "../../gate/policy-files.ts";
import { toolRequest } from "../../gate/request.ts";
import { isRecord } from "../../sdk/client/errors.ts";
import type { Remote } from "../remote.ts";
import { oneLine } from "../terminal/text.ts";
import { type AskSettings, inputFor, stopSignal } from "./asking.ts";
import { decide } from "./decision.ts";
import { Denied, denialOf } from "./denial.ts";
import { gateRemote } from "./gate-remote.ts";
import { withStanding } from "./standing.ts";

const inputBytesMax = 1024 * 1024;
const actionCharsMax = 300;
const overdueMs = (hookSeconds - 10) * 1000;

export async function hook(name: string, settings: AskSettings): Promise<void> {
  const adapter = adapterNamed(name);
  let input: Record<string, unknown> | null = null;
  let verdict = { isAllowed: false, reason: "bridle gate: it could not be decided." };
  // Before the tool gives up on the hook, which some tools take for a yes.
  const overdue = setTimeout(() => {
    finish(adapter, { isAllowed: false, reason: "bridle gate: not decided in time." }, input);
    process.exit();
  }, overdueMs);
  try {
    input = await readInput();
    verdict = { isAllowed: true, reason: await decideUse(adapter, input, settings) };
  } catch (error) {
    verdict = { isAllowed: false, reason: `bridle gate: not allowed. ${denialOf(error).message}` };
  }
  clearTimeout(overdue);
  finish(adapter, verdict, input);
}

function finish(
  adapter: HookAdapter,
  verdict: { isAllowed: boolean; reason: string },
  input: Record<string, unknown> | null,
): void {
  const { stdout, stderr, exitCode } = adapter.answer({ ...verdict, reason: oneLine(verdict.reason) }, input);
  process.exitCode = exitCode;
  process.stderr.write(stderr);
  process.stdout.write(stdout);
}

async function readInput(): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    bytes += chunk.length;
    if (bytes > inputBytesMax)
      throw new Denied(`More than ${inputBytesMax} bytes are nothing that a person can review.`);
    chunks.push(chunk);
  }
  const input: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  if (!isRecord(input)) throw new Denied("The hook was not given an object.");
  return input;
}

/** Why it is allowed. */
async function decideUse(
  adapter: HookAdapter,
  call: Record<string, unknown>,
  settings: AskSettings,
): Promise<string> {
  const { subject, details, cwd: place, session } = adapter.read(call);
  const cwd = place ?? process.cwd();
  const { policy } = loadPolicy(cwd, settings.policy);
  const verdict = decideGate(policy, subject, { cwd, home: homedir() });
  const remote = gateRemote(settings);
  const sessionId = await sessionFor(remote, adapter.name, session);
  const request = toolRequest({ tool: subject.tool, from: adapter.name, details, cwd });
  const wait = Math.min(settings.wait, hookWaitSeconds);
  const asked = inputFor(actionOf(adapter, subject), verdict, request, { runs: false, wait });
  const input = await withStanding(remote, asked, { subject, cwd, sessionId });
  using stop = stopSignal();
  await decide({ remote, input, sessionId, signal: stop.signal });
  if (input.standing_task !== undefined) return `A standing permission covers it (${input.standing_task}).`;
  return verdict.action === "ask"
    ? "An approver signed it."
    : `The policy allows it (${verdict.finding.rule ?? "default"}).`;
}

/** One session of the tool is one here, so that what is signed for a session is for that one. */
async function sessionFor(remote: Remote, tool: string, session: string | null): Promise<string> {
  if (session === null) return (await remote.client.sessions.create()).id;
  const name = createHash("sha256")
    .update(JSON.stringify([tool, session]))
    .digest("hex");
  return (await remote.client.sessions.create({ idempotencyKey: `gate-${name}` })).id;
}

function actionOf({ name }: HookAdapter, { tool, line, paths = [], urls = [] }: GateSubject): string {
  const about = line ?? [...paths, ...urls].join(", ");
  return oneLine(`${name}: ${tool}${about === "" ? "" : ` ${about}`}`).slice(0, actionCharsMax);
}
