/** The agent card, signed: Ed25519 over the RFC 8785 form of the card without `signature`, by a key of the key set. */

import { canonicalJson } from "../../web/canonical-json.ts";
import type { SignDocument } from "../signed-documents.ts";

export const signHarnCard: SignDocument<Record<string, unknown>> = (card, key) => ({
  ...card,
  signature: { algorithm: "ed25519", key_id: key.kid, value: key.sign(canonicalJson(card)) },
});
