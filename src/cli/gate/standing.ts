/** `bridle gate permit`, `permits` and `revoke`, and the use of what was permitted. Each use is taken by the server once. */

import { randomBytes, randomUUID } from "node:crypto";
import { hostname, userInfo } from "node:os";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { GateInput } from "../../agents/gate.ts";
import type { GateSubject } from "../../gate/decide.ts";
import { type GateRisk, gateRisks } from "../../gate/policy.ts";
import { covers, readStanding, type StandingRequest } from "../../gate/standing.ts";
import type { ApprovalProof } from "../../harp/core/proof.ts";
import type { Task } from "../../sdk/client/index.ts";
import { isRefusal, type Remote, type RemoteSettings } from "../remote.ts";
import { taskIdOf } from "../task/find-task.ts";
import { type JsonSettings, show } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";
import { commandText, sayAsked, stopSignal } from "./asking.ts";
import { asksFor, decide, proofOf } from "./decision.ts";
import { Denied, denialOf } from "./denial.ts";
import { gateRemote } from "./gate-remote.ts";
import { inputOf } from "./log.ts";
import { digestOf, type PermissionProof, verifySigned } from "./verify.ts";

export interface PermitSettings extends RemoteSettings, JsonSettings {
  path?: string;
  for: number;
  uses: number;
  session?: string;
  risk?: GateRisk;
}

const candidatesMax = 100;
/** Between two uses the server asks for the next one, which is a matter of milliseconds. */
const nextUsePauseMs = 20;
const nextUseMsMax = 10_000;
const lostRace = ["conflict", "invalid_state_transition"];

/** Waits until it is signed; from then on it holds without this process. */
export async function permit(argv: readonly string[], settings: PermitSettings): Promise<void> {
  using stop = stopSignal();
  const { signal } = stop;
  try {
    const request = requestFor(argv, settings);
    const action = actionOf(request);
    const input = {
      action,
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
    const remote = gateRemote(settings);
    const sessionId = settings.session === undefined ? {} : { sessionId: settings.session };
    const { taskId } = await decide({ remote, input, signal, onAsked: sayAsked(action), ...sessionId });
    show(
      settings,
      { task_id: taskId, ...request },
      () => `Permitted: ${oneLine(coverageOf(request))}\nRevoke it with: bridle gate revoke ${taskId}\n`,
    );
  } catch (error) {
    const { message, exitCode } = denialOf(error);
    process.stderr.write(`bridle gate: not permitted. ${message}\n`);
    process.exitCode = signal.aborted ? 130 : exitCode;
  }
}

function coverageOf(request: StandingRequest): string {
  return "argv" in request ? `run ${commandText(request.argv)} …` : `edits in ${request.path}`;
}

/** What approvers read first: made of the request, so that a use can check that they read it. */
function actionOf(request: StandingRequest): string {
  const { uses, until } = request;
  return `standing permission, ${uses} times until ${until}: ${coverageOf(request)}`.slice(0, 500);
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

/** What is asked, or allowed as a use of a standing permission that covers it. */
export async function withStanding(
  remote: Remote,
  input: GateInput,
  { subject, cwd, sessionId = null }: { subject: GateSubject; cwd: string; sessionId?: string | null },
): Promise<GateInput> {
  const taskId = input.decision === "ask" ? await useStanding(remote, subject, cwd, sessionId) : null;
  return taskId === null ? input : { ...input, decision: "allow", standing_task: taskId };
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
    if (await isTaken(remote, task.id, request, sessionId)) return task.id;
  }
  return null;
}

/** Also those that another use has just been taken of. */
async function standingTasks({ client: { tasks } }: Remote): Promise<Task[]> {
  const listed = (["WORKING", "INPUT_REQUIRED"] as const).map((status) =>
    tasks.list({ agent: "gate", status, limit: candidatesMax }),
  );
  const found = (await Promise.all(listed)).flatMap(({ items }) => items);
  const byId = new Map(found.map((task) => [task.id, task]));
  return [...byId.values()].filter((task) => standingIn(task) !== null);
}

async function isTaken(
  remote: Remote,
  taskId: string,
  request: StandingRequest,
  sessionId: string | null,
): Promise<boolean> {
  const { tasks } = remote.client;
  for (const until = Date.now() + nextUseMsMax; Date.now() < until; await delay(nextUsePauseMs)) {
    const task = await tasks.get(taskId);
    if (task.status === "WORKING") continue;
    if (!asksFor(task.waiting_for?.schema, "use")) return false;
    try {
      const digest = digestOf(request);
      const asked = { action: actionOf(request), request, digest };
      const proof = await verifySigned(await signedFor(remote, taskId), asked, Date.now());
      if (!isInScope(proof, task, sessionId)) return false;
      await tasks.answer(taskId, { use: randomUUID(), digest });
      return true;
    } catch (error) {
      // Somebody else took this use; there may be another one.
      if (isRefusal(error) && lostRace.includes(error.code)) continue;
      // Revoked or expired meanwhile: then somebody is asked.
      if (isRefusal(error) || error instanceof Denied) return false;
      throw error;
    }
  }
  return false;
}

async function signedFor(remote: Remote, taskId: string): Promise<PermissionProof> {
  const { items } = await remote.client.approvals.list({ taskId });
  const [asked] = items;
  if (asked === undefined) throw new Denied("Nobody was asked for it.");
  return await proofOf(remote, asked.id);
}

/** Who signed for one use gave one; who signed for a session gave it to that session. */
function isInScope(
  { decisions }: ApprovalProof,
  { session_id, waiting_for }: Task,
  sessionId: string | null,
): boolean {
  const isFirst = waiting_for?.description.endsWith(": 1.") === true;
  return decisions.every(({ decision: { scope } }) => {
    if (scope === "timebox") return true;
    return scope === "session" ? session_id === sessionId : scope === "once" && isFirst;
  });
}

function standingIn(task: Task): StandingRequest | null {
  return readStanding(inputOf(task).request);
}

export async function permits(settings: RemoteSettings & JsonSettings): Promise<void> {
  const tasks = await standingTasks(gateRemote(settings));
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
  const { client } = gateRemote(settings);
  const taskId = await taskIdOf(client, named);
  const { status } = await client.tasks.cancel(taskId, {
    reason: "the permission was revoked",
  });
  show(settings, { task_id: taskId, status }, () => `${taskId} permits nothing any more.\n`);
}
