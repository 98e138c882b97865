/** Two runs, step by step. */

import type { Message, StepOutput } from "bridle/client";
import { text } from "../../text.ts";

export interface ComparedStep {
  key: string;
  /** Undefined where there is no such step. */
  source: unknown;
  replay: unknown;
  isSame: boolean;
}

export function compareOutputs(
  source: ReadonlyMap<string, StepOutput>,
  replay: ReadonlyMap<string, StepOutput>,
): ComparedStep[] {
  const keys = new Set([...source.keys(), ...replay.keys()]);
  return [...keys].map((key) => {
    const [left, right] = [shownOf(source.get(key)), shownOf(replay.get(key))];
    return { key, source: left, replay: right, isSame: JSON.stringify(left) === JSON.stringify(right) };
  });
}

/** What somebody compares: without ids and times, which differ always. */
function shownOf(output: StepOutput | undefined): unknown {
  switch (output?.type) {
    case undefined:
      return undefined;
    case "value":
      return output.value ?? null;
    case "error":
      return { [text.replay.failed]: output.error };
    case "message":
      return wordsIn(output.message);
    case "artifact":
      return `${output.artifact.name ?? ""} ${output.artifact.sha256 ?? text.replay.streamed}`;
    case "decision":
      return output.approved ? text.replay.approved : text.replay.denied;
  }
}

/** Its place; -1 when all that both runs have is the same. While one goes on, what it has not done yet is no difference. */
export function firstDifference(rows: readonly ComparedStep[], isOver: boolean): number {
  return rows.findIndex(({ isSame, replay }) => !isSame && (isOver || replay !== undefined));
}

function wordsIn({ parts }: Message): unknown {
  const words = parts.flatMap((part) => ("text" in part && typeof part.text === "string" ? [part.text] : []));
  return words.length === parts.length ? words.join("\n") : parts;
}
