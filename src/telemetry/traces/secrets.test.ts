/** Credentials get into no span and no log line, also where something else has let them through. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { TracedStage } from "../../../test/support/traced-stage.ts";
import { Redactor } from "../../policy/redact/redact.ts";
import { searchHere } from "../../policy/redact/search-budget.ts";
import { defineAgent } from "../../runtime/agents/agent.ts";
import { ContentReader } from "./content.ts";
import { exporterSecrets } from "./settings.ts";

test("TRC-12 redacts secrets from span content before truncating it", async () => {
  // Given content that was recorded with secrets in it, when it is wanted in spans, then they are taken out before it is
  // cut.
  const secret = 'pass"word\nwith-quotes';
  const redactor = new Redactor([secret]);
  const source = { blob: async () => undefined };
  const reader = new ContentReader({ source, redactor, searchTexts: searchHere, isWanted: true });
  const long = `${"long ".repeat(1637)}${secret}`;
  const message = { role: "assistant", content: [{ type: "text", text: secret }] } as const;
  const shown = [
    await reader.text(`it failed: ${secret}`),
    await reader.text(long),
    await reader.sealed({ inline: { headers: { cookie: "plain-words-only" }, note: secret } }),
    JSON.stringify(await reader.output({ ...message, content: [...message.content] }, "stop")),
  ].join("\n");
  assert.doesNotMatch(shown, /pass.{0,3}word|with-quotes|plain-words-only/s);
  assert.match(shown, /it failed: /);
  assert.ok(((await reader.text(long)) ?? "").length <= 8192);
});

test("TRC-13 no log line has collector credentials that an export error quotes, even in part", async () => {
  // Given credentials for the collector, when an export fails with an error that quotes them, whole or in part, then no
  // log line has them.
  const env = {
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20quiet-words-here,x-team=quiet-team-name",
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://someone:quiet-pass-phrase@127.0.0.1:4318/?key=quiet-query-value",
  };
  const redactor = new Redactor(exporterSecrets(env));
  await using world = await TracedStage.begin([
    defineAgent({ name: "worker", version: "1.0.0", run: async () => null }),
  ]);
  const lines: string[] = [];
  // As the server's own logger does it.
  const hooks = { streamWrite: (line: string) => redactor.text(line) };
  const logger = pino({ hooks }, { write: (line: string) => lines.push(line) });
  const quoted = [
    "Basic quiet-words-here",
    "Basic%20quiet-words-here",
    "quiet-words-here",
    "quiet-team-name",
  ];
  const problem = [...quoted, env.OTEL_EXPORTER_OTLP_ENDPOINT, "quiet-pass-phrase", "quiet-query-value"].join(
    " | ",
  );
  world.answer = () => ({ status: null, message: `bad header: ${problem}` });
  await world.follow({}, logger);
  await world.run("worker");
  await world.until(() => lines.length > 0);
  assert.match(lines.join("\n"), /bad header: /);
  assert.doesNotMatch(lines.join("\n"), /quiet/);
});
