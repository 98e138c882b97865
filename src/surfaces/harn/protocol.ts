/** The protocol versions that this surface speaks. */

import { protocolVersion } from "../../kernel/core/protocol-version.ts";

export { protocolVersion };
export const supportedVersions: readonly string[] = [protocolVersion];
export const versionHeader = "Harn-Agents-Protocol-Version";
