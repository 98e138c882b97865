/** What can be said about an MCP server, and what cannot. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { readMcpServers } from "./settings.ts";

test("MCP-1 given settings that are right, when they are read, then they are what was written", () => {
  const settings = {
    files: {
      command: "files-server",
      args: ["--root", "/data"],
      env: { TOKEN: "t" },
      cwd: "/",
      timeoutMs: 5,
    },
    "web-2": {
      url: "https://mcp.example/mcp",
      headers: { Authorization: "Bearer t" },
      effects: { search: "none" },
    },
    here: { url: "http://127.0.0.1:9000/mcp" },
    there: { url: "http://[::1]:9000/mcp" },
  };
  assert.deepEqual(readMcpServers(settings), settings);
});

const refused: [string, unknown, RegExp][] = [
  ["a list", [], /settings by name/],
  ["a name with capitals", { Files: { command: "a" } }, /"Files".*lower-case/],
  ["a name that is too long", { ["a".repeat(33)]: { command: "a" } }, /1 to 32/],
  ["a name with a dot", { "a.b": { command: "a" } }, /"a\.b"/],
  ["neither command nor url", { a: {} }, /^MCP server a: it needs either/],
  ["both", { a: { command: "a", url: "https://a.example" } }, /either a command/],
  ["settings that are no object", { a: "npx a" }, /must be an object/],
  ["a command that is empty", { a: { command: "" } }, /^MCP server a: command /],
  ["an unknown field", { a: { command: "a", headers: {} } }, /^MCP server a: .*headers/],
  ["a time that is none", { a: { command: "a", timeoutMs: 0 } }, /timeoutMs/],
  ["an effect that is none", { a: { command: "a", effects: { b: "some" } } }, /effects\.b/],
  ["a url that is none", { a: { url: "a.example" } }, /must be http or https/],
  ["another protocol", { a: { url: "ftp://a.example" } }, /must be http or https/],
  ["http elsewhere", { a: { url: "http://a.example/mcp" } }, /https, or on this machine/],
  ["http on a name that only begins like this machine", { a: { url: "http://localhost.example" } }, /https/],
  ["credentials in the url", { a: { url: "https://u:p@a.example" } }, /belong into headers/],
  ["a header that is none", { a: { url: "https://a.example", headers: { "a b": "c" } } }, /headers\.a b/],
];
for (const [what, settings, message] of refused) {
  test(`MCP-1 given ${what}, when settings are read, then they are refused with the reason`, () => {
    assert.throws(() => readMcpServers(settings), { name: "McpSettingsError", message });
  });
}

test("MCP-1 the error for a misplaced secret in the settings does not repeat it", () => {
  // Given a secret in the wrong place, when settings are read, then the error does not repeat it.
  for (const wrong of [
    { command: "a", env: { TOKEN: ["hunter2"] } },
    { url: "https://a.example", headers: { Authorization: "hunter2\nX: y" } },
    { url: "http://a.example/?token=hunter2" },
  ]) {
    assert.throws(
      () => readMcpServers({ a: wrong }),
      (error: Error) => !error.message.includes("hunter2") && error.message.startsWith("MCP server a: "),
    );
  }
});
