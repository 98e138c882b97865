/** What an author may say of an agent's card, and what is refused before anybody sees it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentCard, defineAgent } from "./agent.ts";
import { AgentRegistry } from "./registry.ts";

function agentWith(card: unknown) {
  // Modules on disk are written without types.
  return defineAgent({ name: "carded", version: "1", card: card as AgentCard, run: async () => "done" });
}

const refused: [unknown, RegExp][] = [
  [{ public: { tenantId: "acme" } }, /public\.tenantId/],
  [{ public: { tenantId: "tenant_Acme" } }, /public\.tenantId/],
  [{ public: { requestsPerMinute: 0 } }, /public\.requestsPerMinute/],
  [{ public: { requestsPerMinute: 1.5 } }, /public\.requestsPerMinute/],
  [{ public: { tenant: "tenant_acme" } }, /public/],
  [{ public: "yes" }, /public/],
  [{ publik: true }, /is wrong/],
  [{ inputModes: [] }, /inputModes/],
  [{ outputModes: ["no media type"] }, /outputModes\.0/],
  [{ extendedCard: "maybe" }, /extendedCard/],
  [{ streaming: "true" }, /streaming/],
  [{ extensions: [{ uri: "relative" }] }, /extensions\.0\.uri/],
  [{ extensions: [{ uri: "urn:a:1,2" }] }, /extensions\.0\.uri/],
  [{ extensions: [{ uri: "urn:bridle:durable-cursor:1" }] }, /kept for the server/],
  [{ extensions: [{ uri: "urn:a:1" }, { uri: "urn:a:1" }] }, /twice/],
  [{ extensions: [{ uri: "urn:a:1", params: {} }] }, /params/],
  [{ extensions: [{ uri: "urn:a:1", params: { a: { b: [1, ""] } } }] }, /params\.a\.b\.1/],
];

for (const [card, problem] of refused) {
  test(`CRD-10 rejects the card ${JSON.stringify(card)} and names what is wrong`, () => {
    // Given the card ${JSON.stringify(card)}, when the agent is defined, then it is refused by the name of what is
    // wrong.
    assert.throws(
      () => agentWith(card),
      (error) => error instanceof TypeError && problem.test(error.message),
    );
  });
}

test("CRD-10 a minimal card gets defaults and is not public", () => {
  // Given a card that says little, when the agent is loaded, then the rest is what suits most, and it is not public.
  const describe = (card: AgentCard) => new AgentRegistry([agentWith(card)]).find("carded")?.card;
  assert.equal(describe({})?.public, null);
  assert.equal(describe({ public: false })?.public, null);
  assert.deepEqual(describe({ public: true })?.public, { tenantId: "tenant_default", requestsPerMinute: 60 });
  assert.deepEqual(describe({ public: { tenantId: "tenant_a-1", requestsPerMinute: 5 } })?.public, {
    tenantId: "tenant_a-1",
    requestsPerMinute: 5,
  });
  assert.equal(describe({ inputModes: ["text", "image/*", "application/vnd.a+json"] })?.inputModes.length, 3);
});
