/** One sentence for a person on what a task waits for or why it ended, and what would help. */

import type { Cause } from "./cause.ts";
import { helpFor } from "./failure-help.ts";

export interface Words {
  sentence: string;
  whatHelps: string[];
}

const quotedCharsMax = 200;
const namedMax = 5;

type Say<K extends Cause["kind"]> = (cause: Extract<Cause, { kind: K }>) => Words;

const say: { [K in Cause["kind"]]: Say<K> } = {
  completed: ({ summary }) => ({
    sentence: summary === "" ? "The task is done." : `The task is done: ${ended(oneLine(summary))}`,
    whatHelps: [],
  }),
  failed: ({ failure, agent }) => ({
    sentence: `The task failed with ${failure.code}: ${ended(oneLine(failure.message))}`,
    whatHelps: helpFor(failure, agent),
  }),
  canceled: ({ by, reason }) => ({
    sentence: ended(
      `The task was canceled${by === null ? "" : ` by ${by}`}${reason === null ? "" : `: ${oneLine(reason)}`}`,
    ),
    whatHelps: ["Submit it again if it is still wanted: a canceled task does not go on."],
  }),
  input: ({ prompt, until }) => ({
    sentence: `The task asked ${quoted(prompt)} and waits for the answer, until ${time(until)} at the latest.`,
    whatHelps: ["Answer the question."],
  }),
  approval({ action, risk, approved, quorum, askedOf, isSigned, until }) {
    const asked = askedOf.length === 0 ? "" : `, asked of ${listed(askedOf)}`;
    const count = `${approved} of ${quorum} ${quorum === 1 ? "approval" : "approvals"}`;
    return {
      sentence: `The task waits for permission to ${quoted(action)} (risk: ${risk}): it has ${count}${asked}, and asks until ${time(until)}.`,
      whatHelps: [
        isSigned
          ? "Approve or deny it as a paired approver: only signatures count here."
          : "Approve or deny the permission request.",
        ...(isSigned && askedOf.length === 0 ? ["Pair an approver: nobody could be asked yet."] : []),
      ],
    };
  },
  quota_question({ quotaId, limit, resetAt, until }) {
    const used = limit === null ? "" : ` (${limit.used} of ${limit.most} ${limit.name} are used)`;
    return {
      sentence: `The task came to the limit of quota ${quotaId}${used} and waits for a person to let it go on, until ${time(until)} at the latest.`,
      whatHelps: [
        "Approve that it goes on beyond the limit, or deny it, which ends the task.",
        `Raise the limits of quota ${quotaId} for what comes after it.`,
        ...(resetAt === null ? [] : [`The quota starts anew at ${time(resetAt)}.`]),
      ],
    };
  },
  budget: ({ quotaIds }) => ({
    sentence: `The task waits for its budget: what is left of ${listed(quotaIds.map((id) => `quota ${id}`))} is reserved for models that are answering.`,
    whatHelps: [
      "It goes on by itself when they have answered and used less than was reserved.",
      "Raise the limits.",
    ],
  }),
  retry({ blocker: { what, attempt, code, message, until } }) {
    return {
      sentence: `The task asks the model ${what} again at ${time(until)}: attempt ${attempt} failed with ${code}: ${ended(oneLine(message))}`,
      whatHelps: ["It is tried again by itself; see to the provider if that does not help."],
    };
  },
  steps({ running }) {
    const names = running.map(({ kind, name }) => `${stepWords[kind] ?? "the step"} ${name}`);
    const [first] = running;
    return {
      sentence: `The task is at work: it runs ${listed(names)}${first === undefined ? "" : `, since ${time(first.since)}`}.`,
      whatHelps: [],
    };
  },
  code: () => ({ sentence: "The task is at work: the code of its agent runs.", whatHelps: [] }),
  host: ({ capabilities, until }) => ({
    sentence: `The task waits for a host that does ${listed(capabilities)}, until ${time(until)} at the latest.`,
    whatHelps: [
      `Connect a client to the session that offers ${listed(capabilities)}, or see why the one that does has not answered.`,
    ],
  }),
  remote({ remotes, until }) {
    const told = remotes.map(({ url, state, problem }) => {
      const last = state === null ? "" : `, which last said ${state}`;
      return `${url}${last}${problem === null ? "" : ` (the last attempt to reach it failed: ${oneLine(problem)})`}`;
    });
    return {
      sentence: ended(`The task waits for the remote agent at ${listed(told)}${latest(until)}`),
      whatHelps: ["See whether the remote agent is up, and what its own task waits for."],
    };
  },
  children({ children, until }) {
    const named = children.map(({ id, agent, status }) => `task ${id} of ${agent}, which is ${status}`);
    return {
      sentence: ended(`The task waits for ${listed(named)}${latest(until)}`),
      whatHelps: ["Ask why that task waits."],
    };
  },
  timer: ({ until, reason }) => ({
    sentence: until === null ? ended(`The task ${oneLine(reason)}`) : `The task sleeps until ${time(until)}.`,
    whatHelps: until === null ? [] : ["It goes on by itself then."],
  }),
  agent({ name, version, loaded }) {
    const wanted = version === null ? `the agent ${name}` : `version ${version} of the agent ${name}`;
    const instead = loaded === null ? "" : `; what is loaded is ${loaded}`;
    return {
      sentence: `The task waits for ${wanted}, which is not loaded here${instead}.`,
      whatHelps: [
        version === null ? `Load the agent ${name}.` : `Load version ${version} beside the newer one.`,
        "Or cancel the task and submit it again: a task that has started keeps its version.",
      ],
    };
  },
  paused: ({ sessionId }) => ({
    sentence: `The session ${sessionId} is paused; the task runs when it is resumed.`,
    whatHelps: [`Resume the session: PATCH /v1/sessions/${sessionId} with {"state":"ACTIVE"}.`],
  }),
  queue({ work: { running, concurrency, queued, isDraining } }) {
    if (isDraining) {
      const sentence = "The server is stopping; the task goes on when it has started again.";
      return { sentence, whatHelps: [] };
    }
    if (running < concurrency) return { sentence: "The task is about to run.", whatHelps: [] };
    const runs = `${running} ${running === 1 ? "run is" : "runs are"} in memory`;
    return {
      sentence: `The task waits for its turn: ${runs}, which is as many as may be at once, and ${queued} ${queued === 1 ? "task is" : "tasks are"} in the queue.`,
      whatHelps: ["It runs by itself when there is room.", "Raise the concurrency of the server."],
    };
  },
};

export function wordsFor<K extends Cause["kind"]>(cause: Extract<Cause, { kind: K }>, kind: K): Words {
  return say[kind](cause);
}

/** What a step of a kind is called; every other one is a step. */
const stepWords: Partial<Record<string, string>> = {
  llm: "the model call",
  tool: "the tool",
  mcp: "the MCP tool",
  effect: "the effect",
};

function quoted(text: string): string {
  return `"${oneLine(text)}"`;
}

/** As much of a text as belongs into a sentence. */
function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= quotedCharsMax ? line : `${line.slice(0, quotedCharsMax - 1)}…`;
}

function ended(sentence: string): string {
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}

function latest(until: string | null): string {
  return until === null ? "" : `, until ${time(until)} at the latest`;
}

/** To the second: nobody reads on. */
function time(at: string): string {
  return at.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
}

function listed(items: readonly string[]): string {
  const shown = items.slice(0, namedMax);
  const rest = items.length - shown.length;
  if (rest > 0) return `${shown.join(", ")} and ${rest} more`;
  const last = shown.at(-1) ?? "";
  return shown.length < 2 ? last : `${shown.slice(0, -1).join(", ")} and ${last}`;
}
