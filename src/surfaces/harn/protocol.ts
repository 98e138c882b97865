/** The protocol version that this surface speaks. */

export const protocolVersion = "agents-protocol-2026-04-25";
export const supportedVersions: readonly string[] = [protocolVersion];
export const versionHeader = "Harn-Agents-Protocol-Version";
