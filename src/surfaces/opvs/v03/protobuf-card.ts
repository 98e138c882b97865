/** A card as the protobuf shapes of 0.3 have it: one address in front, the other interfaces behind it. Never signed. */

import type * as v03 from "../../../../proto/generated/a2a/v1/a2a_pb.js";
import type * as v1 from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { OpvsError } from "../errors.ts";

const protocolVersion = "0.3.0";

/** Built of the interfaces that speak 0.3 only; `preferred` is the binding that the caller came by. */
export function cardTo03(card: v1.AgentCardJson, preferred: string): v03.AgentCardJson {
  const interfaces = (card.supportedInterfaces ?? []).filter(speaks03);
  const first = interfaces.find(({ protocolBinding }) => protocolBinding === preferred) ?? interfaces[0];
  if (first === undefined) {
    throw new OpvsError("VERSION_NOT_SUPPORTED", "This agent has no interface for version 0.3.", {
      supportedVersions: "1.0",
    });
  }
  const { supportedInterfaces, securityRequirements, capabilities, skills, ...others } = card;
  const { signatures, iconUrl, ...kept } = others;
  return {
    ...kept,
    protocolVersion,
    url: first.url ?? "",
    preferredTransport: first.protocolBinding ?? "",
    additionalInterfaces: interfaces
      .filter((other) => other !== first)
      .map(({ url = "", protocolBinding: transport = "" }) => ({ url, transport })),
    capabilities: capabilitiesTo03(capabilities ?? {}),
    security: securityRequirements ?? [],
    skills: (skills ?? []).map(({ securityRequirements, ...skill }) => ({
      ...skill,
      security: securityRequirements ?? [],
    })),
    supportsAuthenticatedExtendedCard: capabilities?.extendedAgentCard ?? false,
  };
}

function speaks03({ protocolVersion: version }: v1.AgentInterfaceJson): boolean {
  return version === undefined || version === "" || /^0\.3(\.|$)/.test(version);
}

function capabilitiesTo03({
  streaming,
  pushNotifications,
  extensions,
}: v1.AgentCapabilitiesJson): v03.AgentCapabilitiesJson {
  return {
    streaming: streaming ?? false,
    pushNotifications: pushNotifications ?? false,
    extensions: extensions ?? [],
  };
}
