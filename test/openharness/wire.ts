/** A shell for tests: it sends what it is told, and every response that it gets must be one of the protocol. */

import assert from "node:assert/strict";
import { Client, type Json } from "../support/client.ts";
import { requestMessage, responseMessage } from "../support/openharness-schema.ts";
import type { TestServer } from "../support/server.ts";

export const path = "/openharness/v1";

/** A shell that can do everything. */
export const everything = {
  "openharness.actions.parallel": true,
  "openharness.attachments.upload": true,
  "openharness.ui.rich_cards": true,
  "openharness.ui.approval": true,
  "com.bridle.outcomes": true,
};
export const streaming = { "openharness.streaming": true };

export interface Answer {
  status: number;
  headers: Headers;
  message: Json;
}

let requests = 0;

/** A message with a request id of its own; `more` is put at the top of it. */
export function message(context: object, more: object = {}): Json {
  requests += 1;
  const made = { protocol_version: "1.0.0", request_id: `req-${requests}`, request: { context }, ...more };
  assert.ok(requestMessage.Check(made), JSON.stringify([...requestMessage.Errors(made)]));
  return made;
}

export function assertResponse(value: Json): Json {
  const isOne: boolean = responseMessage.Check(value);
  assert.ok(isOne, JSON.stringify([value, [...responseMessage.Errors(value)]]));
  const { status, error } = value.response;
  if (status === "error") assert.equal(typeof error.retryable, "boolean");
  if (status === "error") assert.equal(typeof error.message, "string");
  return value;
}

export class Shell {
  readonly client: Client;

  constructor(server: Pick<TestServer, "url">, key?: string) {
    this.client = new Client(server, key);
  }

  as(key: string): Shell {
    return new Shell(this.client, key);
  }

  async post(body: unknown, headers: Record<string, string | undefined> = {}): Promise<Answer> {
    const raw = typeof body === "string" ? body : JSON.stringify(body);
    const answer = await this.client.call(path, { raw, headers });
    return { status: answer.status, headers: answer.headers, message: assertResponse(answer.body) };
  }

  /** The response message of a request that is answered with 200. */
  async send(body: unknown): Promise<Json> {
    const { status, message: answered } = await this.post(body);
    assert.equal(status, 200, JSON.stringify(answered));
    return answered;
  }

  /** Says something to an agent; gives the response of one that goes well. */
  async say(user_intent: unknown, context: object = {}, more: object = {}): Promise<Json> {
    return succeeded(await this.send(message({ user_intent, ...context }, more)));
  }

  /** Has the rehearsal agent play a script. */
  async play(lines: string[], context: object = {}, more: object = {}): Promise<Json> {
    return await this.say(lines.join("\n"), { task_hint: { sop_id: "rehearsal" }, ...context }, more);
  }

  /** Goes on with a run, with what the shell brings. */
  async resume(before: Json, brought: object = {}, context: object = {}, more: object = {}): Promise<Json> {
    return succeeded(await this.send(continued(before, brought, context, more)));
  }

  /** The error of a request that is refused. */
  async refusal(body: unknown): Promise<Json> {
    return errorOf(await this.send(body));
  }
}

/** A request that goes on with the run of a response. */
export function continued(before: Json, brought: object = {}, context: object = {}, more: object = {}): Json {
  const { continuation } = before.response;
  assert.ok(continuation, `the run can be continued: ${JSON.stringify(before.response)}`);
  const extensions = { "com.bridle": brought };
  return message({ continuation: { ...continuation, extensions }, ...context }, more);
}

export function succeeded(answered: Json): Json {
  assert.equal(answered.response.status, "success", JSON.stringify(answered.response));
  return answered;
}

export function errorOf(answered: Json): Json {
  assert.equal(answered.response.status, "error", JSON.stringify(answered.response));
  return answered.response.error;
}

export const directivesOf = ({ response }: Json): Json[] => response.action_directives;
export const ownOf = ({ extensions }: Json): Json => extensions["com.bridle"];
export const runOf = ({ response }: Json): string => response.extensions["com.bridle"].run_id;
export const typesOf = (answered: Json): string[] => directivesOf(answered).map((one) => one.action_type);
/** What the person reads. */
export const textsOf = (answered: Json): string[] =>
  directivesOf(answered).flatMap(({ action_type, payload }) =>
    action_type === "render_message" ? [payload.text] : [],
  );

export function directiveOf(answered: Json, type: string): Json {
  const found = directivesOf(answered).find(({ action_type }) => action_type === type);
  assert.ok(found, `${type} is among ${JSON.stringify(typesOf(answered))}`);
  return found;
}

/** What a shell reports of a directive. */
export function outcome(directive: Json, status = "completed", more: object = {}): object {
  return { directive_id: ownOf(directive).directive_id, status, ...more };
}
