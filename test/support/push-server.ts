/**
 * A server whose webhooks may be on this machine. Variables say the rest:
 *
 *   PUSH_STRICT   only public addresses, as by default
 *   PUSH_BACKOFF  how failed deliveries are tried again, as JSON
 *   RETAIN_MS     how long what ended is kept
 */

import { defineAgent, type ServerConfig } from "bridle";
import { serve } from "./serve.ts";

const silent = defineAgent({
  name: "silent",
  version: "1.0.0",
  card: { pushNotifications: false },
  run: async () => "done",
});

export function pushing(variables: Record<string, string | undefined>): Partial<ServerConfig> {
  const { PUSH_STRICT, PUSH_BACKOFF = "{}", RETAIN_MS } = variables;
  return {
    allowPrivateAddresses: PUSH_STRICT === undefined,
    webhookBackoff: JSON.parse(PUSH_BACKOFF),
    retainMs: RETAIN_MS === undefined ? null : Number(RETAIN_MS),
    agents: [silent],
  };
}

if (import.meta.main) await serve(pushing(process.env));
