/**
 * What is sent to an enforcer rather than through a gateway: prompts for its agents, and events about sessions of agents.
 * These objects are bare; only errors come in an envelope.
 */

import { promptBytesMax } from "../../../harp/core/prompt.ts";
import { snapshotBytesMax } from "../../../harp/core/session.ts";
import { refusal } from "../../../harp/gateway/refusals.ts";
import { readHarpSession } from "../../../kernel/harp/harp-sessions.ts";
import { deliverPrompt } from "../../../kernel/harp/receive-prompt.ts";
import { tellHarpSession } from "../../../kernel/harp/tell-harp-session.ts";
import type { HarpCall } from "../call.ts";
import { tooLarge } from "../errors.ts";
import { type HarpRoute, ok } from "../route.ts";

/** What is around the object that a size is said of: its hash, white space. */
const roomBytes = 8 * 1024;
/** A size is that of the canonical form. Many clients escape what is not ASCII, which makes two bytes six. */
const promptBodyBytesMax = 3 * promptBytesMax + roomBytes;
/** Nobody needs that for a snapshot, which is ten times as large and would be as much to hold in memory. */
const snapshotBodyBytesMax = snapshotBytesMax + roomBytes;
/** Everything else that is told of a session. */
const eventBodyBytesMax = 64 * 1024;

export const promptRoutes: HarpRoute[] = [
  {
    method: "POST",
    path: "/v1/prompt",
    for: { scope: "tasks:write" },
    body: "required",
    bodyBytesMax: promptBodyBytesMax,
    async handle(call, { kernel, limits }) {
      const { caller } = call.parties;
      const received = { value: call.json(), secondsToWait: limits.prompt(caller) };
      return ok(await deliverPrompt(kernel, caller, received));
    },
  },
  {
    method: "POST",
    path: "/v1/session/event",
    for: { scope: "sessions:write" },
    body: "required",
    bodyBytesMax: snapshotBodyBytesMax,
    async handle(call, { kernel }) {
      const value = readEvent(call);
      const { result } = await kernel.dispatch(tellHarpSession, call.parties.caller, { value });
      return { status: 202, body: { accepted: true, duplicate: result.isDuplicate } };
    },
  },
  {
    method: "GET",
    path: "/v1/session/:sessionId",
    for: { scope: "sessions:read" },
    body: "ignored",
    async handle(call, { kernel }) {
      const found = await readHarpSession(kernel, call.parties.caller, call.param("sessionId"));
      if (found === null) throw refusal("SessionNotFound", "No session of this name is known to you here.");
      return ok(found);
    },
  },
];

function readEvent(call: HarpCall): unknown {
  const value = call.json();
  const { eventType }: { eventType?: unknown } = Object(value);
  if (eventType !== "session.snapshot" && Buffer.byteLength(call.text()) > eventBodyBytesMax)
    throw tooLarge();
  return value;
}
