/** `bridle pair` and `bridle approvers`, as the operator of an enforcer uses them, against a server that says what it is told to. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nextAuditRecord } from "../../src/harp/core/audit.ts";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { type Json, protocolVersion } from "../support/client.ts";
import { type ScriptedGateway, scriptedGateway, send } from "../support/scripted-gateway.ts";
import { bridleInTerminal, noTerminal } from "../support/terminal.ts";

const concurrency = 3;
const fingerprint = "0123456789abcdef".repeat(4);
const signerKeyId = "-bCdEfGhIjKlMnOpQrStUvWxYz0123456789_-abcde";

interface Story {
  /** What is said each time somebody asks about the pairing; the last one from then on. */
  pairings?: object[];
  gatewayUrl?: string | null;
  approvers?: object[];
  audit?: string;
}

const completed = { state: "completed", approver_id: "app\u001b[2J-1", fingerprint };

/** The routes for approvals of a server. */
async function serverWith(story: Story): Promise<ScriptedGateway> {
  const { gatewayUrl = "https://gw.example/harp", pairings = [completed] } = story;
  let asked = 0;
  return await scriptedGateway(({ method, path }, response) => {
    const route = `${method} ${path}`;
    const begun = {
      code: "ABCD2345",
      nonce: "pn/1",
      expires_at: "2099-01-01T00:00:00Z",
      gateway_url: gatewayUrl,
    };
    if (route === "POST /v1/approvals/pairings") return send(response, 201, begun);
    if (route === "GET /v1/approvals/pairings/pn%2F1") {
      asked += 1;
      return send(response, 200, { nonce: "pn/1", ...pairings[Math.min(asked, pairings.length) - 1] });
    }
    if (route === "POST /v1/approvals/pairings/pn%2F1/confirm")
      return send(response, 201, { signer_key_id: signerKeyId, approver_id: "app-1", state: "active" });
    if (route === "POST /v1/api-keys") return send(response, 201, { key: "bridle_key_of_ada" });
    if (route === "GET /v1/approvals/approvers") return send(response, 200, { data: story.approvers ?? [] });
    if (method === "DELETE") return void response.writeHead(204).end();
    if (route === "GET /v1/approvals/audit") return void response.end(story.audit ?? "");
    send(response, 404, { error: { code: "resource_not_found", message: "There is no such route." } });
  });
}

function confirmations(server: ScriptedGateway): Json[] {
  return server.heard.filter(({ path }) => path.endsWith("/confirm")).map(({ body }) => body);
}

describe("bridle pair", { concurrency }, () => {
  test("HARP-107 confirms the key of an approver whose fingerprint matches", async () => {
    // Given an approver who comes in time, when the fingerprint is the one that was given, then the key is confirmed
    // with it.
    await using server = await serverWith({
      pairings: [{ state: "initiated" }, { state: "resolved" }, completed],
    });
    const given = `${fingerprint.slice(0, 32).toUpperCase()} ${fingerprint.slice(32)}`;
    const options = ["--label", "Ada's laptop", "--replaces", signerKeyId, "--overlap-hours", "2", "--json"];
    const ended = await bridle(["pair", "--workspace", "airlock", "--fingerprint", given, ...options], {
      server,
    });
    const approver = JSON.parse(succeeded(ended));
    assert.deepEqual([approver.signer_key_id, approver.approver_id], [signerKeyId, "app-1"]);
    assert.match(ended.stderr, /bridle approver pair ABCD2345 --gateway https:\/\/gw\.example\/harp/);
    assert.match(ended.stderr, /0123 4567 89ab cdef/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what came from outside must not drive the terminal
    assert.doesNotMatch(ended.stderr, /\x1b/);
    assert.deepEqual(server.heard[0]?.body, { workspace_name: "airlock" });
    assert.deepEqual(confirmations(server), [
      { fingerprint, label: "Ada's laptop", replaces: signerKeyId, overlap_ms: 7_200_000 },
    ]);
    for (const { headers } of server.heard) {
      assert.equal(headers["harn-agents-protocol-version"], protocolVersion);
      assert.equal(headers.authorization, "Bearer test-administrator-key-0001");
    }
  });

  test("SEC-H4 --id makes the approver's API key and shows the command that uses it", async () => {
    await using server = await serverWith({});
    const ended = await bridle(["pair", "--id", "ada", "--fingerprint", fingerprint], { server });
    succeeded(ended);
    assert.match(
      ended.stderr,
      /BRIDLE_KEY=bridle_key_of_ada bridle approver pair ABCD2345 --gateway \S+ --id ada\n/,
    );
    const made = server.heard.find(({ path }) => path === "/v1/api-keys");
    assert.deepEqual(made?.body, { name: "Approver ada", actor: "ada", scopes: ["harp:approver:ada"] });
  });

  test("HARP-107 confirms nothing for another fingerprint, an unreadable key or no approver", async () => {
    // Given keys with another fingerprint, none that can be read, or nobody at all, when they are compared, then nothing
    // is confirmed.
    const pair = ["pair", "--fingerprint", "f".repeat(64)];
    await using other = await serverWith({});
    const mismatch = await bridle(pair, { server: other });
    assert.equal(mismatch.code, 1);
    assert.match(mismatch.stderr, /bridle: the keys that arrived are not those.*look who is in between/);
    await using unreadable = await serverWith({ pairings: [{ ...completed, fingerprint: null }] });
    assert.match((await bridle(pair, { server: unreadable })).stderr, /no key that can be read/);
    await using nobody = await serverWith({ pairings: [{ state: "initiated" }, { state: "expired" }] });
    assert.match((await bridle(pair, { server: nobody })).stderr, /the code has expired/);
    for (const server of [other, unreadable, nobody]) assert.deepEqual(confirmations(server), []);
  });

  test("pairing without a terminal needs a valid fingerprint before it starts", async () => {
    // Given no terminal and no fingerprint, or one that is none, when pairing is asked for, then it is not begun.
    await using server = await serverWith({});
    assert.match(errorLine(await bridle(["pair"], { server }), 2), /--fingerprint/);
    assert.match(
      errorLine(await bridle(["pair", "--fingerprint", "abc"], { server }), 2),
      /64 hexadecimal digits/,
    );
    assert.deepEqual(server.heard, []);
  });

  test("HARP-107 at a terminal only a yes to the shown fingerprint confirms the pairing", {
    skip: noTerminal,
  }, async () => {
    // Given an operator at a terminal, when both screens show the same, then they say so; anything but yes confirms
    // nothing.
    for (const [answer, code] of [
      ["y", 1],
      ["yes", 0],
    ] as const) {
      await using server = await serverWith({});
      await using terminal = bridleInTerminal(["pair", "--url", server.url]);
      await terminal.answer("Who is to approve? ", "ada");
      await terminal.draws("\x1b[97m\x1b[40m██");
      await terminal.draws("Pairing code  \x1b[1mABCD2345\x1b[22m");
      await terminal.answer("Type yes to confirm: ", answer);
      assert.equal(await terminal.ended(), code, terminal.text());
      assert.deepEqual(confirmations(server), code === 0 ? [{ fingerprint }] : []);
    }
  });
});

describe("bridle approvers", { concurrency }, () => {
  const approver = {
    signer_key_id: signerKeyId,
    approver_id: "app\u202e-1",
    fingerprint,
    state: "active",
    device_id: "d",
    created_at: "2026-02-21T12:00:00Z",
    label: "Ada's laptop",
  };
  const second = { ...approver, signer_key_id: "abc2", fingerprint: `01${"f".repeat(62)}`, state: "revoked" };

  test("lists approvers with keys, states and names, without terminal control codes", async () => {
    // Given approvers, when they are listed, then their keys, states and names are there, and drive no terminal.
    await using server = await serverWith({ approvers: [approver, second] });
    const listed = succeeded(await bridle(["approvers"], { server }));
    assert.match(
      listed,
      new RegExp(`^${signerKeyId} {2}active +app\\\\u\\{202e\\}-1 \\(Ada's laptop\\)$`, "m"),
    );
    assert.match(listed, /^abc2 {2}revoked/m);
    assert.deepEqual(JSON.parse(succeeded(await bridle(["approvers", "list", "--json"], { server }))), [
      approver,
      second,
    ]);
    await using empty = await serverWith({});
    assert.match(succeeded(await bridle(["approvers"], { server: empty })), /Nobody is paired/);
  });

  test("revokes the one key that an id, fingerprint or prefix matches, never one of several", async () => {
    // Given a key, when it is revoked by its id, its fingerprint or the beginning of one, then that one is, and never
    // one of several.
    await using server = await serverWith({ approvers: [approver, second] });
    for (const key of [["--", signerKeyId], ["0123 4567"], ["abc"]]) {
      succeeded(await bridle(["approvers", "revoke", ...key], { server }));
    }
    assert.match(errorLine(await bridle(["approvers", "revoke", "01"], { server }), 1), /more than one key/);
    assert.match(errorLine(await bridle(["approvers", "revoke", "zz"], { server }), 1), /no approver's key/);
    const revoked = server.heard.filter(({ method }) => method === "DELETE").map(({ path }) => path);
    const path = "/v1/approvals/approvers";
    assert.deepEqual(revoked, [`${path}/${signerKeyId}`, `${path}/${signerKeyId}`, `${path}/abc2`]);
  });

  test("HARP-113 audit verification passes an intact log and detects a changed one", async () => {
    // Given the audit log, when it is verified, then a whole one is whole, and one that was changed is not.
    const first = await nextAuditRecord(null, "2026-02-21T12:00:00Z", "key.provisioned", { approverId: "a" });
    const next = await nextAuditRecord(first, "2026-02-21T12:01:00Z", "key.revoked", {
      approverId: "\u202ea",
    });
    const audit = [first, next].map((record) => `${JSON.stringify(record)}\n`).join("");
    await using whole = await serverWith({ audit });
    const printed = succeeded(await bridle(["approvers", "audit"], { server: whole }));
    assert.ok(!printed.includes("\u202e"));
    assert.deepEqual(
      printed
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
      [first, next],
    );
    const verified = succeeded(await bridle(["approvers", "audit", "--verify"], { server: whole }));
    assert.match(verified, new RegExp(`^2 records, .* ${next.hash}\\.`));
    for (const forged of [
      audit.replace("key.revoked", "key.confirmed"),
      audit.slice(audit.indexOf("\n") + 1),
      "{\n",
    ]) {
      await using changed = await serverWith({ audit: forged });
      const ended = await bridle(["approvers", "audit", "--verify", "--json"], { server: changed });
      assert.equal(ended.code, 1);
      assert.equal(JSON.parse(ended.stdout).valid, false);
    }
  });
});
