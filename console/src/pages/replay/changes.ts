/** What is changed before a replay: which steps can be, what is wrong with a value, and the request that comes of it. */

import {
  InvalidRequest,
  type OverrideKind,
  overrideKindOf,
  type ReplayTaskRequest,
  type StepOutput,
} from "bridle/client";
import { isRedacted } from "../../parts/redacted.ts";
import { text } from "../../text.ts";
import { isRecord } from "../run/words.ts";

export interface EditableStep {
  key: string;
  kind: OverrideKind;
  /** As JSON with line breaks; null where the log has no value, or not for this key. */
  recorded: string | null;
  isHidden: boolean;
}

/** What somebody typed, by the key of the step. */
export type Changes = ReadonlyMap<string, string>;

export function editableSteps(outputs: ReadonlyMap<string, StepOutput>): EditableStep[] {
  return [...outputs].flatMap(([key, output]) => {
    const kind = overrideKindOf(key);
    if (kind === null || output.type === "message" || output.type === "artifact") return [];
    const value = givenBy(output);
    const isHidden = isRedacted(value);
    return [
      {
        key,
        kind,
        recorded: value === undefined || isHidden ? null : JSON.stringify(value, null, 2),
        isHidden,
      },
    ];
  });
}

/** As a replay takes it. A step that failed gave nothing. */
function givenBy(output: StepOutput): unknown {
  if (output.type === "value") return output.value;
  if (output.type !== "decision") return undefined;
  const { approved, reason } = output;
  return { approved, ...(reason === null ? {} : { reason }) };
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/** In words; null when the value can be sent. What only the server knows, such as the schema of an answer, it checks itself. */
export function problemIn({ key, kind }: EditableStep, typed: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(typed);
  } catch (error) {
    return text.replay.notJson(error instanceof Error ? error.message : String(error));
  }
  if (kind === "time") {
    const isTime = typeof value === "number" || (typeof value === "string" && rfc3339.test(value));
    return isTime ? null : text.replay.notTime;
  }
  if (key.startsWith("approve:")) {
    return isRecord(value) && typeof value.approved === "boolean" ? null : text.replay.notDecision;
  }
  return null;
}

export interface ReplayOptions {
  live: readonly string[];
  version: string | null;
  reason: string;
}

/** All changes are without problems. */
export function replayRequest(
  steps: readonly EditableStep[],
  changes: Changes,
  { live, version, reason }: ReplayOptions,
): ReplayTaskRequest {
  const override = Object.fromEntries(
    steps.flatMap(({ key, kind }) => {
      const typed = changes.get(key);
      return typed === undefined ? [] : [[key, { kind, value: JSON.parse(typed) as unknown }] as const];
    }),
  );
  const isExact = changes.size === 0 && live.length === 0 && version === null;
  return {
    mode: isExact ? "exact" : "with_overrides",
    override,
    metadata: { allow_live: [...live], ...(version === null ? {} : { agent_version: version }) },
    ...(reason === "" ? {} : { reason }),
  };
}

/** The step whose value the server refused. */
export function refusedStep(error: unknown, steps: readonly EditableStep[]): string | null {
  const param = error instanceof InvalidRequest ? error.param : null;
  if (param === null || !param.startsWith("override.")) return null;
  const rest = param.slice("override.".length);
  return steps.find(({ key }) => rest === key || rest.startsWith(`${key}.`))?.key ?? null;
}
