import assert from "node:assert/strict";
import { test } from "node:test";
import { settingNames } from "../cli/settings/config-settings.ts";
import { ConfigProblem, checkConfig } from "./check-config.ts";

const tool = { name: "look", description: "Looks.", effect: "none", run: () => "" };
const persona = {
  name: "Releaser",
  entry_workflow: "echo",
  description: "Releases.",
  autonomy_tier: "suggest",
  receipt_policy: "required",
};

function check(found: unknown): unknown {
  return checkConfig("bridle.config.ts", found, settingNames);
}

test("PRJ-2 accepts a configuration with every setting and returns it unchanged", () => {
  // Given a configuration with everything in it, when it is checked, then it is taken as it is.
  const config = {
    port: 0,
    agents: ["agents/*.ts", { name: "a" }],
    models: {
      default: "main/large",
      providers: {
        main: { kind: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1", headers: { a: "b" } },
      },
      prices: { "main/large": { input: 1, output: 2.5, cachedInput: 0 } },
      timeoutMs: 1000,
    },
    mcpServers: { files: { command: "files", args: ["."] }, web: { url: "https://a.example", timeoutMs: 5 } },
    tools: [tool],
    personas: [persona, { ...persona, version: "2", schedules: [{ cron: "0 0 * * *" }] }],
  };
  assert.equal(check(config), config);
});

const wrong: [why: string, config: unknown, says: RegExp][] = [
  ["it is no object", 5, /^bridle\.config\.ts: it must export what defineConfig gives, as default\.$/],
  ["it is a list", [], /must export/],
  ["it is not there", undefined, /must export/],
  ["a setting is misspelled", { prot: 1 }, /: there is no setting prot\. Did you mean port\?$/],
  ["it has a setting in the flag's spelling", { "cors-origin": [] }, /Did you mean corsOrigin\?$/],
  ["nothing is like the setting", { somethingElse: 1 }, /: there is no setting somethingElse\.$/],
  ["agents are no list", { agents: "a.ts" }, /: agents must be array/],
  [
    "a provider is of no kind",
    { models: { providers: { a: { kind: "x" } } } },
    /models\.providers\.a\.kind must be one of anthropic/,
  ],
  ["a property of models is misspelled", { models: { defalt: "a" } }, /: models\.defalt is not a field/],
  [
    "a price is negative",
    { models: { prices: { "a/b": { input: -1, output: 0 } } } },
    /: models\.prices\..*input /,
  ],
  [
    "a server is neither a process nor a URL",
    { mcpServers: { a: {} } },
    /: mcpServers: MCP server a: it needs either a command/,
  ],
  [
    "a server has an unknown property",
    { mcpServers: { a: { command: "x", arg: [] } } },
    /: mcpServers: MCP server a: arg is not known/,
  ],
  [
    "a tool does nothing",
    { tools: [{ ...tool, run: undefined }] },
    /: tools\[0\]: run must be a function\.$/,
  ],
  [
    "a tool does not say what it does",
    { tools: [tool, { ...tool, effect: "some" }] },
    /: tools\[1\]: effect must be one of none/,
  ],
  [
    "a persona has no agent",
    { personas: [{ ...persona, entry_workflow: undefined }] },
    /: .*personas\[0\]\.entry_workflow/,
  ],
  [
    "a persona has an unknown property",
    { personas: [{ ...persona, tier: "x" }] },
    /: personas\[0\]\.tier is not a field/,
  ],
];

for (const [why, config, says] of wrong) {
  test(`PRJ-2 rejects the configuration if ${why}, naming the file and the property`, () => {
    // Given a configuration, when ${why}, then it is refused by the names of the file and the property.
    assert.throws(
      () => check(config),
      (error) => error instanceof ConfigProblem && says.test(error.message) && !error.message.includes("\n"),
      String(says),
    );
  });
}
