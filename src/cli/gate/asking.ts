/** What the gate's commands that ask have in common: their settings, what they send, and how they are stopped. */

import type { GateInput } from "../../agents/gate.ts";
import type { GateVerdict } from "../../gate/decide.ts";
import type { GateRisk } from "../../gate/policy.ts";
import type { RemoteSettings } from "../remote.ts";
import { oneLine } from "../terminal/text.ts";
import { digestOf } from "./verify.ts";

export interface AskSettings extends RemoteSettings {
  policy?: string;
  risk?: GateRisk;
  wait: number;
}

export function inputFor(
  action: string,
  { action: decision, finding, risk }: GateVerdict,
  request: object,
  { runs, wait }: { runs: boolean; wait: number },
): GateInput {
  return {
    action: action.slice(0, 500),
    decision,
    rule: finding.rule,
    why: `${finding.what}: ${finding.why}`.slice(0, 4000),
    risk,
    request: { ...request },
    digest: digestOf(request),
    runs,
    wait_seconds: wait,
  };
}

/** Only for people: what is signed has the words apart. */
export function commandText(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

export function sayAsked(action: string): (approvers: readonly string[]) => void {
  return (approvers) => {
    const names = approvers.join(", ");
    process.stderr.write(`bridle gate: asked ${oneLine(names)} to approve: ${oneLine(action)}\n`);
  };
}

export const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Aborted when somebody stops the gate while it waits. */
export function stopSignal(): { signal: AbortSignal } & Disposable {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const ending of endings) process.once(ending, stop);
  return {
    signal: stopping.signal,
    [Symbol.dispose]() {
      for (const ending of endings) process.off(ending, stop);
    },
  };
}
