/**
 * The card of an agent, made from what is loaded: equal agents, equal card. Nothing in it is empty, which is what lets
 * every verifier agree on the text that is signed.
 */

import type {
  AgentCardJson,
  AgentExtensionJson,
  AgentSkillJson,
  SecurityRequirementJson,
  SecuritySchemeJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { AgentExtension, AgentInfo } from "../../../kernel/personas/agents.ts";
import { describedScopes } from "../../../policy/caller.ts";
import { tokenMetadataPath, tokenPath } from "../../addresses.ts";
import { extensionsOf } from "../agent.ts";
import { opvsScopes } from "../scopes.ts";
import { type CardAddresses, interfacesOf } from "./interfaces.ts";

/** `place` is the agent again, or null for the card at the front door, which leads to the default agent. */
export function agentCard(agent: AgentInfo, place: string | null, addresses: CardAddresses): AgentCardJson {
  const { card, version } = agent;
  const about = said(agent.description, `The agent ${agent.name}.`);
  return {
    name: agent.name,
    description: card.public === null ? about : `${about} Everybody may use it, without credentials.`,
    supportedInterfaces: interfacesOf(addresses, place),
    ...branding(card),
    version: said(version, "1"),
    capabilities: {
      streaming: card.streaming,
      // Who is nobody has no webhooks.
      pushNotifications: card.pushNotifications && card.public === null,
      extensions: extensionsOf(agent).map(describeExtension),
      extendedAgentCard: card.extendedCard !== "no",
    },
    securitySchemes: securitySchemes(addresses),
    ...(card.public === null ? { securityRequirements: requirementsOf(addresses) } : {}),
    defaultInputModes: card.inputModes,
    defaultOutputModes: card.outputModes,
    skills: skillsOf(agent),
  };
}

/** What is said, or something else where nothing is; without halves of characters, which have no UTF-8. */
export function said(text: string, otherwise: string): string {
  return (text.trim() === "" ? otherwise : text).toWellFormed();
}

/** Only what the author says: a card has nothing empty. */
function branding({ provider, documentationUrl, iconUrl }: AgentInfo["card"]): Partial<AgentCardJson> {
  return {
    ...(provider === null ? {} : { provider }),
    ...(documentationUrl === null ? {} : { documentationUrl }),
    ...(iconUrl === null ? {} : { iconUrl }),
  };
}

function describeExtension({ uri, description, required, params }: AgentExtension): AgentExtensionJson {
  return {
    uri,
    ...(description === "" ? {} : { description: description.toWellFormed() }),
    ...(required ? { required } : {}),
    ...(params === null ? {} : { params }),
  };
}

/** An agent that lists no skills has one: what it is there for. */
export function skillsOf(agent: AgentInfo): AgentSkillJson[] {
  const about = said(agent.description, `The agent ${agent.name}.`);
  const skills = agent.skills.map(({ id, name, description, tags, examples, input_modes, output_modes }) => ({
    id: said(id, agent.name),
    name: said(name, said(id, agent.name)),
    description: said(description, about),
    tags: tags.length > 0 ? tags : tagsOf(agent.name, id),
    ...(examples.length === 0 ? {} : { examples }),
    ...(input_modes.length === 0 ? {} : { inputModes: input_modes }),
    ...(output_modes.length === 0 ? {} : { outputModes: output_modes }),
  }));
  if (skills.length > 0) return skills;
  return [{ id: agent.name, name: agent.name, description: about, tags: tagsOf(agent.name, "") }];
}

/** The agent and the words of the skill's id. */
function tagsOf(agent: string, id: string): string[] {
  const words = id.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set([agent, ...words])];
}

function securitySchemes({
  publicUrl,
  credentials: { mutualTls, issuers },
}: CardAddresses): Record<string, SecuritySchemeJson> {
  return {
    bearer: {
      httpAuthSecurityScheme: {
        description: "An API key, or an access token of this server or of an issuer that it trusts.",
        scheme: "Bearer",
      },
    },
    oauth2: {
      oauth2SecurityScheme: {
        description: "Client credentials: an API key is the client.",
        flows: { clientCredentials: { tokenUrl: publicUrl + tokenPath, scopes: describedScopes() } },
        oauth2MetadataUrl: publicUrl + tokenMetadataPath,
      },
    },
    ...Object.fromEntries(issuers.map((issuer, index) => [issuerScheme(index), openIdConnect(issuer)])),
    ...(mutualTls
      ? {
          mtls: {
            mtlsSecurityScheme: { description: "A certificate that this server's operator vouches for." },
          },
        }
      : {}),
  };
}

function openIdConnect(issuer: string): SecuritySchemeJson {
  return {
    openIdConnectSecurityScheme: {
      description: "Access tokens of this issuer.",
      openIdConnectUrl: `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
    },
  };
}

function issuerScheme(index: number): string {
  return index === 0 ? "oidc" : `oidc${index + 1}`;
}

/** Any one of them will do; where certificates are demanded, together with one. */
function requirementsOf({ credentials: { mutualTls, issuers } }: CardAddresses): SecurityRequirementJson[] {
  return ["bearer", "oauth2", ...issuers.map((_, index) => issuerScheme(index))].map((scheme) => ({
    schemes: { [scheme]: { list: [...opvsScopes] }, ...(mutualTls ? { mtls: { list: [] } } : {}) },
  }));
}
