/** The library that speaks the protocol. It is loaded with the first request: a server that nobody asks starts without it. */

export type Sdk = typeof import("@modelcontextprotocol/server");

export async function loadSdk(): Promise<Sdk> {
  return await import("@modelcontextprotocol/server");
}
