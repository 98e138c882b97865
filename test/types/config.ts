/** What the compiler says to those who write a `bridle.config.ts`. Nothing here runs. */

import type { ServeSettings } from "../../src/cli/settings/settings.ts";
import { defineAgent, defineConfig, Type } from "../../src/index.ts";
import type { ConfigSettings } from "../../src/project/config.ts";
import { assertSame } from "./same.ts";

// Every setting of the command line is one of the file, and no other.
assertSame<keyof ConfigSettings, Exclude<keyof ServeSettings, "agents" | "config">>(true);

const agent = defineAgent({ name: "a", version: "1.0.0", input: Type.Object({}), run: async () => "" });
const persona = {
  name: "Releaser",
  entry_workflow: "a",
  description: "Releases.",
  autonomy_tier: "suggest",
  receipt_policy: "required",
} as const;

defineConfig({});
defineConfig({
  port: 9000,
  grpcPort: "off",
  logLevel: "debug",
  corsOrigin: ["https://app.example.com"],
  agents: [agent, "agents/*.ts"],
  models: {
    default: "main/large",
    providers: { main: { kind: "openai-compatible", baseUrl: "http://127.0.0.1:1234/v1" } },
    prices: { "main/large": { input: 1, output: 2 } },
  },
  mcpServers: { files: { command: "files", args: ["."] }, web: { url: "https://mcp.example.com" } },
  personas: [persona, { ...persona, version: "2", tools: ["deploy"], schedules: [{ cron: "0 0 * * *" }] }],
});

// @ts-expect-error: there is no such setting
defineConfig({ prot: 9000 });
// @ts-expect-error: a port is a number
defineConfig({ port: "9000" });
// @ts-expect-error: a port is there or off
defineConfig({ grpcPort: "on" });
// @ts-expect-error: there is no such level
defineConfig({ logLevel: "loud" });
// @ts-expect-error: origins are a list
defineConfig({ corsOrigin: "https://app.example.com" });
// @ts-expect-error: an agent is one, or where to find it
defineConfig({ agents: [{ name: "a" }] });
// @ts-expect-error: there is no such kind of provider
defineConfig({ models: { providers: { main: { kind: "some" } } } });
// @ts-expect-error: a provider is of some kind
defineConfig({ models: { providers: { main: { baseUrl: "http://127.0.0.1" } } } });
// @ts-expect-error: a price is for what comes out, too
defineConfig({ models: { prices: { "main/large": { input: 1 } } } });
// @ts-expect-error: a server is a process or has a URL
defineConfig({ mcpServers: { files: { args: ["."] } } });
// @ts-expect-error: there is no such autonomy
defineConfig({ personas: [{ ...persona, autonomy_tier: "free" }] });
// @ts-expect-error: a persona has an agent
defineConfig({ personas: [{ ...persona, entry_workflow: undefined }] });
// @ts-expect-error: a tool says what it does to the world
defineConfig({ tools: [{ name: "look", description: "Looks.", run: () => "" }] });
