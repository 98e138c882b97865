/** Whatever is sent, at any address and in any frame: never an error of the server, and never a change by mistake. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { isThorough } from "../runner/seed.ts";
import type { Json } from "../support/client.ts";
import {
  accepted,
  callHarp,
  type Gateway,
  type Party,
  type Submitted,
  startGateway,
} from "../support/harp.ts";
import { openWs } from "../support/harp-channels.ts";
import { isSubmission } from "../support/harp-schemas.ts";

let gateway: Gateway;
let enforcer: Party;
let approver: Party;
let pending: Submitted;
let decided: Submitted;
let delivery: Json;

before(async () => {
  gateway = await startGateway();
  ({ enforcer, approver } = await gateway.tenant());
  pending = await enforcer.submit();
  decided = await enforcer.submit();
  accepted(await approver.decide(decided), 200, "decision.accepted");
  delivery = (await enforcer.item(decided.requestId)).envelope;
});
after(() => gateway[Symbol.asyncDispose]());

const numRuns = isThorough ? 2000 : 120;

/** Everything that could have changed. */
async function snapshot(): Promise<Json> {
  const statuses = [await enforcer.status(pending.requestId), await enforcer.status(decided.requestId)];
  return { statuses, open: await approver.inbox(), undelivered: await enforcer.inbox() };
}

/** One change somewhere in a value: a member replaced, taken away, added or renamed. */
interface Mutation {
  /** Which of all places in the value, as a fraction. */
  where: number;
  how: "replace" | "remove" | "add" | "rename" | "wrap";
  value: unknown;
  name: string;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  where: fc.double({ min: 0, max: 0.999, noNaN: true }),
  how: fc.constantFrom("replace", "remove", "add", "rename", "wrap"),
  value: fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom<unknown>("", "-", "0", "\u0000", "x".repeat(5000), -1, 1e308, null, [], {}),
  ),
  name: fc.oneof(
    fc.string({ unit: "binary", maxLength: 12 }),
    fc.constantFrom("__proto__", "constructor", "msgType", "body", "kind", "enforcerId", "length"),
  ),
});

/** Each object in a value, with the names of its members. */
function places(value: Json): { holder: Json; name: string }[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((name) => [{ holder: value, name }, ...places(value[name])]);
}

function mutate(original: Json, { where, how, value, name }: Mutation): Json {
  const copy = structuredClone(original);
  const all = places(copy);
  const place = all[Math.floor(where * all.length)];
  if (place === undefined) return copy;
  const { holder } = place;
  const set = (key: string, member: unknown) =>
    Object.defineProperty(holder, key, {
      value: member,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  if (how === "replace") set(place.name, value);
  else if (how === "wrap") set(place.name, [holder[place.name]]);
  else if (how === "add") set(name, value);
  else {
    const member = holder[place.name];
    delete holder[place.name];
    if (how === "rename") set(name, member);
  }
  return copy;
}

/** Valid messages of each kind, fresh each time, with who sends them and where. */
function messages(): [Party, string, Json][] {
  return [
    [enforcer, "/v1/artifacts", enforcer.artifact({ body: { metadata: { repoName: "x" } } })],
    [approver, "/v1/decisions", approver.decision(pending)],
    [enforcer, "/v1/acks", enforcer.ackOf(decided.requestId, delivery.msgId)],
    [enforcer, "/v1/pairing/initiate", { enforcerId: enforcer.id, enforcerLabel: "x", publicKey: "y" }],
    [approver, "/v1/pairing/complete", { nonce: "pn-unknown", approverId: approver.id, publicKey: "y" }],
  ];
}

/** Of what was accepted: it was of the right shape, and something that still counts as untouched is put back. */
async function assertRightful(path: string, message: Json): Promise<void> {
  const sent = JSON.parse(JSON.stringify(message));
  if (!path.startsWith("/v1/pairing/")) assert.ok(isSubmission(sent), `accepted: ${JSON.stringify(sent)}`);
  if (path === "/v1/decisions") pending = await enforcer.submit();
  if (path === "/v1/acks" && sent.requestId === decided.requestId) {
    decided = await enforcer.submit();
    await approver.decide(decided);
    delivery = (await enforcer.item(decided.requestId)).envelope;
  }
}

describe("HTTP", () => {
  test("HARP-126 mutated messages cause no server error, and only well-formed ones are accepted", async () => {
    // Given valid messages with one to three mutations, when they are sent, then none is an error of the server, what is
    // refused changes nothing, and what is accepted was of the right shape.
    await fc.assert(
      fc.asyncProperty(
        fc.nat(4),
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        async (kind, mutations) => {
          const [party, path, message] = messages()[kind] ?? assert.fail();
          const mutant = mutations.reduce(mutate, message);
          const before = await snapshot();
          const { status } = await party.post(path, mutant);
          assert.ok(status < 500, `${status} for ${JSON.stringify(mutant)}`);
          if (status < 300) await assertRightful(path, mutant);
          else assert.deepEqual(await snapshot(), before, JSON.stringify(mutant));
        },
      ),
      { numRuns },
    );
  });

  test("HARP-121, HARP-126 random bytes as a body return 4xx and change nothing", async () => {
    // Given any bytes, when they are sent to anything that takes a body, then it is 4xx and nothing changes.
    const before = await snapshot();
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => new TextEncoder().encode(text)),
      // Valid ones, cut or with a byte changed for one that text cannot have.
      fc
        .tuple(fc.nat(4), fc.double({ min: 0, max: 0.999, noNaN: true }), fc.boolean())
        .map(([kind, at, cut]) => {
          const whole = new TextEncoder().encode(JSON.stringify(messages()[kind]?.[2]));
          const place = Math.floor(at * whole.length);
          return cut ? whole.slice(0, place) : whole.with(place, 0xff);
        }),
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(4), bytes, async (kind, raw) => {
        const [party, path] = messages()[kind] ?? assert.fail();
        const { status } = await party.call(path, { raw });
        assert.ok(status >= 400 && status < 500, String(status));
      }),
      { numRuns },
    );
    assert.deepEqual(await snapshot(), before);
  });

  test("HARP-126 any text as id, cursor, limit, code or wait time causes no server error", async () => {
    // Given any text as an id, a cursor, a limit, a code or a time to wait, when it is asked for, then it is never an
    // error of the server.
    const before = await snapshot();
    const part = fc
      .oneof(
        fc.string({ unit: "binary", maxLength: 20 }),
        fc.constantFrom("..", ".", "%", "a/b", " ", "-1", "__proto__"),
      )
      .map((text) => encodeURIComponent(text.toWellFormed()));
    const paths: ((text: string) => [Party, string, string])[] = [
      (text) => [enforcer, "GET", `/v1/exchanges/${text}`],
      (text) => [enforcer, "GET", `/v1/exchanges/${text}/wait?timeout=1`],
      (text) => [enforcer, "POST", `/v1/exchanges/${text}/withdraw`],
      (text) => [approver, "POST", `/v1/exchanges/${text}/refresh`],
      (text) => [approver, "POST", `/v1/requests/${text}/refresh?enforcerDeviceId=${text}`],
      (text) => [approver, "GET", `/v1/approvers/${text}/inbox`],
      (text) => [approver, "GET", `/v1/approvers/${approver.id}/inbox?cursor=${text}`],
      (text) => [approver, "GET", `/v1/approvers/${approver.id}/inbox/expired?limit=${text}`],
      (text) => [approver, "DELETE", `/v1/approvers/${approver.id}/inbox/${text}`],
      (text) => [enforcer, "GET", `/v1/enforcers/${enforcer.id}/inbox?cursor=${text}`],
      (text) => [enforcer, "GET", `/v1/presence/enforcers?tenantId=${text}`],
      (text) => [enforcer, "GET", `/v1/presence/enforcers/${text}`],
      (text) => [enforcer, "GET", `/v1/pairing/${text}/status`],
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), part, async (path, text) => {
        const [party, method, address] = path(text);
        const { status } = await party.call(address, { method });
        assert.ok(status < 500, `${status} for ${method} ${address}`);
      }),
      { numRuns },
    );
    assert.deepEqual(await snapshot(), before);
  });

  test("HARP-126, HARP-101 any headers cause no server error", async () => {
    // Given any headers, when something is asked for, then it is never an error of the server.
    const value = fc.stringMatching(/^[\x21-\x7e]{1,40}$/);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("authorization", "x-harp-version", "content-type", "accept"),
        value,
        async (name, text) => {
          const answer = await callHarp(gateway.base, `/v1/exchanges/${pending.requestId}`, {
            key: enforcer.key,
            headers: { [name]: text },
          });
          assert.ok([200, 401, 406, 415, 426, 429].includes(answer.status), String(answer.status));
        },
      ),
      { numRuns: numRuns / 4 },
    );
  });
});

describe("WebSocket", () => {
  test("HARP-126 any socket frame gets a reply, never InternalError, and the connection stays", async () => {
    // Given any frames on one socket, when they are sent, then each has a reply, none of them is InternalError, what is
    // accepted was of the right shape, and the connection stays.
    await using channel = await openWs(enforcer);
    const frame = fc.oneof(
      fc.string({ unit: "binary", maxLength: 80 }).map((text) => text.toWellFormed()),
      fc.json(),
      fc
        .tuple(fc.constantFrom(0, 2), fc.array(mutation, { minLength: 1, maxLength: 3 }))
        .map(([kind, mutations]) => JSON.stringify(mutations.reduce(mutate, messages()[kind]?.[2]))),
    );
    await fc.assert(
      fc.asyncProperty(frame, async (text) => {
        const seen = channel.seen.length;
        channel.send(text);
        // What waits for an enforcer comes in between.
        const reply = await channel.until(
          (envelope) =>
            /^(error|\w+\.accepted)$/.test(envelope.msgType) && channel.seen.indexOf(envelope) >= seen,
        );
        if (reply.msgType !== "error") assert.ok(isSubmission(JSON.parse(text)), text);
        else assert.notEqual(reply.body.code, "InternalError", text);
      }),
      { numRuns },
    );
    assert.equal((await channel.ask(enforcer.artifact())).msgType, "artifact.accepted");
  });
});
