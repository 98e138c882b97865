/** From a code to a deployment that somebody signed for, and to a key that is lost: operator and approver, each by commands. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { ApprovalStage } from "../support/approvals.ts";
import { bridle, type Ended, errorLine, succeeded } from "../support/cli.ts";
import { type Json, until } from "../support/client.ts";
import { environment, main } from "../support/server.ts";

let stage: ApprovalStage;
let apiKey = "";

before(async () => {
  stage = await ApprovalStage.open();
  apiKey = (await stage.client.createKey({ scopes: ["harp:approver:ada"] })).key;
});
after(() => stage[Symbol.asyncDispose]());

function approver(device: string, ...args: string[]): Promise<Ended> {
  const profile = join(stage.directory, `${device}.json`);
  const env = { BRIDLE_API_KEY: undefined, BRIDLE_KEY: apiKey };
  return bridle(["approver", ...args, "--profile", profile], { env });
}

async function json(ended: Promise<Ended>): Promise<Json> {
  return JSON.parse(succeeded(await ended));
}

/** Begins `bridle pair` and gives what somebody would type on the other machine. */
async function beginPairing(
  args: string[],
): Promise<{ typed: string[]; operator: ChildProcess; output: string[] }> {
  const operator = spawn(process.execPath, [main, "pair", ...args, "--json", "--url", stage.server.url], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output: string[] = [];
  operator.stdout.setEncoding("utf8").on("data", (text) => output.push(text));
  for await (const line of createInterface({ input: operator.stderr })) {
    const command = / approver (pair \S+ --gateway \S+) --id/.exec(line)?.[1];
    // The rest of it is read too, or the process would wait for somebody to do so.
    if (command === undefined) continue;
    operator.stderr.resume();
    return { typed: command.split(" "), operator, output };
  }
  return assert.fail("it gave no code");
}

/** Ada pairs from a device that has keys already, with the operator at the other end. Gives what the server says then. */
async function pair(device: string, args: string[] = []): Promise<Json> {
  const { fingerprint } = await json(approver(device, "keys", "--create", "--json"));
  const { typed, operator, output } = await beginPairing(["--fingerprint", fingerprint, ...args]);
  const exited = once(operator, "exit");
  const paired = await json(approver(device, ...typed, "--id", "ada", "--json"));
  assert.equal(paired.fingerprint, fingerprint);
  assert.deepEqual(await exited, [0, null]);
  return JSON.parse(output.join(""));
}

/** The id of the one request that waits on a device, once it does. */
async function waiting(device: string): Promise<string> {
  const ended = await until(
    () => approver(device, "inbox", "--json"),
    ({ stdout }) => stdout.includes('"isOpened":true'),
  );
  const requests = ended.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const opened = requests.filter(({ isOpened }) => isOpened);
  assert.equal(opened.length, 1, ended.stdout);
  return opened[0].requestId;
}

describe("An approver from pairing to a lost device", () => {
  test("HARP-107 approvals count from paired devices but not from a lost one", async () => {
    // Given a server, when Ada pairs, approves, changes devices and loses one, then what she signs counts, and what the
    // lost one signs does not.
    const first = await pair("laptop", ["--label", "laptop", "--workspace", "airlock"]);
    assert.deepEqual([first.approver_id, first.label, first.state], ["ada", "laptop", "active"]);
    assert.match(errorLine(await approver("laptop", "keys", "--create"), 1), /there are keys already/);
    const persona = await stage.persona({ channel: "harp" });

    const task = await stage.task(persona);
    const requestId = await waiting("laptop");
    const shown = succeeded(await approver("laptop", "show", requestId.slice(0, -1)));
    assert.match(shown, new RegExp(`^Task {7}${task.id}$`, "m"));
    assert.match(shown, /^Risk {7}\w+$/m);
    assert.match(shown, /enforcerLabel: /);
    succeeded(await approver("laptop", "approve", requestId, "--yes"));
    assert.equal((await stage.ended(task)).status, "COMPLETED");
    assert.equal(stage.deploysOf(task), 1);

    const second = await pair("phone", ["--replaces", first.signer_key_id, "--overlap-hours", "1"]);
    assert.equal(second.state, "pending", "her laptop has to agree");
    const change = await waiting("laptop");
    assert.match(succeeded(await approver("laptop", "show", change)), new RegExp(second.fingerprint));
    succeeded(await approver("laptop", "approve", change, "--yes"));
    const states = async () => {
      const listed = await json(bridle(["approvers", "--json"], { server: stage.server }));
      return listed.map(({ signer_key_id, state }: Json) => [signer_key_id, state]);
    };
    await until(states, (listed) => !listed.flat().includes("pending"));
    assert.deepEqual(await states(), [
      [first.signer_key_id, "deprecated"],
      [second.signer_key_id, "active"],
    ]);

    succeeded(await bridle(["approvers", "revoke", first.fingerprint], { server: stage.server }));
    const next = await stage.task(persona);
    const asked = await waiting("phone");
    assert.match(succeeded(await approver("laptop", "inbox")), /closed {2}.*not sealed to this device/);
    assert.match(errorLine(await approver("laptop", "approve", asked, "--yes"), 1), /nothing is signed/);
    assert.match(
      succeeded(await approver("phone", "deny", asked, "--reason", "not today")),
      /Denied and signed/,
    );
    const denied = await stage.ended(next);
    assert.deepEqual([denied.status, stage.deploysOf(next)], ["FAILED", 0]);

    const audit = await bridle(["approvers", "audit", "--verify"], { server: stage.server });
    assert.match(succeeded(audit), /^\d+ records, each where it was written/);
  });
});
