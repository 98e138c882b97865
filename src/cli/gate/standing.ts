/** `bridle gate permit`, `permits` and `revoke`, and the use of what was permitted. Each use is taken by the server once. */

import { randomBytes, randomUUID } from "node:crypto";
import { hostname, userInfo } from "node:os";
import { resolve } from "node:path";
import type { GateSubject } from "../../gate/decide.ts";
import { type GateRisk, gateRisks } from "../../gate/policy.ts";
import { covers, readStanding, type StandingRequest } from "../../gate/standing.ts";
import type { Task } from "../../sdk/client/index.ts";
import { isRefusal, Remote, type RemoteSettings } from "../remote.ts";
import { taskIdOf } from "../task/find-task.ts";
import { type JsonSettings, show } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";
import { asksFor, decide, proofOf } from "./decision.ts";
import { denialOf } from "./denial.ts";
import { inputOf } from "./log.ts";
import { commandText, sayAsked, stopSignal } from "./run.ts";
import { digestOf, verifySigned } from "./verify.ts";

export interface PermitSettings extends RemoteSettings, JsonSettings {
  path?: string;
  for: number;
  uses: number;
  session?: string;
  risk?: GateRisk;
}

const candidatesMax = 100;

/** Waits until it is signed; from then on it holds without this process. */
export async function permit(argv: readonly string[], settings: PermitSettings): Promise<void> {
  const signal = stopSignal();
  try {
    const request = requestFor(argv, settings);
    const what = "argv" in request ? `run ${commandText(request.argv)} …` : `edits in ${request.path}`;
    const action = `standing permission, ${request.uses} times until ${request.until}: ${what}`;
    const input = {
      action: action.slice(0, 500),
      decision: "ask" as const,
      rule: null,
      why: "a standing permission is asked for",
      risk: settings.risk ?? gateRisks[2],
      request: { ...request },
      digest: digestOf(request),
      runs: false,
      wait_seconds: settings.for,
      standing_uses: request.uses,
      scope: settings.session === undefined ? ("timebox" as const) : ("session" as const),
    };
    const remote = new Remote(settings);
    const sessionId = settings.session === undefined ? {} : { sessionId: settings.session };
    const { taskId } = await decide({ remote, input, signal, onAsked: sayAsked(action), ...sessionId });
    show(
      settings,
      { task_id: taskId, ...request },
      () => `Permitted: ${oneLine(what)}\nRevoke it with: bridle gate revoke ${taskId}\n`,
    );
  } catch (error) {
    const { message, exitCode } = denialOf(error);
    process.stderr.write(`bridle gate: not permitted. ${message}\n`);
    process.exitCode = signal.aborted ? 130 : exitCode;
  }
}

function requestFor(argv: readonly string[], settings: PermitSettings): StandingRequest {
  const { path, uses } = settings;
  if ((path === undefined) === (argv.length === 0))
    throw new Error("name a command or --path, one of the two.");
  return {
    kind: "standing",
    ...(path === undefined ? { argv: [...argv] } : { path: resolve(path) }),
    cwd: process.cwd(),
    host: hostname(),
    user: userInfo().username,
    uses,
    until: new Date(Date.now() + settings.for * 1000).toISOString(),
    nonce: randomBytes(16).toString("hex"),
  };
}

/** Takes one use of a permission that covers this; null where none does. Nothing but its signature makes it count. */
export async function useStanding(
  remote: Remote,
  subject: GateSubject,
  cwd: string,
  sessionId: string | null,
): Promise<string | null> {
  for (const task of await standingTasks(remote)) {
    const request = standingIn(task);
    if (request === null || !covers(request, subject, cwd, Date.now())) continue;
    if (await isTaken(remote, task, request, sessionId)) return task.id;
  }
  return null;
}

async function standingTasks(remote: Remote): Promise<Task[]> {
  const { items } = await remote.client.tasks.list({
    agent: "gate",
    status: "INPUT_REQUIRED",
    limit: candidatesMax,
  });
  return items.filter(({ waiting_for }) => asksFor(waiting_for?.schema, "use"));
}

async function isTaken(
  remote: Remote,
  task: Task,
  request: StandingRequest,
  sessionId: string | null,
): Promise<boolean> {
  const { items } = await remote.client.approvals.list({ taskId: task.id });
  const [asked] = items;
  if (asked === undefined) return false;
  try {
    const digest = digestOf(request);
    const proof = await verifySigned(await proofOf(remote, asked.id), { request, digest }, Date.now());
    if (
      !isInScope(
        proof.decisions.map(({ decision }) => decision.scope),
        task,
        sessionId,
      )
    )
      return false;
    await remote.client.tasks.answer(task.id, { use: randomUUID(), digest });
    return true;
  } catch (error) {
    // Used up meanwhile, revoked, expired: then somebody is asked.
    if (isRefusal(error) || (error instanceof Error && error.name === "Denied")) return false;
    throw error;
  }
}

/** Who signed for one use gave one; who signed for a session gave it to that session. */
function isInScope(
  scopes: readonly string[],
  { session_id, waiting_for }: Task,
  sessionId: string | null,
): boolean {
  const isFirst = waiting_for?.description.endsWith(": 1.") === true;
  return scopes.every((scope) => {
    if (scope === "timebox") return true;
    return scope === "session" ? session_id === sessionId : scope === "once" && isFirst;
  });
}

function standingIn(task: Task): StandingRequest | null {
  return readStanding(inputOf(task).request);
}

export async function permits(settings: RemoteSettings & JsonSettings): Promise<void> {
  const tasks = await standingTasks(new Remote(settings));
  const found = tasks.map((task) => ({
    task_id: task.id,
    ...standingIn(task),
    left: task.waiting_for?.description ?? "",
  }));
  show(settings, found, () =>
    found.length === 0
      ? "There are no standing permissions.\n"
      : tasks.map((task) => `${task.id}  ${oneLine(String(inputOf(task).action))}\n`).join(""),
  );
}

/** At once: the next use finds nothing. */
export async function revoke(named: string, settings: RemoteSettings & JsonSettings): Promise<void> {
  const { client } = new Remote(settings);
  const taskId = await taskIdOf(client, named);
  const { status } = await client.tasks.cancel(taskId, {
    reason: "the permission was revoked",
  });
  show(settings, { task_id: taskId, status }, () => `${taskId} permits nothing any more.\n`);
}
