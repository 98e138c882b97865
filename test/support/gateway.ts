/** A gateway without a server, for tests: on a real store in a directory of its own, with a clock that is set by hand. */

import { createHash } from "node:crypto";
import { pino } from "pino";
import type { GatewayRefusal } from "../../src/harp/core/gateway-link.ts";
import type {
  AckSubmit,
  ArtifactSubmit,
  ArtifactSubmitBody,
  DecisionBody,
  DecisionSubmit,
} from "../../src/harp/core/wire.ts";
import type { Channel, Hint, Outlet, Told } from "../../src/harp/gateway/channels.ts";
import { Gateway } from "../../src/harp/gateway/gateway.ts";
import type { Principal, Role } from "../../src/harp/gateway/principal.ts";
import { randomSecrets, type Secrets } from "../../src/harp/gateway/secrets.ts";
import { type GatewaySettings, gatewayDefaults } from "../../src/harp/gateway/settings.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { WholeStore } from "../../src/store/whole-store.ts";
import { until } from "./client.ts";
import { temporaryDirectory } from "./server.ts";

export const tenantId = "tenant-a";

export interface TestGatewayOptions {
  settings?: Partial<GatewaySettings>;
  secrets?: Partial<Secrets>;
  newId?: (prefix: string) => string;
  /** Where the clock starts. */
  at?: string;
  /** What the gateway sees of the store. */
  through?: (store: WholeStore) => WholeStore;
}

export class TestGateway implements AsyncDisposable {
  readonly gateway: Gateway;
  readonly store: WholeStore;
  readonly #directory: AsyncDisposable;
  #nowMs: number;
  #ids = 0;

  private constructor(store: WholeStore, directory: AsyncDisposable, options: TestGatewayOptions) {
    this.store = store;
    this.#directory = directory;
    this.#nowMs = Date.parse(options.at ?? "2026-02-24T10:00:00Z");
    this.gateway = new Gateway({
      store: options.through?.(store) ?? store,
      now: () => this.#nowMs,
      newId: options.newId ?? ((prefix) => `${prefix}-${++this.#ids}`),
      secrets: { ...randomSecrets, ...options.secrets },
      settings: { ...gatewayDefaults, ...options.settings },
      logger: pino({ level: "silent" }),
    });
  }

  static async open(options: TestGatewayOptions = {}): Promise<TestGateway> {
    const directory = await temporaryDirectory();
    return new TestGateway(await openSqliteStore(directory.path), directory, options);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  time(inMs = 0): string {
    return new Date(this.#nowMs + inMs).toISOString();
  }

  moveBy(ms: number): void {
    this.#nowMs += ms;
  }

  moveTo(time: string): void {
    this.#nowMs = Date.parse(time);
  }

  /** An approver that has called once, so that it is known. */
  async approver(id: string, tenant = tenantId): Promise<Principal> {
    const approver = principal("approver", id, tenant);
    await this.gateway.heardFrom(approver);
    return approver;
  }

  artifact(
    requestId: string,
    body: Partial<ArtifactSubmitBody> = {},
    envelope: Partial<ArtifactSubmit> = {},
  ): ArtifactSubmit {
    return {
      msgType: "artifact.submit",
      requestId,
      createdAt: this.time(),
      sender: { enforcerId: "enf" },
      body: {
        artifactType: "core.artifact",
        artifactHash: hashFor(requestId),
        ciphertext: { alg: "AES-256-GCM", data: "sealed" },
        expiresAt: this.time(10 * 60_000),
        ...body,
      },
      ...envelope,
    };
  }

  decision(requestId: string, approverId: string, body: Partial<DecisionBody> = {}): DecisionSubmit {
    return {
      msgType: "decision.submit",
      requestId,
      createdAt: this.time(),
      sender: { approverId },
      body: {
        artifactHash: hashFor(requestId),
        decision: "approve",
        signerKeyId: `key-${approverId}`,
        nonce: "nonce-1",
        signature: "signature",
        ...body,
      },
    };
  }

  ack(
    requestId: string,
    msgId: string,
    sender: AckSubmit["sender"],
    status: "received" | "processed" = "processed",
  ): AckSubmit {
    const createdAt = this.time();
    return { msgType: "ack.submit", requestId, createdAt, sender, body: { msgId, status, ackAt: createdAt } };
  }

  async state(requestId: string, as: Principal = principal("enforcer", "enf")): Promise<string> {
    return (await this.gateway.exchangeStatus(as, requestId)).body.state;
  }

  async inbox(approverId: string, name: "pending" | "expired" = "pending"): Promise<string[]> {
    const of = { role: "approver", id: approverId } as const;
    const page = await this.gateway.inboxPage(principal("approver", approverId), of, name, { limit: 100 });
    return page.body.items.map(({ requestId }) => requestId);
  }

  /** A channel that keeps what it was told. */
  async channel(role: Role, id: string, tenant = tenantId): Promise<TestChannel> {
    const kept = new TestChannel();
    kept.channel = await this.gateway.connect(principal(role, id, tenant), { role, id }, kept);
    return kept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.gateway.channels.closeAll();
    await this.store.close();
    await this.#directory[Symbol.asyncDispose]();
  }
}

export function principal(role: Principal["role"], id: string, tenant = tenantId): Principal {
  return { tenantId: tenant, role, id };
}

export function hashFor(requestId: string): string {
  return `sha256:${createHash("sha256").update(requestId).digest("hex")}`;
}

export class TestChannel implements Outlet {
  readonly transport = "websocket";
  readonly told: (Told | Hint)[] = [];
  channel: Channel | null = null;
  isEnded = false;
  /** What each message waits for before the next may follow. */
  room: () => Promise<void> = async () => {};

  async send(message: Told | Hint): Promise<void> {
    this.told.push(message);
    await this.room();
  }

  end(): void {
    this.isEnded = true;
  }

  close(): void {
    this.channel?.close();
  }

  get requestIds(): string[] {
    return this.told.map(({ requestId }) => requestId);
  }

  /** Once it was told this many messages. */
  async untilTold(count: number): Promise<(Told | Hint)[]> {
    return await until(
      async () => this.told,
      (told) => told.length >= count,
    );
  }
}

/** The code that something is refused with. */
export async function refusalOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return (error as GatewayRefusal).code ?? String(error);
  }
  return "nothing was refused";
}
