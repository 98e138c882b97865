/** Whatever is sent: messages that are wrong in every way, one and many at a time, are answered with a response message. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import type { Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { everything, message, Shell, textsOf } from "./wire.ts";

let server: TestServer;
let shell: Shell;

before(async () => {
  server = await startServer();
  shell = new Shell(server);
});
after(() => server[Symbol.asyncDispose]());

const runs = { numRuns: 150, endOnFailure: true };

/** A message with everything in it. */
function whole(): Json {
  return message(
    {
      session_id: "s",
      conversation_id: "c",
      user_intent: "hello",
      task_hint: { sop_id: "echo", business_key: "b" },
      continuation: {
        sop_id: "echo",
        extensions: { "com.bridle": { outcomes: [], approvals: [], answers: [] } },
      },
      environment_state: { privacy_tier: "restricted", os: "os", nested: { deep: [1] } },
      attachments: [{ uri: "https://example.com/a", mime_type: "text/plain", size_bytes: 1 }],
      shell: { shell_kind: "tv", shell_version: "1", locale: "en", timezone: "UTC" },
      extensions: { "com.example": {} },
    },
    { correlation_id: "corr", capabilities: everything },
  );
}

/** Every place in a message, as a list of names. */
function placesIn(value: Json, before: string[] = []): string[][] {
  const inner =
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, member]) => placesIn(member, [...before, name]))
      : [];
  return before.length === 0 ? inner : [before, ...inner];
}

const places = placesIn(whole());

function withAt(value: Json, [name = "", ...rest]: string[], put: unknown): Json {
  const copy = Array.isArray(value) ? [...value] : { ...value };
  const isThere = typeof copy[name] === "object" && copy[name] !== null;
  copy[name] = rest.length === 0 || !isThere ? put : withAt(copy[name], rest, put);
  return copy;
}

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    "",
    " ",
    "\u0000",
    "\ud800",
    "__proto__",
    "1.0.0",
    "data:,x",
    "secret",
    "x".repeat(5000),
    -1,
    1e300,
    [],
    {},
  ),
  fc.constantFrom({ toString: 1 }, { constructor: null }, [[[[]]]], { "com.bridle": { outcomes: [{}] } }),
);

test("OPH-45 a message with altered parts always gets a response message", async () => {
  // Given a message of which some places are something else, when it is sent, then the answer is a response message.
  const changes = fc.array(fc.tuple(fc.constantFrom(...places), odd), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(changes, async (changed) => {
      const sent = changed.reduce((value, [place, put]) => withAt(value, place, put), whole());
      const { status, message: answered } = await shell.post(sent);
      assert.equal(status, 200, JSON.stringify(answered));
      const { request_id } = sent;
      if (typeof request_id === "string" && request_id !== "" && request_id.isWellFormed())
        assert.equal(answered.request_id, request_id.slice(0, 4096) === request_id ? request_id : undefined);
    }),
    runs,
  );
});

test("OPH-45 arbitrary JSON is refused with a response message", async () => {
  // Given any JSON at all, when it is sent, then the answer is a response message that refuses it.
  await fc.assert(
    fc.asyncProperty(odd, async (value) => {
      const { status, message: answered } = await shell.post(JSON.stringify(value));
      assert.equal(status, 200);
      assert.equal(answered.response.status, "error");
    }),
    runs,
  );
});

test("OPH-45 texts and bytes that are no JSON are refused with a response message", async () => {
  // Given texts and bytes that are no JSON, when they are sent, then the answer is a response message that refuses them.
  const cut = fc.nat({ max: 200 }).map((end) => JSON.stringify(whole()).slice(0, end));
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), fc.string({ unit: "binary" }), cut), async (text) => {
      const { status, message: answered } = await shell.post(text);
      assert.equal(status, 200);
      assert.equal(answered.response.status, "error");
    }),
    runs,
  );
  const deep = `${"[".repeat(200)}${"]".repeat(200)}`;
  for (const text of [
    deep,
    `{"protocol_version":"1.0.0","request":${`{"a":`.repeat(150)}1${"}".repeat(150)}}`,
  ]) {
    assert.equal((await shell.post(text)).message.response.status, "error");
  }
});

test("OPH-45, OPH-4 a good message is still answered after all the malformed ones", async () => {
  // Given all that was sent, when a good message comes, then it is answered as ever.
  const { status, message: answered } = await shell.post(whole());
  assert.equal(status, 200);
  assert.deepEqual(textsOf(answered), ["hello"]);
  assert.ok(!/"level":(?:50|60)/.test(server.output()), server.output().slice(0, 2000));
});
