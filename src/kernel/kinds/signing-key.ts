/** A key that receipts are signed with: its public half, which stays for ever so that old receipts can be verified. */

import type { PublicJwk } from "../../receipts/public-keys.ts";
import type { KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";

export interface SigningKeyRecord extends Resource<"signing_key"> {
  jwk: PublicJwk;
  /** The server that signs with it: the same for all its keys. */
  issuer_id: string;
  retired_at: string | null;
}

export function foldSigningKey(key: SigningKeyRecord, event: KernelEvent): SigningKeyRecord {
  if (event.event !== "vendor.bridle.signing_key.retired") return key;
  return { ...key, retired_at: event.createdAt, updated_at: event.createdAt };
}
