import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  beginStream,
  emitted,
  type Reply,
  refuse,
  scriptedGateway,
  send,
} from "../../../test/support/scripted-gateway.ts";
import { readArtifactAccepted, readInboxPage, readPairingStatus } from "./gateway-answers.ts";
import { GatewayClient, type Limits } from "./gateway-client.ts";
import { GatewayRefusal } from "./gateway-link.ts";
import type { Reader } from "./read.ts";

const key = "secret-key";
const hash = `sha256:${"a".repeat(64)}`;
const acceptedBody = {
  state: "pendingApproval",
  createdAt: "2026-02-21T12:00:00Z",
  expiresAt: "2026-02-21T12:10:00Z",
  artifactHash: hash,
  duplicate: false,
};

/** What comes of a call to a gateway that answers like this. */
async function refusalOf(
  reply: Reply,
  read: Reader<unknown> = readArtifactAccepted,
  limits: Partial<Limits> = {},
): Promise<GatewayRefusal> {
  await using gateway = await scriptedGateway(reply);
  const client = new GatewayClient({ url: gateway.url, key }, limits);
  return await caught(() => client.call("/v1/x", read));
}

async function caught(act: () => Promise<unknown>): Promise<GatewayRefusal> {
  try {
    await act();
  } catch (error) {
    assert.ok(error instanceof GatewayRefusal, String(error));
    assert.doesNotMatch(JSON.stringify([error.message, error.details]), new RegExp(key));
    return error;
  }
  assert.fail("it was not refused");
}

/** Until the stream ends, by itself or by failing. */
async function eventsFrom(reply: Reply, limits: Partial<Limits> = {}): Promise<string[]> {
  await using gateway = await scriptedGateway(reply);
  const client = new GatewayClient({ url: gateway.url, key }, limits);
  const events: string[] = [];
  for await (const { event } of client.events("/v1/sse", new AbortController().signal)) events.push(event);
  return events;
}

describe("A client of a gateway", () => {
  test("HARP-99 a call goes below the base address with media type, version and key", async () => {
    // Given a call, when it is sent, then it names the media type, the version and the key, below the address.
    await using gateway = await scriptedGateway((_, response) =>
      send(response, 200, emitted("artifact.accepted", acceptedBody)),
    );
    const client = new GatewayClient({ url: `${gateway.url}/harp/`, key });
    const { body } = await client.call("/v1/artifacts", readArtifactAccepted, { body: { a: 1 } });
    assert.deepEqual(body, acceptedBody);
    await client.call("/v1/artifacts", readArtifactAccepted);
    const [post, get] = gateway.heard;
    assert.deepEqual([post?.method, post?.path, post?.body], ["POST", "/harp/v1/artifacts", { a: 1 }]);
    assert.equal(post?.headers["content-type"], "application/harp+json");
    assert.equal(get?.headers["content-type"], undefined);
    for (const heard of [post, get]) {
      assert.equal(heard?.headers["x-harp-version"], "0.2");
      assert.equal(heard?.headers.authorization, `Bearer ${key}`);
    }
  });

  test("a gateway's error gives its code, status, message and whether to retry", async () => {
    // Given an error of a gateway, when it comes, then its code, status, words and whether to try again are told.
    const final = await refusalOf((_, response) => refuse(response, 409, "AlreadyDecidedConflict"));
    assert.deepEqual(
      [final.code, final.status, final.message, final.isRetryable],
      ["AlreadyDecidedConflict", 409, "No.", false],
    );
    const passing = await refusalOf((_, response) =>
      refuse(response, 429, "RateLimited", { retryable: true, message: "x".repeat(100_000) }),
    );
    assert.deepEqual([passing.code, passing.isRetryable], ["RateLimited", true]);
    assert.ok(passing.message.length <= 500);
  });

  test("an error from something that is no gateway is retryable and not a refusal", async () => {
    // Given an error of somebody who is no gateway, when it comes, then nothing counts as refused.
    for (const body of [
      "<html>no</html>",
      "",
      '{"error":"no"}',
      '{"msgType":"error","body":{"code":"a b"}}',
    ]) {
      const refusal = await refusalOf((_, response) => void response.writeHead(404).end(body));
      assert.deepEqual([refusal.code, refusal.status, refusal.isRetryable], ["NotAGateway", 404, true], body);
    }
  });

  test("given no gateway, or one that hangs up, when it is called, then that is worth another try", async () => {
    const nowhere = new GatewayClient({ url: "http://127.0.0.1:1", key });
    const away = await caught(() => nowhere.call("/v1/x", readArtifactAccepted));
    assert.deepEqual([away.code, away.status, away.isRetryable], ["Unreachable", 503, true]);
    const cut = await refusalOf((_, response) => void response.destroy());
    assert.deepEqual([cut.code, cut.isRetryable], ["Unreachable", true]);
    const half = await refusalOf((_, response) => {
      response.writeHead(200, { "content-length": "1000" }).write("{");
      setImmediate(() => response.destroy());
    });
    assert.deepEqual([half.code, half.isRetryable], ["Unreachable", true]);
  });

  test("a call to a gateway that never answers times out", async () => {
    // Given a gateway that takes a call and never answers, when patience is over, then the call ends.
    for (const reply of [
      () => {},
      (_: unknown, response: { write(text: string): void }) => response.write("{"),
    ]) {
      const refusal = await refusalOf(reply as Reply, readArtifactAccepted, { answerMs: 200 });
      assert.deepEqual([refusal.code, refusal.isRetryable], ["Unreachable", true]);
      assert.match(refusal.message, /in time/);
    }
  });

  test("aborting a call ends it with the signal's reason", async () => {
    // Given a caller who no longer wants the answer, when the signal says so, then the call ends with its reason.
    const stop = new AbortController();
    await using gateway = await scriptedGateway(() => stop.abort(new Error("not any more")));
    const client = new GatewayClient({ url: gateway.url, key });
    const call = () => client.call("/v1/x", readArtifactAccepted, { signal: stop.signal });
    await assert.rejects(call, /not any more/);
    await assert.rejects(call, /not any more/);
    assert.equal(gateway.heard.length, 1, "what is not wanted is not sent");
  });

  test("rejects answers of the wrong shape as senseless", async () => {
    // Given answers in wrong shapes, when they are read, then they are senseless and not believed.
    const wrong: unknown[] = [
      null,
      [],
      "accepted",
      { ...acceptedBody },
      emitted("decision.accepted", acceptedBody),
      emitted("artifact.accepted", { ...acceptedBody, state: "approved" }),
      emitted("artifact.accepted", { ...acceptedBody, duplicate: "no" }),
      emitted("artifact.accepted", { ...acceptedBody, expiresAt: "soon" }),
      emitted("artifact.accepted", { ...acceptedBody, artifactHash: "abc" }),
      emitted("artifact.accepted", acceptedBody, { msgId: "m".repeat(129) }),
      emitted("artifact.accepted", acceptedBody, { sender: "gw" }),
    ];
    for (const body of wrong) {
      const refusal = await refusalOf((_, response) => send(response, 200, body));
      assert.deepEqual([refusal.code, refusal.isRetryable], ["SenselessAnswer", true], JSON.stringify(body));
    }
    const garbage = await refusalOf((_, response) => void response.end("{"));
    assert.equal(garbage.code, "SenselessAnswer");
    const items = Array.from({ length: 1001 }, (_, i) => ({ requestId: `r${i}`, envelope: {} }));
    const pages = [
      { items, nextCursor: null },
      { items: [], nextCursor: 7 },
      { items: {}, nextCursor: null },
    ];
    for (const body of pages) {
      const refusal = await refusalOf(
        (_, response) => send(response, 200, emitted("inbox.page", body)),
        readInboxPage,
      );
      assert.equal(refusal.code, "SenselessAnswer");
    }
    const pairing = await refusalOf(
      (_, response) =>
        send(response, 200, { nonce: "n", state: "trusted", expiresAt: acceptedBody.expiresAt }),
      readPairingStatus,
    );
    assert.equal(pairing.code, "SenselessAnswer");
  });

  test("given an answer that never ends, when it is read, then it is cut off", async () => {
    let isCut = false;
    const refusal = await refusalOf((_, response) => {
      response.on("close", () => {
        isCut = true;
      });
      const more = () => {
        if (!isCut) response.write(" ".repeat(65_536), () => setImmediate(more));
      };
      more();
    });
    assert.equal(refusal.code, "SenselessAnswer");
    assert.match(refusal.message, /more than 262144 bytes/);
  });

  test("does not send the key along when the gateway redirects", async () => {
    // Given a gateway that sends callers elsewhere, when it is called, then the key does not go there.
    await using elsewhere = await scriptedGateway((_, response) => send(response, 200, {}));
    const refusal = await refusalOf(
      (_, response) => void response.writeHead(307, { location: elsewhere.url }).end(),
    );
    assert.equal(refusal.code, "Unreachable");
    assert.deepEqual(elsewhere.heard, []);
  });

  test("creating a client rejects an invalid address or key without repeating the key", () => {
    // Given an address or a key that cannot be one, when a client is made, then it says so and does not repeat the key.
    for (const url of ["gateway", "ftp://gw", "http://me:you@gw", "http://gw/?a=1", "http://gw/#a"]) {
      assert.throws(() => new GatewayClient({ url, key }), /gateway's address/, url);
    }
    for (const bad of ["", "a b", "a\nb", "ключ"]) {
      assert.throws(
        () => new GatewayClient({ url: "http://gw", key: bad }),
        (error: Error) => bad === "" || !error.message.includes(bad),
      );
    }
  });
});

describe("A gateway's stream of events", () => {
  test("a stream yields events until it ends, and its request says what it accepts", async () => {
    // Given a stream, when it is read, then events come until it ends; the call says what it accepts.
    const accepts: (string | undefined)[] = [];
    const events = await eventsFrom(({ headers }, response) => {
      accepts.push(headers.accept);
      const push = beginStream(response);
      push("ping", "");
      push("approval.request", {});
      response.end();
    });
    assert.deepEqual(events, ["ping", "approval.request"]);
    assert.deepEqual(accepts, ["text/event-stream"]);
  });

  test("reports a stream that is refused, not a stream, endless or silent", async () => {
    // Given a stream that is refused, is none, is endless or falls silent, when it is read, then that is told.
    const refused = await caught(() => eventsFrom((_, response) => refuse(response, 403, "Forbidden")));
    assert.equal(refused.code, "Forbidden");
    const none = await caught(() => eventsFrom((_, response) => send(response, 200, {})));
    assert.equal(none.code, "SenselessAnswer");
    const endless = await caught(() =>
      eventsFrom(
        (_, response) => {
          beginStream(response);
          response.write(`data: ${"x".repeat(5000)}`);
        },
        { eventCharsMax: 1000 },
      ),
    );
    assert.equal(endless.code, "SenselessAnswer");
    const silent = await caught(() =>
      eventsFrom((_, response) => beginStream(response)("ping", ""), { idleMs: 200 }),
    );
    assert.deepEqual([silent.code, silent.isRetryable], ["Unreachable", true]);
  });

  test("aborting a stream closes its connection to the gateway", async () => {
    // Given a stream that is no longer wanted, when the signal says so, then the gateway sees it closed.
    const closed = Promise.withResolvers<void>();
    await using gateway = await scriptedGateway((_, response) => {
      response.on("close", () => closed.resolve());
      beginStream(response)("ping", "");
    });
    const stop = new AbortController();
    const client = new GatewayClient({ url: gateway.url, key });
    const events = client.events("/v1/sse", stop.signal);
    assert.equal((await events.next()).value?.event, "ping");
    stop.abort(new Error("enough"));
    await assert.rejects(events.next(), /enough/);
    await closed.promise;
  });

  test("given a reader who stops after one event, when it stops, then the gateway sees it closed", async () => {
    const closed = Promise.withResolvers<void>();
    await using gateway = await scriptedGateway((_, response) => {
      response.on("close", () => closed.resolve());
      beginStream(response)("ping", "");
    });
    const client = new GatewayClient({ url: gateway.url, key });
    for await (const { event } of client.events("/v1/sse", new AbortController().signal)) {
      assert.equal(event, "ping");
      break;
    }
    await closed.promise;
  });
});
