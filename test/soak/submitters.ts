/** How each protocol gives work. Each throws when it is not answered; what can be repeated under one key is. */

import { connect, taskOf } from "../mcp/client.ts";
import { message, Shell } from "../openharness/wire.ts";
import { Client, type Json, userMessage } from "../support/client.ts";
import { callOptions, grpcClient } from "../support/grpc.ts";
import { openSession } from "../support/socket.ts";

export interface Place {
  url: string;
  grpcUrl: string;
  sessionId: string;
}

/** Gives the id of the task. */
type Submit = (place: Place, key: string, text: string) => Promise<string>;

export interface Submitter {
  submit: Submit;
  /** The same request under the same key is the same task. */
  isRepeatable: boolean;
}

/** A refusal that says that it is for now. */
export class TryAgain extends Error {}

const persona = "persona_soaker";

function accepted(status: number, body: Json): Json {
  if (status >= 200 && status < 300) return body;
  // 503: the store takes no writes or is away; 507: no room; 409: others were faster; 429: too many.
  if ([409, 429, 503, 507].includes(status)) throw new TryAgain(`${status}`);
  // Under its key it is recognized when it comes again.
  if (body?.error?.code === "write_outcome_unknown") throw new TryAgain(body.error.code);
  throw new Error(`refused with ${status}: ${JSON.stringify(body)}`);
}

/** Errors of JSON-RPC that are for now, by the reason in their details. */
function rpcResult({ result, error }: Json): Json {
  if (error === undefined) return result;
  if (
    /service_unavailable|write_outcome_unknown|conflict|Cannot write|may or may not/i.test(
      JSON.stringify(error),
    )
  )
    throw new TryAgain(error.message);
  throw new Error(`refused: ${JSON.stringify(error)}`);
}

export const submitters: Record<string, Submitter> = {
  rest: {
    isRepeatable: true,
    async submit({ url, sessionId }, key, text) {
      const body = { session_id: sessionId, persona_id: persona, input: userMessage(text) };
      const answer = await new Client({ url }).post("/v1/tasks", body, { "idempotency-key": key });
      return accepted(answer.status, answer.body).id;
    },
  },
  websocket: {
    isRepeatable: true,
    async submit({ url, sessionId }, key, text) {
      await using socket = await openSession(new Client({ url }), sessionId);
      const frame = {
        type: "task.submit",
        idempotency_key: key,
        persona_id: persona,
        input: userMessage(text),
      };
      const answer = await socket.ask(frame);
      if (answer.type === "ack") return answer.result.id;
      return rpcResult(answer).id;
    },
  },
  opvs: {
    isRepeatable: true,
    async submit({ url }, key, text) {
      const params = {
        tenant: "@soaker",
        message: { messageId: key, role: "ROLE_USER", parts: [{ text }] },
        configuration: { returnImmediately: true },
      };
      const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params };
      const answer = await new Client({ url }).post("/opvs/rpc", call, { "a2a-version": "1.0" });
      return rpcResult(accepted(answer.status, answer.body)).task.id;
    },
  },
  grpc: {
    isRepeatable: true,
    async submit({ grpcUrl }, key, text) {
      const parts = [{ content: { case: "text" as const, value: text } }];
      const request = {
        tenant: "@soaker",
        message: { messageId: key, role: 1, parts },
        configuration: { returnImmediately: true },
      };
      const { payload } = await grpcClient(grpcUrl).sendMessage(request, {
        ...callOptions(),
        timeoutMs: 5000,
      });
      if (payload.case !== "task") throw new Error("no task came");
      return payload.value.id;
    },
  },
  mcp: {
    isRepeatable: false,
    async submit({ url }, _key, text) {
      await using mcp = await connect({ url }, "2026-07-28");
      // Nobody there answers forms.
      const answer = await mcp.call("soaker", { text: text.replaceAll(/ask|effect|tool/g, "step") });
      return taskOf(answer).task_id;
    },
  },
  openharness: {
    isRepeatable: true,
    async submit({ url }, key, text) {
      const made = message({ user_intent: text, task_hint: { sop_id: "soaker" } });
      const shell = new Shell({ url });
      const { status, message: answered } = await shell.post({ ...made, request_id: `req-${key}` });
      const { response } = accepted(status, answered);
      if (response.status === "error" && response.error.retryable) throw new TryAgain(response.error.message);
      // The run came to an end that is no success; it is there all the same.
      if (response.error?.details?.run_id !== undefined) return response.error.details.run_id;
      if (response.status === "error") throw new Error(`refused: ${JSON.stringify(response.error)}`);
      return response.extensions["com.bridle"].run_id;
    },
  },
};
