/**
 * The gateway, put together: what it can be asked, each verb in a file of its own. It knows who calls only by the
 * principal that it is given, and decides itself what that one may do; whoever gives it has checked the credentials.
 */

import type {
  AckAccepted,
  AckSubmit,
  ArtifactAccepted,
  ArtifactSubmit,
  DecisionAccepted,
  DecisionDeliver,
  DecisionSubmit,
  ExchangeState,
  ExchangeStatus,
  ExchangeWithdrawn,
  Hello,
  InboxPage,
  PairingComplete,
  PairingCompleted,
  PairingInitiate,
  PairingInitiated,
  PairingResolved,
  PairingStatus,
  Presence,
} from "../core/wire.ts";
import { acknowledge } from "./acknowledge.ts";
import { cancel } from "./cancel.ts";
import { type Channel, Channels, type Outlet } from "./channels.ts";
import type { GatewayDeps } from "./deps.ts";
import { Envelopes } from "./envelopes.ts";
import { exchangeStatus } from "./exchange-status.ts";
import { Exchanges } from "./exchanges.ts";
import { dismiss, type InboxName, inboxPage, type PageRequest } from "./inboxes.ts";
import { KnownApprovers } from "./known-approvers.ts";
import { Pairings } from "./pairings.ts";
import { type Labels, PresenceBook } from "./presence.ts";
import { type Mailbox, mailboxFor, type Principal, type Role, requireRole } from "./principal.ts";
import { approverMailbox, type Exchange, enforcerMailbox } from "./records/exchange.ts";
import { refresh } from "./refresh.ts";
import { refusal } from "./refusals.ts";
import { revokePairing } from "./routing-tokens.ts";
import { submitArtifact } from "./submit-artifact.ts";
import { submitDecision } from "./submit-decision.ts";
import { sweep } from "./sweep.ts";
import { Waits, waitForDecision } from "./wait.ts";
import { withdraw } from "./withdraw.ts";

export class Gateway {
  readonly deps: GatewayDeps;
  readonly envelopes: Envelopes;
  readonly exchanges: Exchanges;
  readonly approvers: KnownApprovers;
  readonly pairings: Pairings;
  readonly presence: PresenceBook;
  readonly waits = new Waits();
  readonly channels: Channels;

  constructor(deps: GatewayDeps) {
    const { newId, now, settings } = deps;
    this.deps = deps;
    this.envelopes = new Envelopes({ gatewayId: settings.gatewayId, newId, now });
    this.exchanges = new Exchanges(deps, (before, after) => this.#changed(before, after));
    this.approvers = new KnownApprovers(deps);
    this.pairings = new Pairings(deps);
    this.channels = new Channels(this);
    this.presence = new PresenceBook({
      now,
      ttlMs: settings.presenceMs,
      isConnected: (enforcer) => this.channels.of(enforcer).length > 0,
    });
  }

  submitArtifact(principal: Principal, envelope: ArtifactSubmit): Promise<ArtifactAccepted> {
    return submitArtifact(this, principal, envelope);
  }

  submitDecision(principal: Principal, envelope: DecisionSubmit): Promise<DecisionAccepted> {
    return submitDecision(this, principal, envelope);
  }

  acknowledge(principal: Principal, envelope: AckSubmit): Promise<AckAccepted> {
    return acknowledge(this, principal, envelope);
  }

  withdraw(principal: Principal, requestId: string): Promise<ExchangeWithdrawn> {
    return withdraw(this, principal, requestId);
  }

  cancel(principal: Principal, requestId: string): Promise<ExchangeState> {
    return cancel(this, principal, requestId);
  }

  exchangeStatus(principal: Principal, requestId: string): Promise<ExchangeStatus> {
    return exchangeStatus(this, principal, requestId);
  }

  waitForDecision(
    principal: Principal,
    requestId: string,
    patience: { timeoutMs: number; signal: AbortSignal },
  ): Promise<DecisionDeliver | null> {
    return waitForDecision(this, principal, requestId, patience);
  }

  async inboxPage(principal: Principal, of: Of, name: InboxName, page: PageRequest): Promise<InboxPage> {
    return await inboxPage(this, await this.#as(principal, of), name, page);
  }

  async dismiss(principal: Principal, approverId: string, requestId: string): Promise<void> {
    await dismiss(this, await this.#as(principal, { role: "approver", id: approverId }), requestId);
  }

  refresh(principal: Principal, requestId: string, enforcerId: string | null): Promise<void> {
    return refresh(this, principal, requestId, enforcerId);
  }

  /** Opens a channel for what waits for somebody. */
  async connect(principal: Principal, of: Of, outlet: Outlet): Promise<Channel> {
    return this.channels.connect(await this.#as(principal, of), outlet);
  }

  /** How an enforcer at the other end of a channel introduces itself. */
  introduce({ mailbox }: Channel, hello: Omit<Hello, "msgType">): void {
    if (mailbox.role === "enforcer") this.presence.introduced(mailbox, hello);
  }

  /** Something came over a channel. */
  alive({ mailbox, transport }: Channel): void {
    if (mailbox.role === "enforcer") this.presence.alive(mailbox, transport);
  }

  /** An enforcer that only polls says that it is there, and what it is called. */
  async heartbeat(principal: Principal, { workspaceName, enforcerLabel }: Labels): Promise<void> {
    await this.heardFrom(principal);
    this.presence.introduced(mailboxFor(principal, { role: "enforcer", id: principal.id }), {
      ...(workspaceName === undefined ? {} : { workspaceName }),
      ...(enforcerLabel === undefined ? {} : { enforcerLabel }),
    });
  }

  async presenceIn(principal: Principal, tenantId: string): Promise<Presence[]> {
    await this.heardFrom(principal);
    if (tenantId !== principal.tenantId) throw refusal("Forbidden", "This is not your tenant.");
    return this.presence.inTenant(tenantId);
  }

  async presenceOf(principal: Principal, enforcerId: string): Promise<Presence> {
    await this.heardFrom(principal);
    const { tenantId } = principal;
    const found = this.presence.of({ tenantId, role: "enforcer", id: enforcerId });
    if (found === null) throw refusal("EnforcerNotFound", "No such enforcer was heard of here.");
    return found;
  }

  async initiatePairing(principal: Principal, request: PairingInitiate): Promise<PairingInitiated> {
    const enforcer = await this.#as(principal, { role: "enforcer", id: request.enforcerId });
    return await this.pairings.initiate(enforcer, request);
  }

  async resolvePairing(principal: Principal, code: string): Promise<PairingResolved> {
    requireRole(principal, "approver");
    await this.heardFrom(principal);
    return await this.pairings.resolve(principal, code);
  }

  async completePairing(principal: Principal, request: PairingComplete): Promise<PairingCompleted> {
    const approver = await this.#as(principal, { role: "approver", id: request.approverId });
    return await this.pairings.complete(principal, approver, request);
  }

  async pairingStatus(principal: Principal, nonce: string): Promise<PairingStatus> {
    requireRole(principal, "enforcer");
    await this.heardFrom(principal);
    return await this.pairings.status(principal, nonce);
  }

  /** What was promised at pairing no longer holds. */
  async revokePairing(
    principal: Principal,
    wanted: { routingToken: string } | { enforcerId: string },
  ): Promise<void> {
    await this.heardFrom(principal);
    await revokePairing(this.deps, principal, wanted);
  }

  /** Who calls is known from then on: an approver as one that can be asked, an enforcer as one that is there. */
  async heardFrom({ tenantId, role, id }: Principal): Promise<void> {
    if (role === "approver") await this.approvers.note(tenantId, id);
    if (role === "enforcer") this.presence.called({ tenantId, role, id });
  }

  /** Time has passed: what is over ends, what was not acknowledged is told again. */
  async tick(signal?: AbortSignal): Promise<void> {
    this.channels.tick();
    await sweep(this, signal);
  }

  async #as(principal: Principal, of: Of): Promise<Mailbox> {
    const mailbox = mailboxFor(principal, of);
    await this.heardFrom(mailbox);
    return mailbox;
  }

  /** An exchange changed, on disk: whoever waits for that is told. */
  #changed(before: Exchange | null, after: Exchange): void {
    if (before?.state === after.state) return;
    this.waits.wake(after);
    const approvers = after.approvers.map(({ approverId }) => approverMailbox(after, approverId));
    if (after.state === "pendingApproval") for (const approver of approvers) this.channels.nudge(approver);
    if (after.state === "decided") this.channels.nudge(enforcerMailbox(after));
    if (after.state !== "withdrawn") return;
    for (const approver of approvers) {
      for (const channel of this.channels.of(approver)) {
        channel.hint(this.envelopes.exchangeWithdrawn(after, { approverId: approver.id }));
      }
    }
  }
}

type Of = { role: Role; id: string };
