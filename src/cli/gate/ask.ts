/** `bridle gate ask`: a question of a script, with the proof as its answer. */

import { readFileSync } from "node:fs";
import { toolRequest } from "../../gate/request.ts";
import { escapedJson } from "../terminal/text.ts";
import { type AskSettings, inputFor, sayAsked, stopSignal } from "./asking.ts";
import { decide } from "./decision.ts";
import { denialOf } from "./denial.ts";
import { gateRemote } from "./gate-remote.ts";
import { settleDead } from "./journal.ts";

export interface AskCommandSettings extends AskSettings {
  action: string;
  payload?: string;
}

const payloadBytesMax = 512 * 1024;

/** Always asks: what a script names for approval no policy answers. */
export async function ask(settings: AskCommandSettings): Promise<void> {
  using stop = stopSignal();
  const { signal } = stop;
  try {
    const { action, payload, risk = "medium", wait } = settings;
    const details = payload === undefined ? null : payloadIn(payload);
    const request = toolRequest({ tool: "ask", from: "script", details, cwd: process.cwd() });
    const finding = { action: "ask", rule: null, what: action, why: "a script asks" } as const;
    const verdict = { action: "ask", risk, finding, findings: [finding] } as const;
    const remote = gateRemote(settings);
    await settleDead(remote);
    const input = inputFor(action, { ...verdict, findings: [finding] }, request, { runs: false, wait });
    const { taskId, proof } = await decide({ remote, input, signal, onAsked: sayAsked(action) });
    process.stdout.write(`${escapedJson({ task_id: taskId, request, ...proof }, 2)}\n`);
  } catch (error) {
    const { message, exitCode } = denialOf(error);
    process.stderr.write(`bridle gate: not approved. ${message}\n`);
    process.exitCode = signal.aborted ? 130 : exitCode;
  }
}

/** JSON as such, everything else as text; `-` is standard input. */
function payloadIn(file: string): unknown {
  const bytes = readFileSync(file === "-" ? 0 : file);
  if (bytes.length > payloadBytesMax)
    throw new Error(`${file} is larger than ${payloadBytesMax} bytes, which nobody reviews.`);
  const text = bytes.toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
