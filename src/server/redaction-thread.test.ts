import assert from "node:assert/strict";
import { test } from "node:test";
import { rulesFor, searched } from "../policy/redact/texts.ts";
import { RedactionThread } from "./redaction-thread.ts";

test("REL-R11 long texts are searched even when the thread that searches them ends", async () => {
  const thread = new RedactionThread((error) => assert.fail(String(error)));
  const text = 'password="hunter2hunter2x9" '.repeat(1000);
  const asked = { text, selected: rulesFor(text) };
  const expected = [searched(text, asked.selected)];
  assert.deepEqual(await thread.search([asked]), expected);
  const waiting = thread.search([asked]);
  await thread.close();
  assert.deepEqual(await waiting, expected);
});
