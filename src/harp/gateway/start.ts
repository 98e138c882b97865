/** Starts a gateway on a store that is its own: the gateway, and the clock that keeps it going. */

import type { Logger } from "pino";
import { Periodic } from "../../periodic.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { Gateway } from "./gateway.ts";
import { randomSecrets } from "./secrets.ts";
import type { GatewaySettings } from "./settings.ts";

export interface GatewayOptions {
  store: WholeStore;
  now(): number;
  newId(prefix: string): string;
  settings: GatewaySettings;
  logger: Logger;
}

export interface RunningGateway extends AsyncDisposable {
  gateway: Gateway;
}

/** How often it looks at the clock. What is over is over for whoever asks, however rarely it looks. */
const tickMs = 1000;

/** Disposed of, it ends its channels and its clock; the store is for whoever opened it to close. */
export function startGateway(options: GatewayOptions): RunningGateway {
  const { logger } = options;
  const gateway = new Gateway({ ...options, secrets: randomSecrets });
  const clock = new Periodic({
    everyMs: tickMs,
    work: (signal) => gateway.tick(signal),
    onError: (error) =>
      logger.error(
        { event: "gateway.sweep_failed", err: error },
        "Looking for expired exchanges failed; retrying",
      ),
  });
  void clock.start();
  return {
    gateway,
    async [Symbol.asyncDispose]() {
      const stopped = clock.stop();
      gateway.channels.closeAll();
      await stopped;
    },
  };
}
