/** Deliveries to a connector, signed as Standard Webhooks says. */

import { Webhook } from "standardwebhooks";
import type { Answer, Client, Json } from "./client.ts";

export interface SignedDelivery {
  connector: { id: string; secret: string };
  id: string;
  body: unknown;
  /** When it says that it was signed. */
  at?: Date;
  /** Instead of what is right. */
  headers?: Record<string, string | undefined>;
  /** Sent in place of the body that was signed. */
  sent?: string;
}

export function signatureOf({
  connector,
  id,
  body,
  at = new Date(),
}: SignedDelivery): Record<string, string> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(connector.secret).sign(id, at, text),
  };
}

/** Without a key and without the version header: the signature is all there is. */
export async function sendDelivery(client: Pick<Client, "call">, delivery: SignedDelivery): Promise<Answer> {
  const { connector, body, sent, headers = {} } = delivery;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return await client.call(`/v1/connectors/${connector.id}/deliveries`, {
    raw: sent ?? text,
    key: null,
    headers: { "harn-agents-protocol-version": undefined, ...signatureOf(delivery), ...headers },
  });
}

export async function eventsOf(client: Client, connectorId: string): Promise<Json[]> {
  const events = await client.listAll("/v1/events");
  return events.filter(({ resource }) => resource.id === connectorId);
}
