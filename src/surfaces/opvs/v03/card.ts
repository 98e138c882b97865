/** An agent's card as 0.3 has it over JSON-RPC: one address at the top and the others beside it. Never signed. */

import type { JsonObject } from "@bufbuild/protobuf";
import type {
  AgentCardJson,
  AgentInterfaceJson,
  AgentSkillJson,
  OAuthFlowsJson,
  SecurityRequirementJson,
  SecuritySchemeJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { OpvsError } from "../errors.ts";
import { defined, filled } from "./fields.ts";

/** Cards of 0.3 say the whole number of its last edition. */
const edition = "0.3.0";

export function showCard(card: AgentCardJson): JsonObject {
  const [first, ...others] = v03Interfaces(card);
  const { capabilities = {} } = card;
  return defined({
    protocolVersion: edition,
    name: card.name,
    description: card.description,
    url: asUrl(first.url ?? ""),
    preferredTransport: first.protocolBinding,
    additionalInterfaces: filled(
      others.map(({ url = "", protocolBinding }) => defined({ url: asUrl(url), transport: protocolBinding })),
    ),
    provider: card.provider === undefined ? undefined : defined({ ...card.provider }),
    iconUrl: card.iconUrl,
    version: card.version,
    documentationUrl: card.documentationUrl,
    capabilities: defined({
      streaming: capabilities.streaming,
      pushNotifications: capabilities.pushNotifications,
      extensions: filled((capabilities.extensions ?? []).map((extension) => defined({ ...extension }))),
    }),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: (card.skills ?? []).map(showSkill),
    securitySchemes: filled(showSchemes(card.securitySchemes ?? {})),
    security: showSecurity(card.securityRequirements),
    supportsAuthenticatedExtendedCard: capabilities.extendedAgentCard,
  });
}

/** Addresses of 0.3 are URLs, that of gRPC too: what is no URL is spoken without TLS. */
function asUrl(address: string): string {
  return /^[a-z]+:\/\//.test(address) ? address : `http://${address}`;
}

function showSkill({ securityRequirements, ...skill }: AgentSkillJson): JsonObject {
  return defined({ ...skill, security: showSecurity(securityRequirements) });
}

/** Where 0.3 is spoken. A card without such an address has nothing to say to a client of 0.3. */
function v03Interfaces(card: AgentCardJson): [AgentInterfaceJson, ...AgentInterfaceJson[]] {
  const [first, ...others] = (card.supportedInterfaces ?? []).filter(({ protocolVersion = "" }) =>
    /^(0\.[3-9]|$)/.test(protocolVersion),
  );
  if (first !== undefined) return [first, ...others];
  throw new OpvsError("VERSION_NOT_SUPPORTED", "This agent is not offered in version 0.3.", {
    supportedVersions: "1.0",
  });
}

function showSecurity(requirements: SecurityRequirementJson[] | undefined): JsonObject[] | undefined {
  return filled(
    (requirements ?? []).map(({ schemes = {} }) =>
      Object.fromEntries(Object.entries(schemes).map(([name, { list = [] }]) => [name, list])),
    ),
  );
}

function showSchemes(schemes: Record<string, SecuritySchemeJson>): JsonObject {
  return Object.fromEntries(
    Object.entries(schemes).flatMap(([name, scheme]) => {
      const known = showScheme(scheme);
      return known === null ? [] : [[name, known]];
    }),
  );
}

function showScheme(scheme: SecuritySchemeJson): JsonObject | null {
  if (scheme.apiKeySecurityScheme !== undefined) {
    const { location, ...others } = scheme.apiKeySecurityScheme;
    return defined({ type: "apiKey", in: location, ...others });
  }
  if (scheme.httpAuthSecurityScheme !== undefined) return { type: "http", ...scheme.httpAuthSecurityScheme };
  if (scheme.openIdConnectSecurityScheme !== undefined) {
    return { type: "openIdConnect", ...scheme.openIdConnectSecurityScheme };
  }
  if (scheme.mtlsSecurityScheme !== undefined) return { type: "mutualTLS", ...scheme.mtlsSecurityScheme };
  const { flows, ...others } = scheme.oauth2SecurityScheme ?? {};
  const known = knownFlow(flows ?? {});
  return known === null ? null : { type: "oauth2", ...others, flows: known };
}

/** The flow, without what came later; the flow of devices is one that 0.3 has no word for. */
function knownFlow(flows: OAuthFlowsJson): JsonObject | null {
  const { authorizationCode, clientCredentials, implicit, password } = flows;
  if (authorizationCode !== undefined) {
    const { pkceRequired: _, ...flow } = authorizationCode;
    return { authorizationCode: flow };
  }
  if (clientCredentials !== undefined) return { clientCredentials };
  if (implicit !== undefined) return { implicit };
  return password === undefined ? null : { password };
}
