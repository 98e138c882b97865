/** `bridle approver` as scripts and people use it, against a real gateway and an enforcer of another vendor. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { generateKeyPair } from "../../src/harp/core/ciphers.ts";
import { type ApproverCli, type PairedParty, startApproverCli } from "../support/approver-cli.ts";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { type Json, until } from "../support/client.ts";
import { scriptedGateway, send } from "../support/scripted-gateway.ts";
import { environment, main } from "../support/server.ts";

let world: ApproverCli;
/** For what leaves nothing behind that others would stumble over. */
let shared: PairedParty;

before(async () => {
  world = await startApproverCli();
  shared = await world.paired();
});
after(() => world[Symbol.asyncDispose]());

/** Most of the time goes into starting commands, which have nothing to do with each other. */
const concurrency = 3;

// biome-ignore lint/suspicious/noControlCharactersInRegex: what an artifact holds must not drive the terminal
const driving = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/;

function fours(hex: string): string {
  return (hex.match(/.{4}/g) ?? []).join(" ");
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

describe("bridle approver pair", { concurrency }, () => {
  test("HARP-106, HARP-107 pairing shows one fingerprint on both sides and keeps keys private", async () => {
    // Given a code, when an approver pairs, then both sides see one fingerprint and the keys stay where only their owner
    // reads them.
    const { enforcer, approver, approverId, apiKey, profile } = await world.party();
    const invitation = await enforcer.invite();
    const code = `${invitation.code.slice(0, 4).toLowerCase()}-${invitation.code.slice(4)}`;
    const pair = ["pair", code, "--gateway", `${world.gateway}/`, "--key", apiKey];
    assert.match(errorLine(await approver(pair), 1), /--id/, "the API key is for a certain approver");
    assert.ok(!existsSync(profile));
    const output = succeeded(await approver([...pair, "--id", approverId]));
    assert.doesNotMatch(output, driving);
    assert.match(output, /Other\\u\{1b\}\[2J vendor, workspace air\\u\{202e\}lock/);
    const key = await enforcer.admit(invitation);
    assert.ok(onOneLine(output).includes(fours(key.fingerprint)), output);
    assert.match(key.deviceId, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual([key.approverId, key.state], [approverId, "active"]);
    assert.equal(statSync(profile).mode & 0o777, 0o600);
    assert.equal(statSync(dirname(profile)).mode & 0o777, 0o700);
    const saved = JSON.parse(readFileSync(profile, "utf8"));
    assert.deepEqual([saved.gateway, saved.approverId, saved.key], [world.gateway, approverId, apiKey]);
    const keys = JSON.parse(succeeded(await approver(["keys", "--json"])));
    assert.deepEqual(
      [keys.fingerprint, keys.signerKeyId, keys.deviceId, keys.profile, keys.hasPassphrase],
      [key.fingerprint, key.signerKeyId, key.deviceId, profile, false],
    );
    assert.ok(!JSON.stringify(keys).includes(saved.secrets.ed25519.seed));
    assert.match(errorLine(await approver(pair), 1), /PairingNotFound/, "a code is good once");
  });

  test("HARP-106 keys are stored encrypted by the passphrase and open only with it", async () => {
    // Given a passphrase, when an approver pairs, then the keys are on disk under it only, and nothing opens without it.
    const { enforcer, approver, approverId, apiKey, profile } = await world.party();
    const invitation = await enforcer.invite();
    const env = { BRIDLE_KEY: apiKey, BRIDLE_APPROVER_PASSPHRASE: "correct horse" };
    const picture = `bridle-pair:${invitation.code}?${new URLSearchParams({ gateway: world.gateway })}`;
    const pair = ["pair", picture, "--id", approverId, "--no-save-key", "--json"];
    const paired = JSON.parse(succeeded(await approver(pair, { env })));
    const key = await enforcer.admit(invitation);
    assert.equal(paired.fingerprint, key.fingerprint);
    const saved = JSON.parse(readFileSync(profile, "utf8"));
    assert.equal(saved.key, undefined, "the API key was not to be kept");
    assert.equal(saved.secrets.kdf, "PBKDF2-SHA-256");
    assert.doesNotMatch(JSON.stringify(saved), /seed|correct/);
    assert.match(errorLine(await approver(["inbox"]), 1), /no API key/);
    const withKey = { env: { BRIDLE_KEY: apiKey } };
    assert.match(errorLine(await approver(["inbox"], withKey), 1), /locked.*--passphrase-file/);
    const wrong = { env: { ...env, BRIDLE_APPROVER_PASSPHRASE: "wrong horse" } };
    assert.match(errorLine(await approver(["inbox"], wrong), 1), /passphrase is wrong/);
    const file = join(dirname(profile), "passphrase");
    writeFileSync(file, "correct horse\n");
    const asked = await enforcer.ask();
    const approve = ["approve", asked.requestId, "--yes", "--passphrase-file", file];
    succeeded(await approver(approve, withKey));
    assert.equal((await enforcer.decisionOn(asked)).decision.decision, "allow");
  });

  test("pairing with a foreign gateway never sends it the local administrator's key", async () => {
    // Given a server and its administrator's key on this machine, when a gateway elsewhere is paired with, then it is
    // sent nothing.
    await using stranger = await scriptedGateway((_, response) => send(response, 200, {}));
    const profile = join(world.place.path, "nobody.json");
    const pair = ["approver", "pair", "ABCD2345", "--profile", profile];
    const env = { BRIDLE_URL: world.server.url, BRIDLE_DATA: world.server.data };
    const refused = await bridle([...pair, "--gateway", stranger.url], { env });
    assert.match(errorLine(refused, 1), /no API key for http:\/\/127\.0\.0\.1:\d+: give one with --key/);
    const exported = await bridle([...pair, "--gateway", stranger.url], {
      env: { ...env, BRIDLE_KEY: "bridle_admin_key" },
    });
    assert.match(errorLine(exported, 1), /this is an administrator's key/);
    assert.deepEqual(stranger.heard, []);
    const own = await bridle([...pair, "--gateway", world.gateway], { env });
    assert.match(errorLine(own, 1), /no API key/, "nor does the server itself get it");
    assert.ok(!existsSync(profile));
  });

  test("a profile rejects another gateway or approver and permissions that let others read it", async () => {
    // Given a profile for one gateway and approver, when others are named or others can read it, then that is refused.
    const { approver, profile } = await world.paired();
    const elsewhere = await approver(["pair", "ABCD2345", "--gateway", "http://127.0.0.1:1/harp"]);
    assert.match(errorLine(elsewhere, 1), /is for the gateway at .* --profile/);
    const other = await approver(["pair", "ABCD2345", "--id", "somebody"]);
    assert.match(errorLine(other, 1), /is for approver app-/);
    assert.match(errorLine(await approver(["pair", "what?"]), 1), /no pairing code/);
    chmodSync(profile, 0o644);
    assert.match(errorLine(await approver(["inbox"]), 1), /others on this machine can read .*chmod 600/);
    chmodSync(profile, 0o600);
    writeFileSync(profile, '{"v":1,"gateway":"x"');
    assert.match(errorLine(await approver(["inbox"]), 1), /is not a profile of an approver/);
  });
});

describe("bridle approver inbox, show, approve, deny", { concurrency }, () => {
  test("HARP-40 the inbox shows a request for another device as closed and signs nothing for it", async () => {
    // Given requests for this device and for another, when the inbox is listed, then the one is there and the other is
    // closed; nothing is signed for it.
    const { enforcer, approver } = await world.paired();
    assert.match(succeeded(await approver(["inbox"])), /Nothing waits for you/);
    const mine = await enforcer.ask({ payload: { action: "publish", risk: "high" } });
    const { publicKey } = await generateKeyPair("X25519", false);
    const theirs = await enforcer.ask({ sealedTo: [publicKey] });
    const lines = succeeded(await approver(["inbox"]))
      .trimEnd()
      .split("\n");
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? "", new RegExp(`^${mine.requestId} {2}high {4} +publish {2}\\(59 min left\\)$`));
    assert.match(lines[1] ?? "", new RegExp(`^${theirs.requestId} {2}closed {2}.*not sealed to this device`));
    const items = succeeded(await approver(["inbox", "--json"]))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      items.map(({ requestId, isOpened }) => [requestId, isOpened]),
      [
        [mine.requestId, true],
        [theirs.requestId, false],
      ],
    );
    assert.deepEqual(items[0].artifact, mine);
    assert.equal(items[1].problem.code, "HARP_ERR_POLICY_DENY");
    const refused = await approver(["approve", theirs.requestId, "--yes"]);
    assert.match(errorLine(refused, 1), /cannot be opened, so nothing is signed.*HARP_ERR_POLICY_DENY/);
    assert.equal((await enforcer.link.status(theirs.requestId))?.body.decision, undefined);
    succeeded(await approver(["dismiss", theirs.requestId]));
    assert.deepEqual(
      succeeded(await approver(["inbox"]))
        .trimEnd()
        .split("\n"),
      [lines[0]],
    );
    assert.equal((await enforcer.link.status(theirs.requestId))?.body.state, "pendingApproval");
    succeeded(await approver(["unpair", enforcer.link.enforcerId]));
    assert.match(succeeded(await approver(["keys"])), /Paired with\n {2}nobody/);
    await assert.rejects(enforcer.ask({ payload: { action: "publish" } }), /revoked/);
  });

  test("a request with terminal escapes or imitated output is shown whole and inert", async () => {
    // Given a request whose text would drive a terminal and imitate our own, when it is shown, then all of it is there
    // and none of it works.
    const { enforcer, approver } = shared;
    const details = `rm -rf /\u001b]0;title\u0007\u202Ereversed\n${" ".repeat(120)}Risk       low\nHash       0000`;
    const asked = await enforcer.ask({
      payload: {
        action: "publish\nRisk       low",
        risk: "HIGH\u001b[32m",
        details,
        task: "task_1",
        extra: { list: ["one"] },
      },
      artifact: { baseRevision: "abc", sessionId: "s1", metadata: { note: "inner" } },
      metadata: { workspaceName: "air\u001b[2Jlock", enforcerLabel: "liar" },
    });
    const shown = succeeded(await approver(["show", asked.requestId]));
    assert.doesNotMatch(shown, driving);
    for (const text of [
      "rm -rf /\\u{1b}]0;title\\u{7}\\u{202e}reversed",
      "HIGH\\u{1b}[32m",
      "task_1",
      '"one"',
      "abc",
    ]) {
      assert.ok(shown.includes(text), text);
    }
    const ours = shown.split("\n").filter((line) => !line.startsWith("  │ "));
    assert.deepEqual(
      ours.filter((line) => /^(Risk|Hash) /.test(line)),
      ["Risk       HIGH\\u{1b}[32m", `Hash       ${asked.artifactHash}`],
    );
    assert.ok(ours.includes(`Made       ${asked.createdAt}`));
    assert.ok(ours.some((line) => line.startsWith(`Expires    ${asked.expiresAt}, 59 min left`)));
    const [, unverified = ""] = shown.split("The gateway says, and nobody has verified:");
    assert.match(unverified, /workspaceName: air\\u\{1b\}\[2Jlock\n {2}│ enforcerLabel: liar/);
    const json = succeeded(await approver(["show", asked.requestId, "--json"]));
    assert.doesNotMatch(json, driving);
    assert.deepEqual(JSON.parse(json).artifact, asked);
  });

  test("a unique id prefix suffices, an ambiguous or unknown one is reported", async () => {
    // Given the beginning of an id, when it is unique, then it suffices; when it is not, or nothing begins so, then that
    // is said.
    const { enforcer, approver } = await world.paired();
    const [one, two] = ["abc-1-x", "abc-2-x"];
    await enforcer.ask({ requestId: one });
    const asked = await enforcer.ask({ requestId: two });
    assert.match(errorLine(await approver(["show", "abc"]), 1), /more than one request.*abc-1-x, abc-2-x/);
    assert.match(
      errorLine(await approver(["deny", "xyz"]), 1),
      /no request that waits for you begins with xyz/,
    );
    assert.match(succeeded(await approver(["deny", "abc-2"])), /Denied and signed: abc-2-x/);
    assert.equal((await enforcer.decisionOn(asked)).decision.decision, "deny");
    assert.match(succeeded(await approver(["show", "abc"])), /^Request {4}abc-1-x/);
  });

  test("approving without a terminal needs --yes, and the enforcer accepts the signature once", async () => {
    // Given a request, when it is approved without a terminal, then only with --yes; the enforcer accepts the signature,
    // once.
    const { enforcer, approver } = shared;
    const asked = await enforcer.ask();
    const approve = ["approve", asked.requestId];
    assert.match(errorLine(await approver(approve), 2), /no terminal.*--yes/);
    assert.equal((await enforcer.link.status(asked.requestId))?.body.state, "pendingApproval");
    const ended = await approver([...approve, "--yes", "--reason", "looked at it", "--json"]);
    const result = JSON.parse(succeeded(ended));
    assert.deepEqual(
      [result.requestId, result.decision, result.artifactHash, result.duplicate],
      [asked.requestId, "approve", asked.artifactHash, false],
    );
    assert.match(ended.stderr, /Action {5}publish/, "what was signed was shown");
    assert.match(ended.stderr, /gateway can read the reason, and it is not signed/);
    const { decision, reason } = await enforcer.decisionOn(asked);
    assert.deepEqual([decision.decision, decision.scope, reason], ["allow", "once", "looked at it"]);
    assert.match(errorLine(await approver([...approve, "--yes"]), 1), /the gateway says that it is decided/);
  });

  test("approves the wider offered terms only when asked to", async () => {
    // Given wider terms that are offered, when it is approved, then it is for them only when asked for.
    const { enforcer, approver } = shared;
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const extensions = { gwProfile: { decisionTerms: { scope: "timebox", expiresAt } } };
    const [one, all] = [
      await enforcer.ask({ artifact: { extensions } }),
      await enforcer.ask({ artifact: { extensions } }),
    ];
    const output = succeeded(await approver(["approve", one.requestId, "--yes"]));
    assert.match(onOneLine(output.replaceAll("│", "")), /Offered scope timebox until .*--as-offered/);
    succeeded(await approver(["approve", all.requestId, "--yes", "--as-offered"]));
    assert.equal((await enforcer.decisionOn(one)).decision.scope, "once");
    assert.equal((await enforcer.decisionOn(all)).decision.scope, "timebox");
  });

  test("HARP-123 requests from the future or past cannot be signed, a refresh is requested", async () => {
    // Given requests from the future and of the past, when they are looked at, then nothing can be signed; the enforcer
    // is asked to ask again.
    const { enforcer, approver } = await world.paired();
    const createdAt = new Date(Date.now() + 30 * 60_000).toISOString();
    const early = await enforcer.ask({ artifact: { createdAt } });
    assert.match(succeeded(await approver(["inbox"])), /closed {2}The artifact was made in the future/);
    assert.match(errorLine(await approver(["approve", early.requestId, "--yes"]), 1), /HARP_ERR_EXPIRED/);
    const late = await enforcer.ask({ lifeMs: 3000 });
    await until(
      () => enforcer.link.status(late.requestId),
      (status) => status?.body.state === "expired",
    );
    const listed = succeeded(await approver(["expired"]));
    assert.match(listed, new RegExp(`^${late.requestId} {2}high {4} +publish {2}\\(which has passed\\)`));
    const refused = await approver(["approve", late.requestId, "--yes"]);
    assert.match(errorLine(refused, 1), /the gateway says that it is expired\. `bridle approver refresh/);
    assert.match(errorLine(await approver(["refresh", late.requestId.slice(0, 12)]), 1), /EnforcerOffline/);
    const stop = new AbortController();
    const messages = enforcer.link.messages(stop.signal)[Symbol.asyncIterator]();
    const next = messages.next();
    await until(
      () => approver(["refresh", late.requestId, "--json"]),
      ({ code }) => code === 0,
    );
    assert.equal((await next).value.requestId, late.requestId);
    stop.abort();
  });

  test("watching without a terminal prints one line per request and Ctrl-C exits cleanly", async () => {
    // Given requests that wait and come, when they are watched without a terminal, then each is a line, and Ctrl-C ends
    // it well.
    const { enforcer, profile } = await world.paired();
    const waiting = await enforcer.ask();
    const child = spawn(process.execPath, [main, "approver", "watch", "--json", "--profile", profile], {
      env: environment,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exited = once(child, "exit");
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<Json> => JSON.parse((await lines.next()).value ?? "");
    assert.deepEqual((await next()).artifact, waiting);
    const coming = await enforcer.ask();
    assert.deepEqual((await next()).artifact, coming);
    child.kill("SIGINT");
    assert.deepEqual(await exited, [0, null]);
    assert.equal((await lines.next()).done, true, "each came once");
  });
});
