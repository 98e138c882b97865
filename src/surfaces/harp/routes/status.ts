/** What this gateway is and speaks, for everybody who asks. */

import type { FastifyInstance } from "fastify";
import { harpVersion } from "../../../harp/core/wire.ts";
import { requireVersion } from "../admit.ts";
import { ok, send } from "../route.ts";
import type { HarpOptions } from "../surface.ts";

export const statusPath = "/v1/status";

/** The gateway itself verifies nothing: these are what its messages are about. */
const algorithms = ["Ed25519", "SHA-256"];

/** Extended takes PROMPT and SESSION as well, which a gateway alone does not have. */
const declared = {
  enforcer: {
    conformanceLevel: "Extended",
    documents: ["CORE", "KEYMGMT", "PROMPT", "SESSION", "GATEWAY", "TRANSPORT"],
  },
  gateway: { conformanceLevel: "Core", documents: ["CORE", "KEYMGMT", "GATEWAY", "TRANSPORT"] },
};

const residualRisks = [
  "A gateway can delay, reorder or drop messages, and sees who talks to whom, when, and how much.",
  "Display metadata and the reason of a decision are readable by the gateway and not authenticated.",
  "Enforcers and approvers of one tenant can see which enforcers are online.",
  "Compromised devices of approvers, compromised enforcers and insiders with valid keys are not detected here.",
];

export function statusRoute(app: FastifyInstance, { isEnforcer, isMutualTls, logger }: HarpOptions): void {
  const { conformanceLevel, documents } = isEnforcer ? declared.enforcer : declared.gateway;
  app.get(statusPath, async (request, reply) => {
    requireVersion(request, logger);
    return send(
      reply,
      ok({
        harpVersion,
        conformanceLevel,
        algorithms,
        transport: ["HTTPS", "WSS"],
        mTLS: isMutualTls,
        documents,
        residualRisks,
      }),
    );
  });
}
