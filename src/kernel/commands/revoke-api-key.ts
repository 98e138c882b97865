/** Revoke an API key. It stops working with the next request; asking again changes nothing. */

import type { Command } from "../dispatch.ts";
import type { ApiKeyRecord } from "../resources/api-key.ts";

export const revokeApiKey: Command<{ keyId: string }, ApiKeyRecord> = {
  name: "revoke_api_key",
  scope: "api_keys:write",
  async decide(unit, { keyId }) {
    const key = await unit.require("api_key", keyId);
    if (key.revoked_at !== null) return key;
    return unit.emit(key, "vendor.bridle.api_key.revoked", {});
  },
};
