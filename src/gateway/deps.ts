/** What a gateway is made of, and given from outside: a store, a clock, ids, secrets, and what its operator decided. */

import type { Logger } from "pino";
import type { Store } from "../store/port.ts";
import type { Secrets } from "./secrets.ts";
import type { GatewaySettings } from "./settings.ts";

export interface GatewayDeps {
  store: Store;
  /** Milliseconds since 1970. */
  now(): number;
  /** Never the same twice. */
  newId(prefix: string): string;
  secrets: Secrets;
  settings: GatewaySettings;
  logger: Pick<Logger, "warn" | "error">;
}
