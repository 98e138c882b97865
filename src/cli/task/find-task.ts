/** Which task, session or agent is meant by what somebody typed. */

import { suggestion } from "../../project/suggestion.ts";
import { errorOf } from "../../sdk/client/errors.ts";
import {
  type Agent,
  type BridleClient,
  DeadlineExceeded,
  NotFound,
  type Task,
} from "../../sdk/client/index.ts";
import { taken } from "./list.ts";

/** `last` is the task that was submitted last, of those that the key may see. */
export async function taskIdOf({ tasks }: BridleClient, named: string): Promise<string> {
  if (named !== "last") return named;
  const [newest] = (await tasks.list({ limit: 1 })).items;
  if (newest === undefined) throw new Error("there is no task yet. Submit one with `bridle task submit`.");
  return newest.id;
}

/** Scripts are faster than agents: what they answer may be about to be asked. */
const patienceMs = 10_000;

/** The task once it has ended, or asks for something; as it is when that takes longer than a moment. */
export async function settledTask({ tasks }: BridleClient, id: string): Promise<Task> {
  try {
    return await tasks.wait(id, { timeoutMs: patienceMs });
  } catch (error) {
    if (!(error instanceof DeadlineExceeded)) throw error;
    return await tasks.get(id);
  }
}

/** The same for sessions. */
export async function sessionIdOf({ sessions }: BridleClient, named: string): Promise<string> {
  if (named !== "last") return named;
  const [newest] = (await sessions.list({ limit: 1 })).items;
  if (newest === undefined)
    throw new Error("there is no session yet. Make one with `bridle session create`.");
  return newest.id;
}

export async function agentOf({ agents }: BridleClient, name: string, signal?: AbortSignal): Promise<Agent> {
  try {
    return await agents.get(name, signal === undefined ? {} : { signal });
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    const { items } = await taken(agents.all(), { all: true });
    const known = items.map((agent) => agent.name);
    const message = `There is no agent ${name}.${suggestion(name, known)}`;
    const { code, status, requestId } = error;
    throw errorOf({ code, message, status, requestId, details: { agents: known }, cause: error });
  }
}
