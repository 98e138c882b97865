/** `bridle approver watch`: requests as they come, each to be decided on the spot or left for later. */

import { isOver } from "../../harp/core/times.ts";
import { type Approver, GatewayRefusal, HarpError, type OpenedRequest } from "../../sdk/approver/approver.ts";
import { canAsk } from "../terminal/prompt.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";
import { type ApproverSettings, connect } from "./connect.ts";
import { askUntil, type Choice, runCommand } from "./decide.ts";
import { describe, jsonOf } from "./show.ts";

export async function watch(settings: ApproverSettings): Promise<void> {
  const { approver, gateway } = await connect(settings);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const where = oneLine(gateway);
  process.stderr.write(
    `Watching for requests to ${oneLine(approver.approverId)} at ${where}. Ctrl-C ends.\n`,
  );
  for await (const request of approver.watch(stop.signal, { onTrouble: trouble() })) {
    if (settings.json === true) {
      process.stdout.write(`${escapedJson(jsonOf(request))}\n`);
      continue;
    }
    process.stdout.write(`\n${describe(request, Date.now())}\n`);
    if (request.isOpened && canAsk() && !(await wasAnswered(approver, request))) stop.abort();
  }
}

const choices = new Map<string, Choice | "skip">([
  ["a", "approve"],
  ["d", "deny"],
  ["s", "skip"],
]);

/** False when the person has left. */
async function wasAnswered(approver: Approver, request: OpenedRequest): Promise<boolean> {
  const { expiresAt } = request.artifact;
  while (true) {
    const answer = await askUntil(expiresAt, "[a]pprove, [d]eny or [s]kip? ");
    // Without an answer it has expired, or nobody is there any more.
    if (answer === null) return isOver(expiresAt, Date.now());
    const choice = choices.get(answer.trim().toLowerCase());
    if (choice === "skip") return true;
    if (choice === undefined) continue;
    await attempt(approver, request, choice);
    return true;
  }
}

/** One that fails does not end the watch: the next request has nothing to do with it. */
async function attempt(approver: Approver, request: OpenedRequest, choice: Choice): Promise<void> {
  try {
    await runCommand(approver, request, choice, {});
  } catch (error) {
    if (!(error instanceof GatewayRefusal || error instanceof HarpError)) throw error;
    process.stderr.write(`It was not decided: ${oneLine(error.message)} (${error.code})\n`);
  }
}

/** Each trouble once, until there is another one. */
function trouble(): (error: GatewayRefusal) => void {
  let last = "";
  return ({ message }) => {
    if (message !== last) process.stderr.write(`${oneLine(message)} Trying again.\n`);
    last = message;
  };
}
