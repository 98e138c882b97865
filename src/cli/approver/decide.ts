/** `bridle approver approve` and `deny`: show all of it, ask, then sign. */

import type { Command } from "commander";
import { isOver, parseTime } from "../../harp/core/times.ts";
import type { Approver, DecisionOptions, OpenedRequest } from "../../sdk/approver/approver.ts";
import { ask, canAsk } from "../terminal/prompt.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";
import { type ApproverSettings, connect } from "./connect.ts";
import { findOpened } from "./find.ts";
import { describe } from "./show.ts";

export type Choice = "approve" | "deny";

export interface DecideSettings extends ApproverSettings {
  reason?: string;
  yes?: true;
  asOffered?: true;
}

export async function decide(
  choice: Choice,
  prefix: string,
  settings: DecideSettings,
  command: Command,
): Promise<void> {
  // Saying no needs no second thought from a script; saying yes does.
  if (choice === "approve" && settings.yes !== true && !canAsk()) {
    command.error("error: there is no terminal to ask at: look at it with `show`, then say --yes.");
  }
  const { approver } = await connect(settings);
  const request = await findOpened(approver, prefix);
  const shown = settings.json === true ? process.stderr : process.stdout;
  shown.write(`${describe(request, Date.now())}\n`);
  if (settings.reason !== undefined) warnAboutReason();
  if (settings.yes !== true && canAsk() && !(await isConfirmed(choice, request))) {
    throw new Error("nothing was signed.");
  }
  await runCommand(approver, request, choice, settings);
}

/** Signs, sends, and says what became of it. */
export async function runCommand(
  approver: Approver,
  request: OpenedRequest,
  choice: Choice,
  { reason, asOffered, json }: Pick<DecideSettings, "reason" | "asOffered" | "json">,
): Promise<void> {
  const options: DecisionOptions = {
    ...(reason === undefined ? {} : { reason }),
    ...(asOffered === true && choice === "approve" ? { useOfferedTerms: true } : {}),
  };
  const { state, decidedAt, duplicate } = await approver[choice](request, options);
  const { requestId, artifact } = request;
  if (json === true) {
    const decision = { requestId, decision: choice, artifactHash: artifact.artifactHash };
    process.stdout.write(`${escapedJson({ ...decision, state, decidedAt, duplicate })}\n`);
    return;
  }
  const what = choice === "approve" ? "Approved" : "Denied";
  process.stdout.write(`${what} and signed: ${oneLine(requestId)}. The gateway has it.\n`);
}

async function isConfirmed(choice: Choice, { artifact }: OpenedRequest): Promise<boolean> {
  const question = choice === "approve" ? "Approve exactly this?" : "Deny this?";
  const answer = await askUntil(artifact.expiresAt, `${question} Type yes to sign: `);
  return answer?.trim().toLowerCase() === "yes";
}

/** Null without an answer. Says so when the time was over first. */
export async function askUntil(expiresAt: string, question: string): Promise<string | null> {
  const over = new AbortController();
  const leftMs = Math.max(0, (parseTime(expiresAt) ?? 0) - Date.now());
  // Longer than a timer can be is longer than anybody sits there.
  const timer = setTimeout(() => over.abort(), Math.min(leftMs, 2 ** 31 - 1));
  try {
    const answer = await ask(question, over.signal);
    if (isOver(expiresAt, Date.now())) {
      process.stderr.write("\nThe request has expired while you looked at it; it is not signed any more.\n");
      return null;
    }
    return answer;
  } finally {
    clearTimeout(timer);
  }
}

function warnAboutReason(): void {
  process.stderr.write("Note: the gateway can read the reason, and it is not signed.\n");
}
