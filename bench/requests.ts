/** The requests that are measured: each a whole task, run and completed, `echo` if nothing else is said. */

import { harnHeaders, opvsHeaders } from "./bridle.ts";
import { httpTarget, type Target } from "./load.ts";

export const text = "hello bench";
const completed = "TASK_STATE_COMPLETED";

/** Every message has an id of its own: a repeated one is the same work. */
function rpcBody(method: string): (n: number) => string {
  const message = { messageId: "@", role: "ROLE_USER", parts: [{ text }] };
  const whole = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { message } });
  const [before = "", after = ""] = whole.split("@");
  return (n) => `${before}m${n}${after}`;
}

export const sendMessageBody = rpcBody("SendMessage");

/** The same for both servers, which differ in the address alone. */
export function sendMessage(url: string): Target {
  return httpTarget({ url, headers: opvsHeaders, body: sendMessageBody, expected: completed });
}

export function sendStreamingMessage(url: string): Target {
  return httpTarget({
    url,
    headers: { ...opvsHeaders, accept: "text/event-stream" },
    body: rpcBody("SendStreamingMessage"),
    expected: completed,
  });
}

interface TaskRequest {
  /** The default one runs `echo`. */
  persona?: string;
  input?: string;
}

/** `POST /v1/tasks` that waits for the end, all in one session. */
export async function submitTask(url: string, { persona, input = text }: TaskRequest = {}): Promise<Target> {
  const response = await fetch(`${url}/v1/sessions`, {
    method: "POST",
    headers: harnHeaders,
    body: JSON.stringify({ workspace_id: "workspace_default" }),
  });
  const { id: session_id } = (await response.json()) as { id: string };
  const message = { role: "user", parts: [{ type: "text", text: input, visibility: "public" }] };
  const body = JSON.stringify({ session_id, persona_id: persona, input: message });
  return httpTarget({
    url: `${url}/v1/tasks`,
    headers: { ...harnHeaders, prefer: "wait=10" },
    body: () => body,
    expected: '"status":"COMPLETED"',
  });
}
