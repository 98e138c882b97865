/** `bridle gateway`: a HARP gateway and nothing else, with its binding at the root; and a port of its own in `bridle serve`. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { Client } from "../support/client.ts";
import { accepted, callHarp, type Gateway, pair, refusal, startGateway } from "../support/harp.ts";
import { openSse, openWs } from "../support/harp-channels.ts";

let gateway: Gateway;

before(async () => {
  gateway = await startGateway({ standalone: true });
});
after(() => gateway[Symbol.asyncDispose]());

describe("A gateway alone", () => {
  test("HARP-82 a standalone gateway serves a whole exchange at the root, pairing to ack", async () => {
    // Given a gateway alone, when an exchange goes through it from pairing to acknowledgement, then all of it works, at
    // the root.
    const { enforcer, approver } = await gateway.tenant();
    await using there = await openWs(enforcer);
    await using here = await openSse(approver);
    const routingToken = await pair(enforcer, approver);
    const submitted = await enforcer.submit({ body: { metadata: { routingToken } } });
    await here.about(submitted.requestId, "approval.request");
    const decision = approver.decision(submitted);
    accepted(await approver.post("/v1/decisions", decision), 200, "decision.accepted");
    const delivered = await there.about(submitted.requestId, "decision.deliver");
    assert.deepEqual(delivered.body, decision.body);
    accepted(await enforcer.acknowledge(submitted.requestId, delivered.msgId), 200, "ack.accepted");
    assert.equal(await enforcer.state(submitted.requestId), "delivered");
  });

  test("HARP-127 a standalone gateway declares the same status as an embedded one", async () => {
    // Given a gateway alone, when its status is asked for, then it declares itself as one within a server does.
    const { status, body } = await callHarp(gateway.base, "/v1/status");
    assert.deepEqual([status, body.harpVersion], [200, "0.2"]);
  });

  test("HARP-102 a standalone gateway has no server routes and keys only for administrators", async () => {
    // Given a gateway alone, when anything of a server is asked for, then it is not there, and keys are only for
    // administrators.
    const { enforcer } = await gateway.tenant();
    for (const path of ["/v1/sessions", "/v1/tasks", "/v1/agent-card", "/opvs/agents", "/harp/v1/status"]) {
      const { status } = await gateway.admin.get(path);
      assert.equal(status, 404, path);
    }
    const body = { name: "more", actor: "more", scopes: ["admin"] };
    const { status } = await gateway.admin.as(enforcer.key).post("/v1/api-keys", body);
    assert.equal(status, 403);
    const unknown = await gateway.admin.call("/v1/api-keys", { key: "wrong" });
    assert.equal(unknown.status, 401);
  });

  test("HARP-49 a standalone gateway exits with 0 on Ctrl-C and keeps everything on restart", async () => {
    // Given a gateway alone, when it is stopped as by Ctrl-C and started again, then it ended with 0 and everything is
    // there.
    const { enforcer, approver } = await gateway.tenant();
    const { requestId } = await enforcer.submit();
    const item = await approver.item(requestId);
    assert.equal(await gateway.server.stop(), 0, gateway.server.output());
    await gateway.restart();
    assert.deepEqual(await approver.item(requestId), item);
    assert.equal(await enforcer.state(requestId), "pendingApproval");
  });

  test("HARP-49 a gateway with open channels and waiters ends soon with 0 on Ctrl-C", async () => {
    // Given open channels and somebody who waits, when it is stopped as by Ctrl-C, then it ends soon and with 0.
    const { enforcer, approver } = await gateway.tenant();
    const { requestId } = await enforcer.submit();
    const there = await openWs(enforcer);
    const here = await openSse(approver);
    const waiting = enforcer.wait(requestId, 60).catch(() => null);
    assert.equal(await gateway.server.stop(), 0, gateway.server.output());
    await Promise.all([there.closed, here.closed, waiting]);
    await gateway.restart();
  });

  test("HARP-82 wrong gateway flags print one line and exit with 2; help lists the flags", async () => {
    // Given wrong flags, when a gateway is started, then it is one line and exit code 2; help says what there is.
    const wrong = [
      ["--port", "x"],
      ["--data", ""],
    ] as const;
    const [help, lines] = await Promise.all([
      bridle(["gateway", "--help"]).then(succeeded),
      Promise.all(wrong.map(async (flags) => errorLine(await bridle(["gateway", ...flags]), 2))),
    ]);
    for (const [n, line] of lines.entries()) assert.ok(line.includes(wrong[n]?.[0] ?? "?"), line);
    for (const word of ["--port", "--data", "--host", "--tls-cert"]) assert.ok(help.includes(word), word);
  });

  test("HARP-104 by default connections are pinged every 30 s and ended after 120 s of silence", async () => {
    // Given no settings, when they are read, then connections are pinged every 30 seconds and ended after 120 without a
    // sign of life.
    const help = succeeded(await bridle(["gateway", "--help"])).replaceAll(/\s+/g, " ");
    assert.match(help, /--harp-ping-ms [^()]*\(default: 30000,/);
    assert.match(help, /--harp-idle-ms [^()]*\(default: 120000,/);
  });
});

test("HARP-82 the HARP port and the server port are one gateway, bound at the port's root", async () => {
  // Given a server with a port for HARP, when both addresses are used, then they are one gateway, with its binding at
  // the root of that port.
  await using served = await startGateway({ flags: ["--harp-port", "0"] });
  const url = served.server.harpUrl();
  const { enforcer, approver } = await served.tenant();
  const submitted = await enforcer.submit();
  const seen = await callHarp(url, `/v1/exchanges/${submitted.requestId}`, { key: enforcer.key });
  assert.equal(accepted(seen, 200, "exchange.status").state, "pendingApproval");
  await using channel = await openWs(enforcer);
  const decision = approver.decision(submitted);
  const answer = await callHarp(url, "/v1/decisions", { key: approver.key, body: decision });
  accepted(answer, 200, "decision.accepted");
  await channel.about(submitted.requestId, "decision.deliver");
  refusal(await callHarp(url, "/v1/nowhere", { key: approver.key }), 404, "RouteNotFound");
  const sessions = await new Client({ url: url }).get("/v1/sessions");
  assert.equal(sessions.status, 404);
});
