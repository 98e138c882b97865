/** Two runs side by side: what each step gave, what was said and made, what it cost. */

import { type BridleEvent, type StepOutput, StepOutputs } from "../../sdk/client/index.ts";
import type { Remote } from "../remote.ts";
import { partText } from "../task/facts.ts";
import { oneLine } from "../terminal/text.ts";

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
  const outputs = new StepOutputs();
  for await (const event of remote.items<BridleEvent>(`/v1/tasks/${taskId}/events`)) outputs.add(event);
  return new Map([...outputs.all].map(([step, output]) => [step, textOf(output)]));
}

function textOf(output: StepOutput): string {
  switch (output.type) {
    case "value":
      return JSON.stringify(output.value);
    case "error":
      return `failed: ${JSON.stringify(output.error)}`;
    case "message":
      return output.message.parts.map(partText).join(" ");
    case "artifact":
      return `${output.artifact.name} ${output.artifact.sha256 ?? "(streamed)"}`;
    case "decision":
      return output.approved ? "approved" : "denied";
  }
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
