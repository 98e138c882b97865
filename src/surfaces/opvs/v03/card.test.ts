/** Cards for 0.3, read by the official library. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AgentCard as SdkAgentCard } from "@a2a-js/sdk";
import { isLegacyAgentCard, parseLegacyAgentCard } from "@a2a-js/sdk/compat/v0_3/client";
import { fromJson, toJson } from "@bufbuild/protobuf";
import { type AgentCardJson, AgentCardSchema } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { OpvsError } from "../errors.ts";
import { showCard } from "./card.ts";

const scopes = { "tasks:read": "Reading." };
const clientCredentials = { tokenUrl: "https://a.example/token", scopes };
const securityRequirements = [{ schemes: { key: {}, oauth: { list: ["tasks:read"] } } }];

const card: AgentCardJson = {
  name: "Echo",
  description: "Says it again.",
  version: "1.2.0",
  provider: { organization: "Example", url: "https://example.com" },
  documentationUrl: "https://a.example/docs",
  supportedInterfaces: [
    { url: "https://a.example/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: "https://a.example/rpc", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    { url: "https://a.example/rest", protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
  ],
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extendedAgentCard: true,
    extensions: [{ uri: "urn:x:1", description: "More.", required: true, params: { a: 1 } }],
  },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: "header", name: "X-Key", description: "A key." } },
    http: { httpAuthSecurityScheme: { scheme: "bearer", bearerFormat: "opaque" } },
    oauth: { oauth2SecurityScheme: { flows: { clientCredentials } } },
    oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://a.example/oidc" } },
    mtls: { mtlsSecurityScheme: { description: "Certificates." } },
  },
  securityRequirements,
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "echo", name: "Echo", description: "Repeats.", tags: ["demo"], securityRequirements }],
  signatures: [{ protected: "e30", signature: "c2ln" }],
};

function canonical(value: unknown): unknown {
  const message = fromJson(AgentCardSchema, JSON.parse(JSON.stringify(value)), { ignoreUnknownFields: true });
  return toJson(AgentCardSchema, message);
}

test("VCP-1 the official library reads the 0.3 card with all but the later interfaces", () => {
  // Given a card, when the official library reads what 0.3 is shown, then all but the later interfaces is there.
  const shown = JSON.parse(JSON.stringify(showCard(card)));
  assert.equal(isLegacyAgentCard(shown), true);
  const { signatures: _, supportedInterfaces = [], ...others } = card;
  const [, first, second] = supportedInterfaces;
  const expected = { ...others, supportedInterfaces: [{ ...first, protocolVersion: "0.3.0" }, second] };
  assert.deepEqual(canonical(SdkAgentCard.toJSON(parseLegacyAgentCard(shown))), canonical(expected));
});

test("VCP-1 the 0.3 card omits a security scheme that came later and keeps the others", () => {
  // Given a scheme that came later, when the card is shown, then it is left out and the others stay.
  const deviceCode = { ...clientCredentials, deviceAuthorizationUrl: "https://a.example/device" };
  const authorizationCode = {
    ...clientCredentials,
    authorizationUrl: "https://a.example/auth",
    pkceRequired: true,
  };
  const shown = showCard({
    ...card,
    securitySchemes: {
      device: { oauth2SecurityScheme: { flows: { deviceCode } } },
      code: { oauth2SecurityScheme: { flows: { authorizationCode } } },
    },
  });
  const { pkceRequired: _, ...known } = authorizationCode;
  assert.deepEqual(shown.securitySchemes, { code: { type: "oauth2", flows: { authorizationCode: known } } });
});

test("VCP-1 a card without a 0.3 address fails as version not supported", () => {
  // Given a card without an address for 0.3, when it is shown, then the version is what is refused.
  const current = { ...card, supportedInterfaces: (card.supportedInterfaces ?? []).slice(0, 1) };
  assert.throws(
    () => showCard(current),
    (error) => error instanceof OpvsError && error.reason === "VERSION_NOT_SUPPORTED",
  );
});
