/**
 * What the tracker does when somebody opens an issue: sends it, signed as Standard Webhooks says.
 *
 *   node send.ts CONNECTOR SECRET "No order can be paid" "Since ten o'clock all cards are refused."
 */

import { Webhook } from "standardwebhooks";

export interface Connector {
  id: string;
  secret: string;
}

export interface Issue {
  number: number;
  title: string;
  text: string;
}

/** The id is the same whenever this delivery is sent again: then it is taken once. */
export async function send(url: string, connector: Connector, id: string, issue: Issue): Promise<Response> {
  const body = JSON.stringify({ type: "issue.opened", data: issue });
  const at = new Date();
  return await fetch(`${url}/v1/connectors/${connector.id}/deliveries`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(connector.secret).sign(id, at, body),
    },
    body,
  });
}

if (import.meta.main) {
  const [id = "", secret = "", title = "", text = ""] = process.argv.slice(2);
  const url = process.env.BRIDLE_URL ?? "http://127.0.0.1:8080";
  const number = Math.floor(Date.now() / 1000);
  const response = await send(url, { id, secret }, `issue-${number}`, { number, title, text });
  console.log(response.status, await response.text());
  if (!response.ok) process.exitCode = 1;
}
