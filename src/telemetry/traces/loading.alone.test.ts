/** Alone in its process, because it is about what a process has loaded. */

import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";
import { pino } from "pino";

const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});

const isLoaded = () => loaded.some((url) => url.includes("/node_modules/@opentelemetry/"));

test("TRC-1 does not load OpenTelemetry until traces are requested", async () => {
  // Given a server that is not asked for traces, when its modules are loaded, then OpenTelemetry is not among them until
  // somebody asks.
  await import("../../server/server.ts");
  const { openTraces } = await import("./traces.ts");
  const options = { logger: pino({ level: "silent" }), version: "1.0.0" };
  assert.equal(await openTraces({ ...options, env: {} }), null);
  assert.equal(isLoaded(), false);
  assert.notEqual(await openTraces({ ...options, env: { OTEL_TRACES_EXPORTER: "console" } }), null);
  assert.equal(isLoaded(), true, "what is loaded is seen");
});
