/** What a process pays for that never calls an MCP server: nothing. */

import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";

test("MCP-4 the SDK is loaded only when a named server is used", async () => {
  // Given named servers, when none is used, then the SDK is not loaded, and when one is, then it is.
  const loaded: string[] = [];
  const hooks = registerHooks({
    load(url, context, next) {
      loaded.push(url);
      return next(url, context);
    },
  });
  const { createMcp } = await import("./access.ts");
  const mcp = createMcp({ s: { url: "http://127.0.0.1:1/mcp" } }, { version: "1.0.0" });
  const ofSdk = () => loaded.filter((url) => url.includes("@modelcontextprotocol"));
  assert.ok(loaded.some((url) => url.endsWith("/mcp-client/access.ts")));
  assert.deepEqual(ofSdk(), []);
  await assert.rejects(mcp.tools("s", new AbortController().signal), { code: "mcp_unavailable" });
  assert.notDeepEqual(ofSdk(), []);
  await mcp.close();
  hooks.deregister();
});
