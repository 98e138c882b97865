/** Signatures of agent cards, as the server makes them and as nobody made them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { signHybrid } from "../../policy/agent-card.ts";
import { newSigningKey } from "../../receipts/keys.ts";
import { verifyAgentCard } from "./index.ts";

const card = { name: "echo", description: "Says it again.", version: "1.0.0" };

test("CON-19 a card that a server signed is verified with its keys, and no changed or foreign one is", async () => {
  const [{ key }, { key: other }] = [newSigningKey(), newSigningKey()];
  const signed = JSON.parse(JSON.stringify(signHybrid(card, key, "https://a.example/jwks.json")));
  assert.equal(await verifyAgentCard(signed, [other.jwk, key.jwk]), key.kid);
  assert.equal(await verifyAgentCard({ ...signed, name: "other" }, [key.jwk]), null);
  assert.equal(await verifyAgentCard({ ...signed, extra: true }, [key.jwk]), null);
  assert.equal(await verifyAgentCard(signed, [other.jwk]), null);
  assert.equal(await verifyAgentCard(signed, [{ ...other.jwk, kid: key.kid }]), null);
  for (const broken of [
    null,
    "card",
    card,
    { ...card, signatures: ["x", {}, { protected: "!", signature: "!" }] },
  ]) {
    assert.equal(await verifyAgentCard(broken, [key.jwk]), null);
  }
});
