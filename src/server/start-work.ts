/** What a server does by itself: runs of agents, and what follows the log and the clock beside them. */

import type { WholeKernel } from "../kernel/kernel.ts";
import type { AgentRegistry } from "../runtime/agents/registry.ts";
import { startEnforcer } from "../runtime/approvals/enforcer.ts";
import { followHandoffs } from "../runtime/handoff/handoff-worker.ts";
import { type Runtime, startRuntime } from "../runtime/runtime.ts";
import { startConnectorPoller } from "../runtime/scheduler/connector-poller.ts";
import { startExpirySweeper } from "../runtime/scheduler/expiry-sweeper.ts";
import { startHousekeeping } from "../runtime/scheduler/housekeeping.ts";
import { startScheduleClock } from "../runtime/scheduler/schedule-clock.ts";
import { startWebhooks } from "../runtime/webhooks/webhooks.ts";
import type { World } from "../runtime/world.ts";
import { notificationShapes, notifications } from "../surfaces/opvs/notifications.ts";
import type { ServerConfig } from "./config.ts";
import type { Lifetime } from "./lifetime.ts";

interface Beneath {
  kernel: WholeKernel;
  agents: AgentRegistry;
  tools: World["tools"];
  lifetime: Lifetime;
}

/** `drained` is told how many runs were interrupted when the server stops. */
export async function startWork(
  config: ServerConfig,
  { kernel, agents, tools, lifetime }: Beneath,
  drained: (result: { interrupted: number }) => void,
): Promise<Runtime> {
  const { built } = lifetime;
  const { logger } = config;
  built.defer(() => config.mcp.close());
  const runtime = await startRuntime({
    kernel,
    world: { models: config.models, mcp: config.mcp, tools },
    agents,
    logger,
    concurrency: config.concurrency,
    keepsStartedCode: config.agentsMayChange,
  });
  built.defer(startExpirySweeper({ kernel, logger }));
  built.defer(async () => drained(await runtime.drain(lifetime.graceMs)));
  built.defer(startScheduleClock(kernel, logger));
  built.defer(startConnectorPoller(kernel, logger));
  built.defer(followHandoffs({ kernel, logger }));
  built.defer(await startEnforcer({ kernel, logger }));
  built.defer(startHousekeeping(kernel, logger));
  return runtime;
}

/** They name this server's URL, so it must be known by now. */
export async function tellWebhooks(
  config: ServerConfig,
  kernel: WholeKernel,
  publicUrl: () => string,
  { built }: Lifetime,
): Promise<void> {
  built.defer(
    await startWebhooks({
      kernel,
      logger: config.logger,
      publicUrl,
      narrative: notifications({ kernel, publicUrl, shapes: notificationShapes }),
      backoff: config.webhookBackoff,
    }),
  );
}
