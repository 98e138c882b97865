import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import type { ConfigSettings } from "../../project/config.ts";
import { applyConfig, settingNames } from "./config-settings.ts";
import { type ServeSettings, serveOptions } from "./settings.ts";

const file = "/project/bridle.config.ts";

/** What a command would run with. */
function settle(
  config: ConfigSettings,
  flags: string[] = [],
  environment: Record<string, string> = {},
): ServeSettings {
  const command = new Command().exitOverride();
  for (const option of serveOptions) command.addOption(option);
  Object.assign(process.env, environment);
  try {
    command.parse(flags, { from: "user" });
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
  }
  applyConfig(command, file, config);
  return command.opts<ServeSettings>();
}

test("PRJ-1 flag beats environment beats configuration beats default", () => {
  // Given a setting in all places, when it is settled, then flag beats environment beats configuration beats default.
  const environment = { BRIDLE_CONCURRENCY: "3" };
  assert.equal(settle({}).concurrency, 256);
  assert.equal(settle({ concurrency: 4 }).concurrency, 4);
  assert.equal(settle({ concurrency: 4 }, [], environment).concurrency, 3);
  assert.equal(settle({ concurrency: 4 }, ["--concurrency", "2"], environment).concurrency, 2);
});

test("PRJ-1 lists, switches and settings without a default mean the same as their flags", () => {
  // Given lists, flags without values and settings without a default, when they are configured, then they mean what they
  // mean as flags.
  const settings = settle({
    corsOrigin: ["https://a.example", "https://b.example"],
    oauthIssuer: ["https://issuer.example=keys.json", "https://other.example=https://other.example/jwks"],
    opvsLenientVersion: true,
    retainDays: 30,
    harpPort: "off",
    data: "state",
    workspaceRoots: ["work", "/elsewhere"],
  });
  assert.deepEqual(settings.corsOrigin, ["https://a.example", "https://b.example"]);
  assert.deepEqual(settings.oauthIssuer, [
    { issuer: "https://issuer.example", jwks: "/project/keys.json" },
    { issuer: "https://other.example", jwks: new URL("https://other.example/jwks") },
  ]);
  assert.equal(settings.opvsLenientVersion, true);
  assert.equal(settings.retainDays, 30);
  assert.equal(settings.harpPort, "off");
  assert.equal(settings.data, "/project/state");
  assert.deepEqual(settings.workspaceRoots, ["/project/work", "/elsewhere"]);
});

test("PRJ-1 a list by flag replaces the configured list instead of adding to it", () => {
  // Given a list by flag, when the configuration has one too, then the flag's is taken and not added to.
  const { corsOrigin } = settle({ corsOrigin: ["https://a.example"] }, [
    "--cors-origin",
    "https://b.example",
  ]);
  assert.deepEqual(corsOrigin, ["https://b.example"]);
});

test("PRJ-2 an invalid configured value is an error that names file and property", () => {
  // Given a value that its flag would refuse, when it is configured, then the error names file and property.
  const refused: [ConfigSettings | Record<string, unknown>, string][] = [
    [{ port: 70_000 }, "port: It must be a whole number from 0 to 65535."],
    [{ port: [1] }, "port: it must not be a list."],
    [{ corsOrigin: "https://a.example" }, "corsOrigin: it must be a list."],
    [{ host: {} }, "host: it must be a text, a number, or true or false."],
    [{ logLevel: "loud" }, "logLevel: Allowed choices are trace, debug, info, warn, error, fatal, silent."],
    [{ tlsCert: "none.pem" }, "tlsCert: The file cannot be read (ENOENT)."],
  ];
  for (const [config, message] of refused) {
    assert.throws(() => settle(config as ConfigSettings), { message: `${file}: ${message}` });
  }
  assert.throws(() => settle({ port: 70_000 }, ["--port", "1"]), /whole number/, "also when a flag beats it");
});

test("PRJ-1 the configuration has every setting of bridle serve except files to load", () => {
  // Given the settings of bridle serve, when they are compared, then a configuration has all that are no files to load.
  const flags = serveOptions.map((option) => option.attributeName());
  assert.deepEqual(
    flags.filter((name) => !settingNames.includes(name)),
    ["agents", "config"],
  );
});
