/**
 * Take a delivery that its signature has proved to be the connector's, or that was found by polling: it becomes a task, a message
 * or an event, in one commit with the record that it was received. The delivery's id is the idempotency key of that commit, so a delivery that comes again, at the
 * same time or after a crash, finds the first one's answer.
 */

import type { JsonObject, JsonValue, TenantStore } from "../../store/port.ts";
import { sha256Hex } from "../core/content.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { notFound } from "../core/errors.ts";
import { paginate } from "../core/paginate.ts";
import type { TraceContext } from "../core/trace.ts";
import type { Unit } from "../core/unit.ts";
import type { Kernel } from "../kernel.ts";
import type { ConnectorRecord } from "../kinds/connector.ts";
import type { PersonaRecord } from "../kinds/persona.ts";
import type { SessionRecord } from "../kinds/session.ts";
import { appendMessage } from "../sessions/append-message.ts";
import { createSession } from "../sessions/create-session.ts";
import { recordQuotaRefusal, submitTask } from "../tasks/submit-task.ts";
import { connectorCaller } from "./connector-caller.ts";
import { assertTakes, noteFailure, noteSuccess } from "./connector-health.ts";

export interface Delivery {
  webhookId: string;
  /** The body as it was signed, and as JSON. */
  text: string;
  body: JsonValue;
  /** What it is about, as its sender calls it. */
  kind: string | null;
  /** What is the same of senders of one kind, where that is known. */
  normalized?: JsonObject | undefined;
  /** Nothing is to come of it, whatever the connector passes on. */
  isIgnored?: boolean;
  trace: TraceContext | null;
}

export interface Received {
  deliveryId: string;
  /** None for a delivery of a kind that the connector does not pass on. */
  taskIds: string[];
  messageId?: string;
  windowMs: number;
}

/** The first answer for a delivery, and whether it was given before. */
export async function deliver(
  kernel: Kernel,
  connector: ConnectorRecord,
  delivery: Delivery,
): Promise<{ received: Received; deduped: boolean }> {
  const caller = connectorCaller(connector);
  const { id: connectorId } = connector;
  const { webhookId } = delivery;
  const idempotency = { key: webhookId, target: `delivery to ${connectorId}`, body: null };
  const request = { connectorId, delivery };
  const { result: received, replayed } = await kernel.dispatch(receiveDelivery, caller, request, idempotency);
  if (replayed) await runCommand(kernel, noteDuplicate, caller, { connectorId, webhookId, received });
  return { received, deduped: replayed };
}

const receiveDelivery: Command<{ connectorId: string; delivery: Delivery }, Received> = {
  name: "receive_delivery",
  scope: "connectors:write",
  decide(unit, { connectorId, delivery }) {
    const connector = unit.require("connector", connectorId);
    assertTakes(connector);
    const { webhookId, text, kind, trace, isIgnored = false } = delivery;
    const deliveryId = unit.newId("delivery");
    unit.emit(connector, "connector.delivery_received", {
      delivery_id: deliveryId,
      webhook_id: webhookId,
      bytes: Buffer.byteLength(text),
      sha256: sha256Hex(text),
    });
    const isWanted = !isIgnored && isPassedOn(connector.event_kinds, kind);
    const { emits = "task" } = connector;
    const personaIds = isWanted ? personasFor(unit, connector, kind) : [];
    const payload = payloadOf(deliveryId, delivery);
    unit.emit(connector, "connector.normalized", {
      delivery_id: deliveryId,
      event_kind: kind,
      status: isWanted && (emits !== "task" || personaIds.length > 0) ? "accepted" : "ignored",
      ...(isWanted && emits === "event" ? { content: unit.seal(payload) } : {}),
    });
    noteSuccess(unit, unit.require("connector", connectorId));
    const taskIds = personaIds.map((personaId) => submit(unit, connector, personaId, { payload, trace }));
    if (isWanted && emits === "message") {
      const messageId = appendToSession(unit, connector, payload);
      return { deliveryId, taskIds, messageId, windowMs: connector.dedupe_policy.window_seconds * 1000 };
    }
    return { deliveryId, taskIds, windowMs: connector.dedupe_policy.window_seconds * 1000 };
  },
  keptMs: ({ windowMs }) => windowMs,
  async refused(deps, caller, refusal, { connectorId, delivery: { webhookId } }) {
    await recordQuotaRefusal(deps, caller, refusal);
    const { code, message: reason } = refusal;
    await runCommand(deps, noteFailure, caller, { connectorId, webhookId, code, reason });
  },
};

const noteDuplicate: Command<{ connectorId: string; webhookId: string; received: Received }, null> = {
  name: "note_duplicate_delivery",
  scope: "connectors:write",
  decide(unit, { connectorId, webhookId, received }) {
    const connector = unit.find("connector", connectorId);
    if (connector === undefined) return null;
    const { deliveryId, taskIds } = received;
    unit.emit(connector, "connector.delivery_deduped", {
      delivery_id: deliveryId,
      webhook_id: webhookId,
      task_ids: taskIds,
    });
    return null;
  },
};

function payloadOf(deliveryId: string, { kind, body, normalized }: Delivery): JsonObject {
  return {
    delivery_id: deliveryId,
    event_kind: kind,
    body,
    ...(normalized === undefined ? {} : { normalized }),
  };
}

function isPassedOn(eventKinds: readonly string[], kind: string | null): boolean {
  return eventKinds.length === 0 || (kind !== null && eventKinds.includes(kind));
}

/**
 * Whose work it becomes: the connector's target, and every persona with a trigger for it. Where neither is said, the
 * session's or the tenant's persona does it, which is what null stands for. A disabled persona does not keep the others
 * from their work; where all are disabled, the delivery is refused.
 */
function personasFor(
  unit: Unit,
  { id, target_persona_id, emits = "task" }: ConnectorRecord,
  kind: string | null,
): (string | null)[] {
  // What becomes a message or an event is work only for those who have a trigger for it.
  const isWork = emits === "task";
  const found = new Set<string>(isWork && target_persona_id !== null ? [target_persona_id] : []);
  const disabled = new Set<string>();
  let isTriggered = false;
  for (const persona of unit.awaited("personas", () => allPersonas(unit.own))) {
    if (persona.disabled === true) disabled.add(persona.id);
    const triggers = (persona.triggers ?? []).filter(({ connector_id }) => connector_id === id);
    isTriggered ||= triggers.length > 0;
    if (triggers.some(({ event_kinds = [] }) => isPassedOn(event_kinds, kind))) found.add(persona.id);
  }
  if (found.size === 0 && !isTriggered) return isWork ? [null] : [];
  const enabled = [...found].filter((personaId) => !disabled.has(personaId));
  return enabled.length > 0 ? enabled : [...found];
}

async function allPersonas(own: TenantStore): Promise<PersonaRecord[]> {
  const found: PersonaRecord[] = [];
  for await (const page of paginate(own, { kind: "persona" })) {
    found.push(...page.map(({ body }) => body as PersonaRecord));
  }
  return found;
}

function submit(
  unit: Unit,
  connector: ConnectorRecord,
  personaId: string | null,
  { payload, trace }: { payload: JsonObject; trace: TraceContext | null },
): string {
  const session = sessionOf(unit, connector);
  const task = submitTask.decide(unit, {
    sessionId: session.id,
    personaId: personaId ?? session.persona_id,
    configuredBy: connector.set_up_by ?? null,
    input: { payload },
    trace,
  });
  unit.emit(connector, "connector.task_submitted", {
    delivery_id: String(payload.delivery_id),
    task_id: task.id,
    session_id: session.id,
  });
  return task.id;
}

function appendToSession(unit: Unit, connector: ConnectorRecord, payload: JsonObject): string {
  const session = sessionOf(unit, connector);
  const part = { type: "json", value: payload, visibility: "public" } as const;
  return appendMessage.decide(unit, { sessionId: session.id, message: { role: "user", parts: [part] } }).id;
}

/** The session it was told to use, or one of its own that still takes work. */
function sessionOf(unit: Unit, connector: ConnectorRecord): SessionRecord {
  // As it is now: the first of several tasks may have made the session.
  const { target_session_id, own_session_id, target_persona_id, workspace_id } = unit.require(
    "connector",
    connector.id,
  );
  if (target_session_id !== null) {
    const session = unit.find("session", target_session_id);
    if (session === undefined) throw notFound("session", target_session_id);
    return session;
  }
  const own = own_session_id === null ? undefined : unit.find("session", own_session_id);
  if (own?.state === "ACTIVE" || own?.state === "PAUSED") return own;
  const session = createSession.decide(unit, {
    workspaceId: workspace_id,
    personaId: target_persona_id,
    metadata: { connector_id: connector.id },
  });
  unit.emit(connector, "vendor.bridle.connector.updated", { changes: { own_session_id: session.id } });
  return session;
}
