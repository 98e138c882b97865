/** Two runs side by side: what each step gave, what was said and made, what it cost. */

import type { Remote } from "../remote.ts";
import { oneLine } from "../terminal/text.ts";

interface Event {
  event: string;
  payload: Record<string, unknown>;
}

interface Receipt {
  lifecycle: { final_state: string };
  cost: { total: number; currency: string };
  autonomy_budget: { consumed: Record<string, number> };
}

const widthDefault = 120;
const stepWidthMax = 32;

export interface Comparison {
  isSame: boolean;
  /** What each step gave; null where there was no such step. */
  rows: { step: string; source: string | null; replay: string | null; is_same: boolean }[];
  text: string;
}

export async function compareRuns(remote: Remote, sourceId: string, replayId: string): Promise<Comparison> {
  const [source, replay] = await Promise.all([outputsOf(remote, sourceId), outputsOf(remote, replayId)]);
  const steps = [...new Set([...source.keys(), ...replay.keys()])];
  const stepWidth = Math.min(stepWidthMax, Math.max(4, ...steps.map((step) => step.length)));
  const column = Math.max(20, Math.floor(((process.stdout.columns ?? widthDefault) - stepWidth - 8) / 2));
  const row = (mark: string, step: string, left: string, right: string) =>
    `${mark} ${oneLine(step, stepWidth).padEnd(stepWidth)}  ${oneLine(left, column).padEnd(column)}  ${oneLine(right, column)}\n`;
  const rows = steps.map((step) => {
    const [left, right] = [source.get(step) ?? null, replay.get(step) ?? null];
    return { step, source: left, replay: right, is_same: left === right };
  });
  const totals = await Promise.all([sourceId, replayId].map((id) => totalsOf(remote, id)));
  const differing = rows.filter(({ is_same }) => !is_same).length;
  const lines = [
    row(" ", "", `source ${sourceId}`, `replay ${replayId}`),
    ...rows.map((item) => row(markOf(item), item.step, item.source ?? "", item.replay ?? "")),
    ...["ended", "cost", "tokens"].map((name, index) =>
      row(" ", name, totals[0]?.[index] ?? "", totals[1]?.[index] ?? ""),
    ),
    differing === 0
      ? "The two runs are the same.\n"
      : `${differing} of ${rows.length} steps and outputs differ.\n`,
  ];
  return { isSame: differing === 0, rows, text: lines.join("") };
}

function markOf({ source, replay, is_same }: Comparison["rows"][number]): string {
  if (is_same) return "=";
  return source === null ? "+" : replay === null ? "-" : "≠";
}

async function outputsOf(remote: Remote, taskId: string): Promise<Map<string, string>> {
  const outputs = new Map<string, string>();
  const said = new Map<string, string>();
  for await (const { event, payload } of remote.items<Event>(`/v1/tasks/${taskId}/events`)) {
    if (event === "user.message") said.set(Object(payload.message).id, wordsOf(payload.message));
    const output = event === "user.input_submitted" ? answerIn(payload, said) : outputOf(event, payload);
    if (output === null) continue;
    const step = typeof payload.step === "string" ? payload.step : "result";
    outputs.set(step, output);
  }
  return outputs;
}

/** What an event says came out of a step; nothing for what only begins one. */
function outputOf(event: string, payload: Record<string, unknown>): string | null {
  switch (event) {
    case "span.completed":
    case "span.failed": {
      const result = Object(payload.result);
      return "error" in result ? `failed: ${JSON.stringify(result.error)}` : JSON.stringify(result.output);
    }
    case "agent.message":
      return wordsOf(payload.message);
    case "artifact.created": {
      const { name, sha256 } = Object(payload.artifact);
      return `${name} ${sha256 ?? "(streamed)"}`;
    }
    case "user.tool_confirmation":
      return payload.approved === true ? "approved" : "denied";
    default:
      return null;
  }
}

function wordsOf(message: unknown): string {
  return Object(message).parts.map(textOf).join(" ");
}

/** What was answered: the message that is named or, in a replay, what was put in its place. */
function answerIn(payload: Record<string, unknown>, said: ReadonlyMap<string, string>): string {
  if (payload.answer === undefined) return said.get(String(payload.message_id)) ?? String(payload.message_id);
  return typeof payload.answer === "string" ? payload.answer : JSON.stringify(payload.answer);
}

function textOf(part: { type: string; text?: string; value?: unknown }): string {
  return part.type === "text" ? (part.text ?? "") : JSON.stringify(part.value ?? part);
}

async function totalsOf(remote: Remote, taskId: string): Promise<string[]> {
  const { data } = await remote.json<{ data: Receipt[] }>("GET", `/v1/tasks/${taskId}/receipts?limit=1`);
  const [receipt] = data;
  if (receipt === undefined) return ["no receipt", "", ""];
  const { cost, autonomy_budget, lifecycle } = receipt;
  const { input_tokens = 0, output_tokens = 0 } = autonomy_budget.consumed;
  return [
    lifecycle.final_state,
    `${cost.total} ${cost.currency}`,
    `${input_tokens} in, ${output_tokens} out`,
  ];
}
