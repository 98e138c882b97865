/** `bridle config print`: every setting as it would be, where it comes from, and no secret. */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { temporaryDirectory } from "../support/server.ts";

const secret = "s3cret-s3cret-s3cret-s3cret";
const masterKey = "5".repeat(64);

interface Printed {
  settings: {
    name: string;
    value?: unknown;
    is_set?: boolean;
    source: { kind: string; name: string | null };
  }[];
  project: Record<string, unknown>;
}

describe("bridle config print", () => {
  test("CMD-53, CMD-54 printed settings show precedence and origin, and no secret leaks", async () => {
    // Given a flag, variables, files of secrets and a configuration, when the settings are printed, then each shows what
    // beats what and where it comes from, no secret is shown, and the project's code sees none.
    await using place = await temporaryDirectory();
    const seen = join(place.path, "seen.json");
    await writeFile(
      join(place.path, "bridle.config.ts"),
      `import { writeFileSync } from "node:fs";
       writeFileSync(${JSON.stringify(seen)}, JSON.stringify(process.env));
       export default {
         port: 1, host: "0.0.0.0", concurrency: 5, gateway: "https://user:p@${secret}@gateway.example/?token=${secret}",
         mcpServers: { tickets: { url: "https://mcp.example/mcp", headers: { Authorization: "Bearer ${secret}" } } },
       };`,
    );
    const file = join(place.path, "api-key");
    await writeFile(file, `${secret}\n`);
    const env = {
      BRIDLE_API_KEY: undefined,
      BRIDLE_API_KEY_FILE: file,
      BRIDLE_MASTER_KEY: masterKey,
      BRIDLE_PORT: "2",
      BRIDLE_HOST: "127.0.0.2",
      BRIDLE_LOG_LEVEL: undefined,
      BRIDLE_GRPC_PORT: undefined,
      ANTHROPIC_API_KEY: secret,
    };
    const [json, text] = await Promise.all([
      bridle(["config", "print", "--json", "--port", "3"], { cwd: place.path, env }),
      bridle(["config", "print", "--sources", "--port", "3"], { cwd: place.path, env }),
    ]);
    const { settings, project }: Printed = JSON.parse(succeeded(json));
    const found = Object.fromEntries(settings.map(({ name, ...rest }) => [name, rest]));
    assert.deepEqual(found.port, { value: 3, source: { kind: "flag", name: "--port" } });
    assert.deepEqual(found.host, {
      value: "127.0.0.2",
      source: { kind: "environment", name: "BRIDLE_HOST" },
    });
    assert.deepEqual(found.concurrency, { value: 5, source: { kind: "config", name: "bridle.config.ts" } });
    assert.deepEqual(found.logLevel, { value: "info", source: { kind: "default", name: null } });
    assert.deepEqual(found.retainDays, { value: null, source: { kind: "default", name: null } });
    assert.equal(found.gateway?.value, "https://(hidden)@gateway.example/?(hidden)");
    assert.deepEqual(found.apiKey, {
      is_set: true,
      source: { kind: "environment", name: `BRIDLE_API_KEY_FILE (${file})` },
    });
    assert.deepEqual(found.BRIDLE_MASTER_KEY, {
      is_set: true,
      source: { kind: "environment", name: "BRIDLE_MASTER_KEY" },
    });
    assert.deepEqual(found.BRIDLE_GATEWAY_KEY, { is_set: false, source: { kind: "default", name: null } });
    assert.deepEqual(project.mcp_servers, ["tickets"]);
    assert.match(String(project.models), /anthropic/);

    assert.match(succeeded(text), /^port +3 +--port$/m);
    assert.match(text.stdout, /^host +127\.0\.0\.2 +environment: BRIDLE_HOST$/m);
    assert.match(text.stdout, /^concurrency +5 +bridle\.config\.ts$/m);
    assert.match(text.stdout, /^apiKey +\(set\) +environment: BRIDLE_API_KEY_FILE \(.+api-key\)$/m);
    assert.match(text.stdout, /^MCP servers +tickets$/m);
    for (const said of [json.stdout, json.stderr, text.stdout, text.stderr]) {
      assert.ok(!said.includes(secret) && !said.includes(masterKey), "no secret is shown");
    }
    const handedOn = await readFile(seen, "utf8");
    // That of a provider is the project's own.
    assert.doesNotMatch(handedOn, /BRIDLE_\w*KEY/);
    assert.ok(!handedOn.includes(masterKey) && !handedOn.includes(file));
  });

  test("CMD-52, CMD-54, CMD-63, CLI-10 a double secret or bad config is a usage error, not echoed", async () => {
    // Given a secret twice, and a configuration that is wrong, when the settings are printed, then one line says so as
    // wrong use and repeats no secret.
    await using place = await temporaryDirectory();
    const file = join(place.path, "api-key");
    await writeFile(file, secret);
    await writeFile(join(place.path, "bridle.config.ts"), "export default { prot: 1 };");
    const gateway = `ftp://user:a/${secret}@gateway.example?key=${secret}`;
    const [twice, wrong, alone, url] = await Promise.all([
      bridle(["config", "print"], { cwd: place.path, env: { BRIDLE_API_KEY_FILE: file } }),
      bridle(["config", "print"], { cwd: place.path }),
      bridle(["config"]),
      bridle(["config", "print", "--json"], { cwd: place.path, env: { BRIDLE_GATEWAY: gateway } }),
    ]);
    assert.match(errorLine(twice, 2), /BRIDLE_API_KEY and BRIDLE_API_KEY_FILE are both set/);
    assert.ok(!twice.stderr.includes(secret));
    assert.match(errorLine(wrong, 2), /prot.*Did you mean port\?/);
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /^Usage: bridle config/);
    assert.deepEqual([url.code, url.stdout], [2, ""]);
    const { error } = JSON.parse(url.stderr);
    assert.equal(error.code, "wrong_use");
    assert.match(error.message, /BRIDLE_GATEWAY.*must be an http or https URL/);
    assert.ok(!url.stderr.includes(secret));
  });
});
