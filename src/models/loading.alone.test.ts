/** Alone in its process, because it is about what a process has loaded. */

import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";

const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});

const ofSdk = (name: string) => loaded.some((url) => url.includes(`/node_modules/${name}/`));

test("MDL-8 the SDK and its package are loaded on the first call, not on opening", async () => {
  // Given models that are opened and not called, when one of them is called, then the SDK and its package are loaded,
  // and not before.
  const { createModels } = await import("./providers.ts");
  assert.ok(
    loaded.some((url) => url.endsWith("/src/models/providers.ts")),
    "what is loaded is seen",
  );
  const models = createModels(
    {},
    { ANTHROPIC_API_KEY: "k", BRIDLE_LOCAL_MODEL_URL: "http://127.0.0.1:1/v1" },
  );
  models.open("anthropic/claude-sonnet-5-5");
  const local = models.open("local/llama");
  for (const name of ["ai", "@ai-sdk/anthropic", "@ai-sdk/openai-compatible", "zod"])
    assert.equal(ofSdk(name), false, name);

  const { signal } = new AbortController();
  await assert.rejects(local.call({ messages: [{ role: "user", content: "Weather?" }] }, { signal }), {
    code: "model_unavailable",
  });
  assert.deepEqual(
    ["ai", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic", "@ai-sdk/openai", "@ai-sdk/google"].map(ofSdk),
    [true, true, false, false, false],
  );
});
