/**
 * The card as 0.3 has it, with all interfaces of the 1.0 card beside it, so that a client of either version that did not
 * say which it is finds its way. A signature is over the other shape, so there is none here.
 */

import type {
  AgentCardJson,
  AgentInterfaceJson,
  SecurityRequirementJson,
  SecuritySchemeJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";

type Legacy = Record<string, unknown>;

const legacyVersion = "0.3";
/** What clients of 0.3 expect to read: the whole number of its last edition. */
const legacyEdition = "0.3.0";

export function legacyCard(card: AgentCardJson): Legacy {
  const interfaces = card.supportedInterfaces ?? [];
  const [first, ...others] = interfaces.filter(({ protocolVersion }) => protocolVersion === legacyVersion);
  const { extendedAgentCard, ...capabilities } = card.capabilities ?? {};
  const { securitySchemes = {}, securityRequirements } = card;
  return {
    protocolVersion: legacyEdition,
    name: card.name,
    description: card.description,
    url: first?.url,
    preferredTransport: first?.protocolBinding,
    additionalInterfaces: others.map(transportOf),
    version: card.version,
    capabilities,
    supportsAuthenticatedExtendedCard: extendedAgentCard,
    securitySchemes: Object.fromEntries(
      Object.entries(securitySchemes).map(([name, scheme]) => [name, schemeOf(scheme)]),
    ),
    ...(securityRequirements === undefined ? {} : { security: securityRequirements.map(requirementOf) }),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills,
    supportedInterfaces: interfaces,
  };
}

function transportOf({ url, protocolBinding }: AgentInterfaceJson): Legacy {
  return { url, transport: protocolBinding };
}

/** Of the kinds that our cards have. */
function schemeOf({ httpAuthSecurityScheme, oauth2SecurityScheme }: SecuritySchemeJson): Legacy {
  return httpAuthSecurityScheme === undefined
    ? { type: "oauth2", ...oauth2SecurityScheme }
    : { type: "http", ...httpAuthSecurityScheme };
}

function requirementOf({ schemes = {} }: SecurityRequirementJson): Legacy {
  return Object.fromEntries(Object.entries(schemes).map(([name, { list = [] }]) => [name, list]));
}
