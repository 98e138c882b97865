/** Addresses that one surface serves and another tells of. */

/** Where clients exchange their API key for an access token. */
export const tokenPath = "/oauth/token";
/** What RFC 8414 says a client looks for. */
export const tokenMetadataPath = "/.well-known/oauth-authorization-server";
export const keySetPath = "/.well-known/jwks.json";
/** Below which other agents speak to the default agent. */
export const opvsPath = "/opvs";
/** Where shells speak to the engine, and in which version. */
export const openHarnessPath = "/openharness/v1";
export const openHarnessVersion = "1.0.0";
/** Where the gateway is, beside everything else. */
export const harpPath = "/harp";
/** Where agents are tools, and in which version of the protocol when the client leaves it to us. */
export const mcpPath = "/mcp";
export const mcpVersion = "2026-07-28";
/** What RFC 9728 says a client looks for. */
export const resourceMetadataPath = "/.well-known/oauth-protected-resource/mcp";
