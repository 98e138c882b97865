/** Which models can be used, and what is said about those that cannot. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ModelServer } from "../../test/support/model-server.ts";
import { callOnce } from "../../test/support/models.ts";
import { ModelError } from "./model.ts";
import { createModels } from "./providers.ts";
import type { Environment, ModelSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "bridle-models-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** The sentence with which a model is not opened. */
function refusal(name: string, settings: ModelSettings = {}, env: Environment = {}): string {
  try {
    createModels(settings, env).open(name);
  } catch (error) {
    assert.ok(error instanceof ModelError && error.code === "model_not_configured" && !error.isPassing);
    return error.message;
  }
  return assert.fail(`${name} was opened`);
}

test("MDL-20 the error for a missing key names each way to set it and what is configured", () => {
  // Given no key, when a model is opened, then the error says each way to set it and what is configured.
  assert.equal(
    refusal("anthropic/claude-sonnet-5-5"),
    "The provider anthropic has no key. Set ANTHROPIC_API_KEY, ANTHROPIC_API_KEY_FILE (a file that holds it) or models.providers.anthropic.apiKey. No provider is configured.",
  );
  assert.match(refusal("openai/gpt-6-sol", {}, { OPENAI_API_KEY: "  " }), /Set OPENAI_API_KEY, /);
  assert.match(
    refusal("google/gemini-3.8-flash", {}, { OPENAI_API_KEY: "k" }),
    /Set GOOGLE_GENERATIVE_AI_API_KEY, .* Configured are: openai\.$/,
  );
});

test("MDL-20 the error for a self-hosted model without an address says where to set it", () => {
  // Given no address, when a model of a server of one's own is opened, then the error says where to set it.
  assert.equal(
    refusal("local/llama", {}, { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }),
    "The provider local has no address. Set BRIDLE_LOCAL_MODEL_URL or models.providers.local.baseUrl to its base URL, such as http://127.0.0.1:11434/v1. Configured are: anthropic, openai.",
  );
  assert.match(refusal("local/llama", {}, { BRIDLE_LOCAL_MODEL_URL: "127.0.0.1:11434" }), /has no address/);
  assert.match(
    refusal("groq/llama", { providers: { groq: { kind: "openai-compatible" } } }),
    /Set models\.providers\.groq\.baseUrl/,
  );
});

test("MDL-20 the error for an unknown provider says how to add it", () => {
  // Given a provider that nobody knows, when a model of it is opened, then the error says how to add it.
  const message = refusal("groq/llama", {}, { BRIDLE_LOCAL_MODEL_URL: "http://127.0.0.1:1/v1" });
  assert.equal(
    message,
    'There is no provider "groq". Add it to the configuration as models.providers.groq, with its kind, baseUrl and apiKey. Configured are: local.',
  );
  for (const name of ["__proto__/x", "constructor/x", "toString/x"])
    assert.match(refusal(name), /There is no provider/);
});

test("MDL-20 the error for an invalid model name shows the right form", () => {
  // Given what is no name of a model, when it is opened, then the error says how one looks.
  const env = { ANTHROPIC_API_KEY: "k", GOOGLE_GENERATIVE_AI_API_KEY: "k" };
  for (const name of [
    "claude-sonnet-5-5",
    "",
    "/",
    "anthropic/",
    "google/../files",
    "google/a?b=c",
    "google/a b",
    `a/${"x".repeat(300)}`,
  ]) {
    const message = refusal(name, {}, env);
    assert.match(
      message,
      /is not the name of a model\. Write provider\/model, .* Configured are: anthropic, google\.$/,
    );
    assert.ok(message.length < 400);
  }
});

test("MDL-21 each provider is called with its own key, or with none if it has none", async () => {
  // Given keys in the settings, the environment and files, when models are called, then each is sent with its own, and
  // servers without one are asked without.
  await using server = await new ModelServer().start();
  server.always({ text: "Yes." });
  const url = `${server.url}/v1`;
  const models = createModels(
    {
      providers: {
        anthropic: { kind: "anthropic", baseUrl: url },
        openai: { kind: "openai", baseUrl: url, apiKey: "key-in-settings", headers: { "x-team": "blue" } },
        google: { kind: "google", baseUrl: `${server.url}/v1beta` },
        "my-groq": { kind: "openai-compatible", baseUrl: url },
        open: { kind: "openai-compatible", baseUrl: url },
      },
    },
    {
      ANTHROPIC_API_KEY_FILE: file("anthropic", "key-in-file\n"),
      OPENAI_API_KEY: "not-this-one",
      GOOGLE_GENERATIVE_AI_API_KEY: "key-in-environment",
      MY_GROQ_API_KEY: "key-of-groq",
      BRIDLE_LOCAL_MODEL_URL: url,
      BRIDLE_LOCAL_MODEL_KEY: "key-of-local",
    },
  );
  const headers = async (name: string) => {
    await callOnce(models, name, { isStreamed: false });
    return server.requests.at(-1)?.headers ?? {};
  };
  assert.equal((await headers("anthropic/claude-sonnet-5-5"))["x-api-key"], "key-in-file");
  const openai = await headers("openai/gpt-6-sol");
  assert.deepEqual([openai.authorization, openai["x-team"]], ["Bearer key-in-settings", "blue"]);
  assert.equal((await headers("google/gemini-3.8-flash"))["x-goog-api-key"], "key-in-environment");
  assert.equal((await headers("my-groq/org/llama:free")).authorization, "Bearer key-of-groq");
  assert.equal(server.requests.at(-1)?.body.model, "org/llama:free");
  assert.equal((await headers("local/llama")).authorization, "Bearer key-of-local");
  assert.equal((await headers("open/llama")).authorization, undefined);
});

test("MDL-21 the error for a file without a key names the variable and none of the content", () => {
  // Given a file that holds no key, when a model is opened, then the error names the variable and nothing of the file.
  const of = (path: string) => refusal("openai/gpt-6-sol", {}, { OPENAI_API_KEY_FILE: path });
  assert.match(
    of(join(folder, "missing")),
    /The file that OPENAI_API_KEY_FILE names cannot be read \(ENOENT\)\./,
  );
  assert.match(of(file("empty", "\n")), /must hold one key and nothing else/);
  const message = of(file("env", "A=secret-one\nB=secret-two\n"));
  assert.match(message, /must hold one key and nothing else/);
  assert.ok(!message.includes("secret"));
});

test("MDL-21 the default model in the settings beats the one in the environment", () => {
  // Given a default in the settings or the environment, when it is asked for, then the settings go first.
  assert.equal(createModels({}, {}).defaultModel, null);
  assert.equal(createModels({}, { BRIDLE_MODEL: "" }).defaultModel, null);
  assert.equal(createModels({}, { BRIDLE_MODEL: "local/llama" }).defaultModel, "local/llama");
  assert.equal(
    createModels({ default: "openai/o3" }, { BRIDLE_MODEL: "local/llama" }).defaultModel,
    "openai/o3",
  );
  assert.throws(() => createModels({}, { BRIDLE_MODEL: "gpt-6" }), /BRIDLE_MODEL must name .* found "gpt-6"/);
  assert.throws(() => createModels({ default: "gpt-6" }, {}), /models\.default must name .* found "gpt-6"/);
});

test("MDL-22 given settings that are wrong, when they are read, then the error says where", () => {
  // What comes from a file has no type.
  const wrong = (settings: object) => {
    try {
      createModels(settings as ModelSettings, {});
    } catch (error) {
      return String(error);
    }
    return "nothing is wrong";
  };
  assert.match(wrong({ timeoutMs: 0 }), /models\.timeoutMs/);
  assert.match(wrong({ idleTimeoutMs: 1e9 }), /models\.idleTimeoutMs/);
  assert.match(wrong({ providers: { a: { kind: "azure" } } }), /models\.providers\.a/);
  assert.match(
    wrong({ providers: { a: { kind: "openai", baseUrl: "http://u:p@h/v1" } } }),
    /models\.providers\.a\.baseUrl/,
  );
  assert.match(
    wrong({ providers: { openai: { kind: "google" } } }),
    /models\.providers\.openai\.kind must be openai/,
  );
  assert.match(wrong({ prices: { "a/b": { input: -1, output: 0 } } }), /models\.prices/);
  assert.match(wrong({ prices: { gpt: { input: 1, output: 1 } } }), /models\.prices\.gpt is not a name/);
  assert.match(
    wrong({ providers: { "My Own": { kind: "openai" } } }),
    /models\.providers\.My Own is not a name/,
  );
  assert.match(wrong({ modles: true }), /models\.modles is not a name/);
});

test("MDL-23 given prices in the settings, when a model is opened, then it has its price", () => {
  const mine = { input: 1, output: 2 };
  const models = createModels({ prices: { "openai/gpt-6-sol": mine } }, { OPENAI_API_KEY: "k" });
  assert.deepEqual(models.open("openai/gpt-6-sol").price, mine);
  assert.equal(models.open("openai/gpt-nobody-knows").price, null);
  const { provider, model } = models.open("openai/ft:gpt-4o:org/x");
  assert.deepEqual([provider, model], ["openai", "ft:gpt-4o:org/x"]);
});
