/** Hand-offs under trust and policy: nothing is sent that was not meant to be, or to whom it was not meant. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { generateAgentCardSignature } from "@a2a-js/sdk";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { fixtureAgents } from "../support/cli.ts";
import { Client, isFinal, type Json } from "../support/client.ts";
import { delegate, eventsOf, resultOf, sends, serve, sharedServer } from "../support/handoffs.ts";
import { createPersona, createQuota, resultsOf, usageOf } from "../support/policy.ts";
import { RemoteAgent } from "../support/remote-agent.ts";
import { startProcess } from "../support/server.ts";

describe("Trust and policy", () => {
  const shared = sharedServer();
  async function signer(
    kid: string,
  ): Promise<{ sign: ReturnType<typeof generateAgentCardSignature>; jwk: JWK }> {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { extractable: true });
    const sign = generateAgentCardSignature(privateKey, { alg: "EdDSA", kid, typ: "JOSE" });
    return { sign, jwk: { ...(await exportJWK(publicKey)), kid } };
  }

  test("HND-6 OPVS-131, OPVS-132 only a card signed by the required key gets work", async () => {
    // Given cards that are signed, or not, or by others, when a key is asked for, then only what it signed gets work.
    const { client } = shared;
    const [ours, theirs] = [await signer("ours"), await signer("ours")];
    await using signed = await RemoteAgent.start({ sign: ours.sign });
    await using unsigned = await RemoteAgent.start();
    await using keys = await serve((request, response) => {
      const set =
        request.url === "/gone" ? [] : [{ kty: "OKP", crv: "Ed25519", x: "AA", kid: "other" }, ours.jwk];
      response.setHeader("content-type", "application/json").end(JSON.stringify({ keys: set }));
    });
    const input = "say hello";
    const expired = { ...ours.jwk, exp: Math.floor(Date.now() / 1000) - 1 };
    const requests = [
      { url: signed.url, input, trust: { keys: [ours.jwk] } },
      { url: signed.url, input, trust: { jwksUrls: [keys.url] } },
      { url: signed.url, input, trust: { keys: [theirs.jwk] } },
      { url: signed.url, input, trust: { keys: [expired] } },
      { url: signed.url, input, trust: { jwksUrls: [`${keys.url}/gone`] } },
      { url: unsigned.url, input, trust: { keys: [ours.jwk] } },
    ];
    const results = await resultsOf(client, await delegate(client, requests));
    assert.deepEqual(
      results.map(({ status, error }: Json) => status ?? error),
      ["SUCCEEDED", "SUCCEEDED", "untrusted_card", "untrusted_card", "untrusted_card", "untrusted_card"],
    );
    assert.equal(signed.taskIds.size, 2);
    assert.deepEqual(sends(unsigned), []);
  });

  test("HND-6 given a signed card that was changed, when it is used, then nothing is sent", async () => {
    const { client } = shared;
    const { sign, jwk } = await signer("ours");
    await using remote = await RemoteAgent.start({ sign });
    await using middle = await serve(async (_request, response) => {
      const card: Json = await (await fetch(`${remote.url}/.well-known/agent-card.json`)).json();
      const changed = {
        ...card,
        supportedInterfaces: card.supportedInterfaces.map((each: Json) => ({ ...each, tenant: "evil" })),
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(changed));
    });
    const result = await resultOf(client, [
      { url: `${middle.url}/card.json`, input: "say hi", trust: { keys: [jwk] } },
    ]);
    assert.equal(result.error, "untrusted_card");
    assert.deepEqual(sends(remote), []);
  });

  test("HND-7 vault credentials reach only the remote they are for, and never the log", async () => {
    // Given credentials in a vault, when work is sent, then the remote gets them, the log does not, and nobody else
    // does.
    const { client } = shared;
    const token = "tok-9f8e7d6c5b4a39281706";
    const vault = await client.post("/v1/vaults", { provider: "local", capabilities: ["read", "write"] });
    const path = `/v1/vaults/${vault.body.id}/secrets/partner`;
    assert.equal((await client.call(path, { method: "PUT", body: { value: token } })).status, 200);
    await using remote = await RemoteAgent.start({ token });
    // A card that points somewhere else must not lead the token there.
    await using elsewhere = await serve(async (_request, response) => {
      const card: Json = await (await fetch(`${remote.url}/.well-known/agent-card.json`)).json();
      response.setHeader("content-type", "application/json").end(JSON.stringify(card));
    });
    const requests = [
      { url: remote.url, input: `say it is ${token}`, credentials: "partner" },
      { url: remote.url, input: "say hello" },
      { url: elsewhere.url, input: "say hello", credentials: "partner" },
      { url: remote.url, input: "say hello", credentials: "nothing" },
      { url: remote.url, input: "say hello", credentials: `Bearer ${token}` },
      { url: `http://user:${token}@127.0.0.1/`, input: "say hello" },
    ];
    const task = await delegate(client, requests);
    const [granted, denied, stolen, missing, misused, inUrl] = await resultsOf(client, task);
    assert.equal(granted.status, "SUCCEEDED");
    assert.equal(denied.error, "remote_denied");
    assert.equal(stolen.error, "remote_denied");
    assert.equal(missing.error, "resource_not_found");
    assert.equal(misused.error, "invalid_handoff");
    assert.equal(inUrl.error, "invalid_handoff");
    const seen = remote.requests.filter(({ what }) => what.startsWith("POST"));
    assert.equal(seen.filter(({ headers }) => headers.authorization === undefined).length, 2);
    const written = JSON.stringify(await eventsOf(client, task));
    const typed = JSON.stringify((await client.get(`/v1/tasks/${task.id}`)).body.input);
    assert.ok(!written.replaceAll(typed, "").includes(`Bearer ${token}`));
    assert.ok(!JSON.stringify(granted).includes(token), "what the remote repeats is taken out");
  });

  test("HND-8 a remote that the persona does not list fails the step and is sent nothing", async () => {
    // Given a persona's list of hand-offs, when a remote is not on it, then the step fails and nothing is sent.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const { host } = new URL(remote.url);
    const listed = async (handoffs: string[]) => {
      const persona = await createPersona(client, { entry_workflow: "delegator", handoffs });
      const task = await delegate(client, [{ url: remote.url, input: "say hi" }], { persona_id: persona.id });
      const [result] = await resultsOf(client, task);
      return result.status ?? result.error;
    };
    assert.equal(await listed([remote.url]), "SUCCEEDED");
    assert.equal(await listed([`${remote.url}/*`]), "SUCCEEDED");
    assert.equal(await listed(["*"]), "SUCCEEDED");
    assert.equal(remote.taskIds.size, 3);
    const refused = [
      [],
      [`https://${host}`],
      [`${remote.url}/other/*`],
      [`${remote.url.slice(0, -1)}*`],
      ["persona_echo"],
    ];
    for (const handoffs of refused) assert.equal(await listed(handoffs), "policy_violation");
    assert.equal(remote.requests.filter(({ what }) => what.startsWith("POST")).length, 6);
  });

  test("HND-8 the autonomy tier decides if a hand-off is simulated, proposed, approved or done", async () => {
    // Given the tiers of autonomy, when work is handed off, then it is simulated, proposed, approved or done.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const under = async (autonomy_tier: string) => {
      const persona = await createPersona(client, { entry_workflow: "delegator", autonomy_tier });
      return await delegate(client, [{ url: remote.url, input: "say hi" }], { persona_id: persona.id });
    };
    const [shadow] = await resultsOf(client, await under("shadow"));
    const [suggested] = await resultsOf(client, await under("suggest"));
    assert.deepEqual([shadow.status, suggested.status], ["SIMULATED", "PROPOSED"]);
    assert.deepEqual(remote.requests, []);
    const asked = await under("act_with_approval");
    assert.equal(asked.status, "AUTH_REQUIRED");
    assert.deepEqual(remote.requests, []);
    const permission = asked.waiting_for.permission_request_id;
    const answer = await client.post(`/v1/permission-requests/${permission}/respond`, { approved: true });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const [done] = await resultsOf(client, await client.untilTask(asked.id, isFinal));
    assert.equal(done.output, "hi");
    assert.equal(remote.taskIds.size, 1);
  });

  test("HND-8 a hand-off counts as one tool call of the quota, whatever is asked back", async () => {
    // Given a quota of tool calls, when work is handed off, then it counts as one, whatever is asked back.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const quota = await createQuota(client, { limits: { tool_calls: 2 } });
    const persona = await createPersona(client, { entry_workflow: "delegator", quota_id: quota.id });
    const requests = ["ask Who?", "say a", "say b"].map((input) => ({ url: remote.url, input }));
    const task = await delegate(client, requests, { persona_id: persona.id });
    await client.answer(task.id, "me");
    const ended = await client.untilTask(task.id, isFinal);
    assert.equal(ended.status, "FAILED");
    assert.equal(ended.failure.code, "policy_violation");
    assert.equal(remote.taskIds.size, 2);
    assert.equal((await usageOf(client, quota.id)).tool_calls, 2);
  });

  test("HND-13 a remote that is no agent or is hostile fails the step with a reason", async () => {
    // Given remotes that are no agents or mean harm, when work is handed to them, then the step fails with a reason.
    const { client } = shared;
    await using strange = await serve((request, response) => {
      switch (request.url?.split("/")[1]) {
        case "html":
          return response.end("<h1>hello</h1>");
        case "list":
          return response.end("[1, 2]");
        case "redirect":
          return response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
        case "large":
          return response.end(" ".repeat(9 * 1024 * 1024));
        case "pigeon":
          return response.end(
            JSON.stringify({ supportedInterfaces: [{ url: "x", protocolBinding: "PIGEON" }] }),
          );
        case "nowhere":
          return response.end(
            JSON.stringify({
              supportedInterfaces: [
                { url: "file:///etc/passwd", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
              ],
            }),
          );
        default:
          return response.writeHead(404).end();
      }
    });
    const places = ["html", "list", "redirect", "large", "pigeon", "nowhere", "missing"];
    const requests = [
      ...places.map((place) => ({ url: `${strange.url}/${place}`, input: "hi" })),
      { url: "ftp://example.com", input: "hi" },
      { url: "not a url", input: "hi" },
      { url: strange.url, input: [] },
      { url: strange.url, input: "hi", expiresInMs: -1 },
      { url: strange.url, input: "hi", trust: {} },
    ];
    const results = await resultsOf(client, await delegate(client, requests));
    assert.deepEqual(
      results.map(({ error }: Json) => error),
      [
        "not_an_agent",
        "not_an_agent",
        "remote_refused",
        "remote_too_large",
        "no_common_binding",
        "not_an_agent",
        "not_an_agent",
        ...Array(5).fill("invalid_handoff"),
      ],
    );
  });

  test("HND-13 a default server sends no work to an address that is not public", async () => {
    // Given a server as it is started by default, when work goes to an address that is not public, then nothing is sent.
    await using server = await startProcess({ flags: ["--agents", fixtureAgents("delegator.ts")] });
    await using remote = await RemoteAgent.start();
    const result = await resultOf(new Client(server), [{ url: remote.url, input: "say hi" }]);
    assert.equal(result.error, "remote_refused");
    assert.deepEqual(remote.requests, []);
  });
});
