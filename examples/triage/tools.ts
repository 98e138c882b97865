/** What the bot can do to the tracker, whose API is at `TRACKER_URL`. */

import { defineTool, type ToolContext, Type } from "bridle";

/** Labels are taken off as easily as they are put on: nobody needs to be asked. */
export const addLabels = defineTool({
  name: "add_labels",
  description: "Puts labels on an issue.",
  input: Type.Object({ issue: Type.Integer(), labels: Type.Array(Type.String()) }),
  output: Type.Null(),
  effect: "reversible",
  risk: "low",
  async run({ issue, labels }, context) {
    return await post(`issues/${issue}/labels`, { labels }, context);
  },
});

export const assign = defineTool({
  name: "assign",
  description: "Gives an issue to somebody.",
  input: Type.Object({ issue: Type.Integer(), assignee: Type.String() }),
  output: Type.Null(),
  effect: "reversible",
  risk: "low",
  async run({ issue, assignee }, context) {
    return await post(`issues/${issue}/assignees`, { assignees: [assignee] }, context);
  },
});

/** A tracker that wants a token gets it from a vault: `await context.secret("tracker-token")`. */
async function post(path: string, body: object, { signal, idempotencyKey }: ToolContext): Promise<null> {
  const tracker = process.env.TRACKER_URL;
  if (tracker === undefined) throw new Error("Set TRACKER_URL to where the tracker's API is.");
  const response = await fetch(`${tracker}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw new Error(`The tracker answered ${response.status} to ${path}.`);
  return null;
}
