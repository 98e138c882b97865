/** What an operator can decide about a gateway, and what holds when nothing was decided. */

export interface GatewaySettings {
  /** What the gateway calls itself in the messages that it sends. */
  gatewayId: string;
  /** How long an exchange is kept after it left PendingApproval, and never less than until it expires. */
  retainMs: number;
  /** The longest that an artifact may be pending. */
  lifetimeMsMax: number;
  /** When a message that was not acknowledged is sent again: after this long, and then doubling up to the other. */
  redeliverMs: number;
  redeliverMsMax: number;
  /** How long an enforcer is online after the last that was heard of it. */
  presenceMs: number;
  /** How long a pairing code is good: never more than ten minutes. */
  pairingMs: number;
  /** Names of metadata that approvers are never shown, beside those that it always keeps from them. */
  strippedMetadata: readonly string[];
  /** Calls a minute of one enforcer or approver, frames of a WebSocket among them. */
  callsPerMinute: number;
  /** Codes that one approver may try in a minute; all of a tenant together may try four times as many. */
  pairingsPerMinute: number;
  /** How often an open connection is pinged, and after how long without a sign of life it is ended. */
  pingMs: number;
  idleMs: number;
}

const dayMs = 24 * 60 * 60 * 1000;

export const gatewayDefaults: GatewaySettings = {
  gatewayId: "bridle",
  retainMs: 7 * dayMs,
  lifetimeMsMax: dayMs,
  redeliverMs: 15_000,
  redeliverMsMax: 5 * 60_000,
  presenceMs: 10 * 60_000,
  pairingMs: 10 * 60_000,
  strippedMetadata: [],
  // One approver for a whole fleet can decide hundreds of times a second; a client that runs in circles does more.
  callsPerMinute: 30_000,
  pairingsPerMinute: 30,
  pingMs: 30_000,
  idleMs: 120_000,
};
