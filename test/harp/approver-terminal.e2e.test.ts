/** `bridle approver` at a terminal: what is asked, what counts as an answer, and what is never shown. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Artifact } from "../../src/harp/core/artifact.ts";
import { type ApproverCli, type PairedParty, startApproverCli } from "../support/approver-cli.ts";
import { bridleInTerminal, noTerminal } from "../support/terminal.ts";

const movedClock = new URL("../support/moved-clock.ts", import.meta.url).href;

let world: ApproverCli;
let party: PairedParty;

before(async () => {
  world = await startApproverCli();
  party = await world.paired();
});
after(() => world[Symbol.asyncDispose]());

async function stateOf({ requestId }: Artifact): Promise<string | undefined> {
  return (await party.enforcer.link.status(requestId))?.body.state;
}

describe("bridle approver at a terminal", { concurrency: 3 }, () => {
  test("approving shows the request with its risk in red and accepts only yes", {
    skip: noTerminal,
  }, async () => {
    // Given a request, when it is approved, then it is shown with its risk in red and asked about; only yes is yes.
    const { enforcer, profile } = party;
    const asked = await enforcer.ask({ payload: { action: "publish", risk: "high", details: "all of it" } });
    const args = ["approver", "approve", asked.requestId, "--profile", profile];
    for (const answer of ["", "y", "\x03"]) {
      await using terminal = bridleInTerminal(args);
      await terminal.answer("Type yes to sign: ", answer);
      assert.equal(await terminal.ended(), 1, terminal.text());
      assert.match(terminal.text(), /nothing was signed/);
    }
    assert.equal(await stateOf(asked), "pendingApproval");
    await using terminal = bridleInTerminal(args);
    await terminal.answer("Type yes to sign: ", "yes");
    assert.equal(await terminal.ended(), 0, terminal.text());
    assert.ok(terminal.raw().includes("\x1b[1m\x1b[31mhigh\x1b[39m\x1b[22m"), terminal.text());
    assert.match(terminal.text(), /Details {4}all of it[\s\S]*Approve exactly this\?/);
    assert.equal((await enforcer.decisionOn(asked)).decision.decision, "allow");
  });

  test("a yes after the request expired is reported and signs nothing", {
    skip: noTerminal,
  }, async () => {
    // Given a request that expires while somebody looks at it, when they say yes too late, then that is said and nothing
    // is signed.
    const { enforcer, profile } = party;
    const asked = await enforcer.ask();
    const clock = join(world.place.path, "clock");
    writeFileSync(clock, "0");
    const args = ["approver", "approve", asked.requestId, "--profile", profile];
    const env = { NODE_OPTIONS: `--import ${movedClock}`, MOVED_CLOCK: clock };
    await using terminal = bridleInTerminal(args, { env });
    await terminal.sees("Type yes to sign: ");
    writeFileSync(clock, String(Date.parse(asked.expiresAt) - Date.now()));
    terminal.enter("yes");
    await terminal.sees("has expired while you looked at it");
    assert.equal(await terminal.ended(), 1);
    assert.equal((await enforcer.link.status(asked.requestId))?.body.decision, undefined);
  });

  test("watch asks about each new request and ignores input typed before", {
    skip: noTerminal,
  }, async () => {
    // Given requests that come, when they are watched, then each is asked about; what was typed before is no answer.
    const { enforcer, profile } = await world.paired();
    const first = await enforcer.ask();
    await using terminal = bridleInTerminal(["approver", "watch", "--profile", profile]);
    await terminal.sees("Watching for requests");
    await terminal.answer("[a]pprove, [d]eny or [s]kip? ", "perhaps");
    await terminal.answer("[a]pprove, [d]eny or [s]kip? ", "d");
    await terminal.sees("Denied and signed");
    terminal.press("a\r");
    const second = await enforcer.ask();
    await terminal.answer("[a]pprove, [d]eny or [s]kip? ", "s");
    const third = await enforcer.ask();
    await terminal.answer("[a]pprove, [d]eny or [s]kip? ", "A");
    await terminal.sees("Approved and signed");
    const fourth = await enforcer.ask();
    await terminal.sees("[a]pprove, [d]eny or [s]kip? ");
    terminal.press("\x03");
    assert.equal(await terminal.ended(), 0, terminal.text());
    const verdicts = [];
    for (const asked of [first, third]) verdicts.push((await enforcer.decisionOn(asked)).decision.decision);
    assert.deepEqual(verdicts, ["deny", "allow"]);
    for (const { requestId } of [second, fourth]) {
      assert.equal((await enforcer.link.status(requestId))?.body.state, "pendingApproval");
    }
  });

  test("HARP-106 pairing asks for a passphrase twice without echo and locks the keys with it", {
    skip: noTerminal,
  }, async () => {
    // Given somebody who pairs, when they are asked for a passphrase, then it is asked for twice, never shown, and locks
    // the keys.
    const { enforcer, approverId, apiKey, profile } = await world.party();
    const invitation = await enforcer.invite();
    const args = ["approver", "pair", invitation.code, "--gateway", world.gateway, "--id", approverId];
    await using terminal = bridleInTerminal([...args, "--profile", profile], { env: { BRIDLE_KEY: apiKey } });
    await terminal.answer("Passphrase for your new keys (empty for none): ", "one thing");
    await terminal.answer("The same again: ", "another thing");
    await terminal.sees("not the same");
    await terminal.answer("Passphrase for your new keys (empty for none): ", "open sesame");
    await terminal.answer("The same again: ", "open sesame");
    assert.equal(await terminal.ended(), 0, terminal.text());
    assert.doesNotMatch(terminal.text(), /thing|sesame/);
    const saved = readFileSync(profile, "utf8");
    assert.doesNotMatch(saved, /seed|sesame/);
    await using keys = bridleInTerminal(["approver", "keys", "--profile", profile]);
    await keys.answer("Passphrase of ", "open sesame");
    assert.equal(await keys.ended(), 0, keys.text());
    assert.match(keys.text(), /with a passphrase/);
    assert.doesNotMatch(keys.text(), /sesame/);
  });
});
