/** What the environment variables of the standard come to. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { exporterSecrets, readTraceSettings } from "./settings.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318" };

test("TRC-1 variables that request no traces give no settings and no problems", () => {
  // Given variables that ask for no traces, when they are read, then there are none, and nothing to complain about.
  for (const env of [
    {},
    { OTEL_SERVICE_NAME: "named" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "" },
    { ...endpoint, OTEL_TRACES_EXPORTER: "none" },
    { ...endpoint, OTEL_SDK_DISABLED: "true" },
  ]) {
    assert.deepEqual(readTraceSettings(env), { settings: null, problems: [] }, JSON.stringify(env));
  }
});

test("TRC-2 given an address alone, when it is read, then all else is as the standard has it", () => {
  assert.deepEqual(readTraceSettings(endpoint), {
    settings: {
      exporter: "otlp",
      sampler: { name: "parentbased_always_on", ratio: 1 },
      delayMs: 5000,
      spansMax: 512,
      timeoutMs: 30_000,
      withContent: false,
    },
    problems: [],
  });
});

test("TRC-2 given everything that can be said, when it is read, then it is kept to", () => {
  const { settings, problems } = readTraceSettings({
    OTEL_TRACES_EXPORTER: "console",
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0.25",
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "10",
    OTEL_BSP_EXPORT_TIMEOUT: "200",
    OTEL_PROPAGATORS: "tracecontext,baggage",
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "True",
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(settings, {
    exporter: "console",
    sampler: { name: "parentbased_traceidratio", ratio: 0.25 },
    delayMs: 100,
    spansMax: 10,
    timeoutMs: 200,
    withContent: true,
  });
});

test("TRC-2 reports unusable variables without repeating values and applies the rest", () => {
  // Given what cannot be followed, when it is read, then that is told without repeating it, and what is left is done.
  const off = [
    [{ OTEL_TRACES_EXPORTER: "secret-name" }, /^OTEL_TRACES_EXPORTER is/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /^OTEL_EXPORTER_OTLP_PROTOCOL: only http\/protobuf .* 4318/],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "secret-host:4318" }, /^OTEL_EXPORTER_OTLP_ENDPOINT is not/],
  ] as const;
  for (const [env, expected] of off) {
    const { settings, problems } = readTraceSettings({ ...endpoint, ...env });
    assert.equal(settings, null);
    assert.match(problems.join("\n"), expected);
    assert.doesNotMatch(problems.join("\n"), /secret/);
  }
  const { settings, problems } = readTraceSettings({
    ...endpoint,
    OTEL_TRACES_SAMPLER: "jaeger_remote",
    OTEL_BSP_SCHEDULE_DELAY: "soon",
    OTEL_PROPAGATORS: "b3",
  });
  assert.deepEqual(settings, readTraceSettings(endpoint).settings);
  assert.deepEqual(
    problems.map((problem) => problem.split(/[: ]/)[0]),
    ["OTEL_PROPAGATORS", "OTEL_TRACES_SAMPLER", "OTEL_BSP_SCHEDULE_DELAY"],
  );
  const halved = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "50%" };
  assert.equal(readTraceSettings({ ...endpoint, ...halved }).settings?.sampler.ratio, 1);
});

test("TRC-13 registers collector header values as secrets, as written and as sent", () => {
  // Given headers for the collector, when they are read, then their values are known as secrets, as written and as sent.
  const secrets = exporterSecrets({
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc=, x-tenant = one",
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: "api-key=%zz",
  });
  assert.deepEqual(secrets, ["Bearer%20abc=", "Bearer abc=", "abc=", "one", "%zz"]);
});
