/** Two runs side by side: what each step gave, what was said and made, what it cost. */

import type { BridleEvent, EventPayloads, Message } from "../../sdk/client/index.ts";
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
  const outputs = new Map<string, string>();
  const said = new Map<string, string>();
  for await (const event of remote.items<BridleEvent>(`/v1/tasks/${taskId}/events`)) {
    if (event.event === "user.message") said.set(event.payload.message.id, wordsOf(event.payload.message));
    const output = outputOf(event, said);
    if (output !== null) outputs.set(output.step ?? "result", output.text);
  }
  return outputs;
}

interface Output {
  step: string | undefined;
  text: string;
}

/** What an event says came out of a step; null for events that have no output. */
function outputOf(event: BridleEvent, said: ReadonlyMap<string, string>): Output | null {
  switch (event.event) {
    case "span.completed":
    case "span.failed": {
      const { step, result } = event.payload;
      const isError = "error" in result;
      return {
        step,
        text: isError ? `failed: ${JSON.stringify(result.error)}` : JSON.stringify(result.output),
      };
    }
    case "agent.message":
      return { step: event.payload.step, text: wordsOf(event.payload.message) };
    case "artifact.created": {
      const { step, artifact } = event.payload;
      return { step, text: `${artifact.name} ${artifact.sha256 ?? "(streamed)"}` };
    }
    case "user.tool_confirmation":
      return { step: event.payload.step, text: event.payload.approved ? "approved" : "denied" };
    case "user.input_submitted":
      return { step: event.payload.step, text: answerIn(event.payload, said) };
    default:
      return null;
  }
}

function wordsOf({ parts }: Message): string {
  return parts.map(partText).join(" ");
}

/** The message that was the answer or, in a replay, what was put in its place. */
function answerIn(
  { message_id, answer }: EventPayloads["user.input_submitted"],
  said: ReadonlyMap<string, string>,
): string {
  if (answer === undefined) return said.get(message_id) ?? message_id;
  return typeof answer === "string" ? answer : JSON.stringify(answer);
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
