/**
 * Pairing an enforcer with an approver: the enforcer gets a code for a person to type, the approver trades it once for who
 * the enforcer is, and confirms; from then on a token routes the enforcer's requests to that approver.
 *
 * A pairing is found by the hash of its nonce, and its code, as long as it is good for something, by the hash of the code.
 * The token that was promised stays readable in the pairing until that is forgotten a day later: the enforcer, which asks
 * for it, may be away when the approver confirms.
 */

import { type Batch, type StoredDocument, VersionConflict } from "../../store/port.ts";
import type {
  PairingComplete,
  PairingCompleted,
  PairingInitiate,
  PairingInitiated,
  PairingResolved,
  PairingStatus,
} from "../core/wire.ts";
import type { GatewayDeps } from "./deps.ts";
import { actorOf, type Mailbox, type Principal } from "./principal.ts";
import {
  codeDocumentId,
  codeKind,
  type Pairing,
  pairingDocument,
  pairingId,
  pairingKind,
  stateAt,
} from "./records/pairing.ts";
import { refusal } from "./refusals.ts";
import { newToken, revokedAt } from "./routing-tokens.ts";
import { timeText } from "./times.ts";

/** A code that is taken already is drawn again; so many in a row are no coincidence. */
const triesMax = 50;

export class Pairings {
  readonly #deps: GatewayDeps;

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
  }

  async initiate(enforcer: Mailbox, request: PairingInitiate): Promise<PairingInitiated> {
    const { now, secrets, settings } = this.#deps;
    const { enforcerLabel, workspaceName, publicKey } = request;
    const expiresAtMs = now() + settings.pairingMs;
    const pairing: Pairing = {
      tenantId: enforcer.tenantId,
      enforcerId: enforcer.id,
      ...{ enforcerLabel, workspaceName, publicKey },
      nonce: secrets.nonce(),
      state: "initiated",
      expiresAtMs,
      resolvedBy: null,
      completed: null,
    };
    const code = await this.#withNewCode(enforcer, pairing);
    return { code, nonce: pairing.nonce, expiresAt: timeText(expiresAtMs) };
  }

  /** Works once for each code; afterwards the code is nobody's. */
  async resolve(principal: Principal, code: string): Promise<PairingResolved> {
    const { store, now } = this.#deps;
    const { tenantId } = principal;
    const codeId = codeDocumentId(tenantId, typedCode(code));
    const link = await store.of(tenantId).get(codeKind, codeId);
    const stored = link === undefined ? undefined : await this.#load(tenantId, (link.body as CodeLink).nonce);
    const pairing = bodyOf(stored);
    if (link === undefined || stored === undefined || pairing === null) throw pairingNotFound();
    if (stateAt(pairing, now()) !== "initiated") throw pairingNotFound();
    const next: Pairing = { ...pairing, state: "resolved", resolvedBy: actorOf(principal) };
    const batch = this.#batch(stored, next, "pairing.resolved", principal);
    batch.expect.push({ kind: codeKind, id: codeId, version: link.version });
    batch.trim = { events: [], documents: [{ kind: codeKind, id: codeId }], unlisted: [] };
    await this.#commit(batch);
    const { nonce, enforcerId, enforcerLabel, workspaceName, publicKey, expiresAtMs } = pairing;
    const shown = { enforcerLabel, workspaceName, publicKey };
    return { nonce, enforcerId, ...defined(shown), expiresAt: timeText(expiresAtMs) };
  }

  /** Only by whoever resolved it, in time, and once. */
  async complete(
    principal: Principal,
    approver: Mailbox,
    { nonce, publicKey }: PairingComplete,
  ): Promise<PairingCompleted> {
    const { now, secrets } = this.#deps;
    const { tenantId, id: approverId } = approver;
    const stored = await this.#load(tenantId, nonce);
    const pairing = bodyOf(stored);
    if (stored === undefined || pairing?.resolvedBy !== actorOf(principal)) throw pairingNotFound();
    const state = stateAt(pairing, now());
    if (state === "completed") throw alreadyCompleted();
    if (state !== "resolved") throw pairingNotFound();
    const routingToken = secrets.token();
    const completedAt = timeText(now());
    const completed = { approverId, routingToken, completedAt, ...defined({ publicKey }) };
    const next: Pairing = { ...pairing, state: "completed", completed };
    const batch = this.#batch(stored, next, "pairing.completed", principal);
    const { enforcerId, enforcerLabel, workspaceName } = pairing;
    const promise = newToken(routingToken, { tenantId, enforcerId, approverId, createdAt: completedAt });
    batch.expect.push(...promise.expect);
    batch.put.push(...promise.put);
    // Whoever was faster with the same nonce has completed it.
    await this.#commit(batch, alreadyCompleted);
    return { routingToken, ...defined({ enforcerLabel, workspaceName }) };
  }

  /** For the enforcer that began it. */
  async status(principal: Principal, nonce: string): Promise<PairingStatus> {
    const pairing = bodyOf(await this.#load(principal.tenantId, nonce));
    if (pairing === null || principal.id !== pairing.enforcerId) throw pairingNotFound();
    const { completed, expiresAtMs } = pairing;
    const known = { nonce, expiresAt: timeText(expiresAtMs) };
    if (completed === null) return { ...known, state: stateAt(pairing, this.#deps.now()) };
    const { routingToken, ...rest } = completed;
    const revoked = await revokedAt(this.#deps, principal.tenantId, routingToken);
    if (revoked !== null) return { ...known, state: "revoked", ...rest, revokedAt: revoked };
    return { ...known, state: "completed", ...rest, routingToken };
  }

  /** Forgets a pairing whose time is long over, or a code that is good for nothing any more. */
  async forget(kind: typeof pairingKind | typeof codeKind, id: string): Promise<void> {
    await this.#deps.store.commit({
      expect: [],
      events: [],
      put: [],
      blobs: [],
      trim: { events: [], documents: [{ kind, id }], unlisted: [] },
    });
  }

  async #withNewCode(enforcer: Mailbox, pairing: Pairing): Promise<string> {
    const { tenantId } = enforcer;
    for (let attempt = 1; ; attempt++) {
      const code = this.#deps.secrets.code();
      const codeId = codeDocumentId(tenantId, code);
      const batch = this.#batch(undefined, pairing, "pairing.initiated", enforcer);
      const link: CodeLink = { nonce: pairing.nonce };
      batch.expect.push({ kind: codeKind, id: codeId, version: 0 });
      batch.put.push({
        kind: codeKind,
        id: codeId,
        index: { tenantId, isListed: false, wakeAt: pairing.expiresAtMs + 1 },
        body: link,
      });
      try {
        await this.#deps.store.commit(batch);
        return code;
      } catch (error) {
        if (!(error instanceof VersionConflict) || attempt === triesMax) throw error;
      }
    }
  }

  #load(tenantId: string, nonce: string): Promise<StoredDocument | undefined> {
    return this.#deps.store.of(tenantId).get(pairingKind, pairingId(tenantId, nonce));
  }

  /** Neither code nor nonce nor token is in the log. */
  #batch(
    stored: StoredDocument | undefined,
    pairing: Pairing,
    event: string,
    by: Pick<Principal, "role" | "id">,
  ): Batch {
    const document = pairingDocument(pairing);
    const { tenantId, enforcerId, completed } = pairing;
    return {
      expect: [{ kind: pairingKind, id: document.id, version: stored?.version ?? 0 }],
      events: [
        {
          event,
          resource: { object: pairingKind, id: document.id },
          tenantId,
          workspaceId: null,
          sessionId: null,
          taskId: null,
          actor: actorOf(by),
          createdAt: timeText(this.#deps.now()),
          payload: completed === null ? { enforcerId } : { enforcerId, approverId: completed.approverId },
        },
      ],
      put: [document],
      blobs: [],
    };
  }

  async #commit(batch: Batch, lost: () => Error = pairingNotFound): Promise<void> {
    try {
      await this.#deps.store.commit(batch);
    } catch (error) {
      if (error instanceof VersionConflict) throw lost();
      throw error;
    }
  }
}

/** As people type it: in small letters, in groups. */
function typedCode(code: string): string {
  return code.replaceAll(/[\s-]/g, "").toUpperCase();
}

interface CodeLink {
  nonce: string;
}

function bodyOf(stored: StoredDocument | undefined): Pairing | null {
  return stored === undefined ? null : (stored.body as Pairing);
}

/** Without members that are not there. */
function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** The same for what never was, is over, or is somebody else's: a guess learns nothing. */
function pairingNotFound(): Error {
  return refusal("PairingNotFound", "There is no such pairing, or it is no longer open.");
}

function alreadyCompleted(): Error {
  return refusal("PairingCompletedConflict", "This pairing was completed before.");
}
