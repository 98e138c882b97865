/** What a gateway is made of, and given from outside: a store, a clock, ids, secrets, and what its operator decided. */

import type { Logger } from "pino";
import type { WholeStore } from "../../store/whole-store.ts";
import type { Secrets } from "./secrets.ts";
import type { GatewaySettings } from "./settings.ts";

export interface GatewayDeps {
  store: WholeStore;
  /** Milliseconds since 1970. */
  now(): number;
  /** Never the same twice. */
  newId(prefix: string): string;
  secrets: Secrets;
  settings: GatewaySettings;
  logger: Pick<Logger, "warn" | "error">;
}
