/** A process of the server in a simulation: the real kernel, receipts, runtime, webhooks and clocks, over a simulated disk and network. */

import { createPrivateKey } from "node:crypto";
import { type Logger, pino } from "pino";
import { withoutGateway } from "../../src/kernel/approvals/access.ts";
import { createKernel, type WholeKernel } from "../../src/kernel/kernel.ts";
import { Issuer } from "../../src/kernel/receipts/signing.ts";
import { ensureSigningKey } from "../../src/kernel/receipts/signing-keys.ts";
import { defaultTenantId, ensureTenant } from "../../src/kernel/workspaces/ensure-tenant.ts";
import { systemCaller } from "../../src/policy/caller.ts";
import { MasterKeys } from "../../src/policy/master-keys.ts";
import type { Outbound } from "../../src/policy/outbound.ts";
import { signingKey } from "../../src/receipts/keys.ts";
import type { Agent } from "../../src/runtime/agents/agent.ts";
import { AgentRegistry } from "../../src/runtime/agents/registry.ts";
import { startRuntime } from "../../src/runtime/runtime.ts";
import { startExpirySweeper } from "../../src/runtime/scheduler/expiry-sweeper.ts";
import { startHousekeeping } from "../../src/runtime/scheduler/housekeeping.ts";
import { startScheduleClock } from "../../src/runtime/scheduler/schedule-clock.ts";
import { startWebhooks } from "../../src/runtime/webhooks/webhooks.ts";
import type { WholeStore } from "../../src/store/whole-store.ts";
import { notificationShapes, notifications } from "../../src/surfaces/opvs/notifications.ts";
import { RehearsedFiles } from "../../src/testing/rehearsed-files.ts";
import type { Machine } from "./machine.ts";

export const system = systemCaller(defaultTenantId);
export const publicUrl = () => "https://bridle.test";

const concurrency = 20;
/** Receivers come back soon here, so nobody needs to be waited for long. */
const backoff = { firstMs: 100, mostMs: 2000, attemptsMax: 10_000 };

/** What survives a process beside its disk: key files, and what is installed. */
export class Installation {
  readonly agents: AgentRegistry;
  readonly issuer = new Issuer(sharedKey, () => {});
  readonly masterKeys = new MasterKeys({ file: null });
  readonly approvals = withoutGateway();
  readonly files = new RehearsedFiles({});
  /** What the runtime has to complain about; the newest. */
  readonly complaints: string[] = [];
  readonly machine: Machine;
  readonly outbound: Outbound;

  constructor(machine: Machine, agents: readonly Agent[], outbound: Outbound) {
    this.machine = machine;
    this.agents = new AgentRegistry(agents);
    this.outbound = outbound;
  }

  get logger(): Logger {
    const write = (line: string) => {
      this.complaints.push(line.trim().slice(0, 1000));
      if (this.complaints.length > complaintsMax) this.complaints.shift();
    };
    return pino({ level: "warn", timestamp: false, base: null }, { write });
  }
}

const complaintsMax = 10;
/** The same in every run, so that a seed gives the same log everywhere. What comes before its 32 bytes is PKCS #8. */
const keyHead = "302e020100300506032b657004220420";
const sharedKey = signingKey(
  createPrivateKey({
    key: Buffer.concat([Buffer.from(keyHead, "hex"), Buffer.alloc(32, 7)]),
    ...{ format: "der", type: "pkcs8" },
  }),
);

/** Resolves once it is ready to be asked. */
export async function startProcess(
  { machine, agents, issuer, masterKeys, approvals, files, outbound, logger }: Installation,
  store: WholeStore,
): Promise<WholeKernel> {
  const kernel = createKernel({
    store,
    clock: { now: () => machine.wall(), steady: () => machine.now },
    agents,
    issuer,
    masterKeys,
    approvals,
    files,
    outbound,
    onReceiptError: (error) => logger.error({ err: error }, "Receipts were not issued"),
  });
  await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  const { result } = await kernel.dispatch(ensureSigningKey, system, { key: issuer.key });
  issuer.adopt(result.issuer_id);
  await kernel.receipts.start();
  await startRuntime({ kernel, agents, logger, concurrency });
  startExpirySweeper({ kernel, logger });
  startScheduleClock(kernel, logger);
  startHousekeeping(kernel, logger);
  const narrative = notifications({ kernel, publicUrl, shapes: notificationShapes });
  await startWebhooks({ kernel, logger, publicUrl, narrative, backoff });
  return kernel;
}
