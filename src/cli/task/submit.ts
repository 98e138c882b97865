/** `bridle task submit`: gives an agent something to do and, if asked, stays until it is done. */

import { isFinal, type SubmitTask, type Task } from "../../sdk/client/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { Remote, type RemoteSettings } from "../remote.ts";
import { show } from "../terminal/output.ts";
import { escapeControls, oneLine } from "../terminal/text.ts";
import { agentOf, sessionIdOf } from "./find-task.ts";
import { givenJson, standardInput } from "./given-json.ts";
import { helpOf, saidIn } from "./show.ts";
import { type WatchSettings, watchTask } from "./watch.ts";

export interface SubmitSettings extends RemoteSettings, WatchSettings {
  input?: string;
  session?: string;
  workspace?: string;
  persona?: string;
  wait?: true;
  timeout?: number;
  watch?: true;
  idempotencyKey?: string;
}

/** As long as timers can. */
const waitMsMax = 2 ** 31 - 1;

export async function submit(agent: string, words: string[], settings: SubmitSettings): Promise<void> {
  const remote = new Remote(settings);
  const input = await inputOf(words, settings.input);
  const request = await requestOf(remote, agent, settings, input);
  const task = await remote.client.tasks.submit(request);
  if (settings.watch === true) await watchTask(remote, task.id, settings);
  else if (settings.wait === true) await wait(remote, task.id, settings);
  else show(settings, task, () => `${oneLine(task.id)}\n`);
}

async function requestOf(
  { client }: Remote,
  agent: string,
  { session, workspace, persona, idempotencyKey }: SubmitSettings,
  input: SubmitTask["input"],
): Promise<SubmitTask> {
  const { persona_id } = await agentOf(client, agent);
  if (persona !== undefined) {
    const { entry_workflow } = await client.personas.get(persona);
    if (entry_workflow !== agent) {
      throw new Error(`${persona} is a persona of the agent ${entry_workflow}, and not of ${agent}.`);
    }
  }
  const personaId = persona ?? persona_id;
  return {
    input,
    ...(personaId === null ? { agent } : { personaId }),
    ...(session === undefined ? {} : { sessionId: await sessionIdOf(client, session) }),
    ...(workspace === undefined ? {} : { workspaceId: workspace }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

/** Prints what the agent said. A task that waits for a person is not waited for any longer. */
async function wait(remote: Remote, taskId: string, settings: SubmitSettings): Promise<void> {
  const { timeout } = settings;
  const task = await remote.client.tasks.wait(taskId, {
    timeoutMs: timeout === undefined ? waitMsMax : timeout * 1000,
  });
  const said = isFinal(task) && settings.json !== true ? await saidIn(remote.client, taskId) : [];
  show(settings, task, () => said.map((text) => `${escapeControls(text)}\n`).join(""));
  if (settings.json !== true && task.status !== "COMPLETED") process.stderr.write(reportOf(task));
  process.exitCode = exitCodeFor(task);
}

/** What the agent says stays on its line: what helps is ours to say. */
function reportOf(task: Task): string {
  const { id, status, failure, waiting_for } = task;
  if (failure !== null) return `bridle: ${oneLine(`${id} failed: ${failure.message} (${failure.code})`)}\n`;
  if (waiting_for === null) return `bridle: ${oneLine(`${id} is ${status}`)}\n`;
  return `bridle: ${oneLine(`${id} waits for a person: ${waiting_for.description}`)}\n${helpOf(task)}`;
}

function exitCodeFor(task: Task): number {
  if (task.status === "COMPLETED") return exitCodes.done.code;
  return isFinal(task) ? exitCodes.failed.code : exitCodes.waits.code;
}

/** Words are what a user says; `-` stands for what is on standard input. */
async function inputOf(words: readonly string[], given: string | undefined): Promise<SubmitTask["input"]> {
  if (given !== undefined) return await givenJson(given, "--input");
  return words.length === 1 && words[0] === "-" ? await standardInput() : words.join(" ");
}
