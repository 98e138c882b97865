/** Follows the task of the tour, tells what happens, and has the person answer what it asks. */

import type { BridleClient, BridleEvent } from "../../sdk/client/index.ts";
import type { Page } from "./page.ts";
import type { Person } from "./person.ts";
import type { Story } from "./story.ts";

export interface Audience {
  page: Page;
  person: Person;
  story: Story;
}

/** Until the task has ended, or the signal; after what was told before. */
export async function followTask(
  client: BridleClient,
  taskId: string,
  audience: Audience,
  signal: AbortSignal,
): Promise<void> {
  const { story } = audience;
  for await (const event of client.tasks.events(taskId, { after: story.lastEventId, signal })) {
    story.tell(event);
    await answer(client, taskId, event, audience);
  }
}

async function answer(
  client: BridleClient,
  taskId: string,
  { event }: BridleEvent,
  { page, person }: Audience,
): Promise<void> {
  if (event !== "task.input_required" && event !== "task.auth_required") return;
  const { waiting_for } = await client.tasks.get(taskId);
  // Somebody else may have answered it already.
  if (waiting_for == null) return;
  const requestId = waiting_for.permission_request_id;
  if (requestId == null) {
    const name = await person.nameRelease(waiting_for.description);
    await client.tasks.answer(taskId, { name });
    return;
  }
  const { items } = await client.approvals.list({ taskId });
  const request = items.find(({ id }) => id === requestId);
  if (request === undefined) return;
  const approved = await person.approves(request);
  await client.approvals.respond(requestId, { approved });
  page.heading(approved ? "What was approved is done" : "What was not approved is not done");
}
