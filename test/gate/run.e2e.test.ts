/** `bridle gate run` and `ask`, with a real server, gateway, approver and processes. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { bridle } from "../support/cli.ts";
import { type Json, until } from "../support/client.ts";
import { environment, main, startServer, temporaryDirectory } from "../support/server.ts";
import { GateStage } from "./gate-stage.ts";
import { holdingDoor } from "./holding-door.ts";

let world: GateStage;
before(async () => {
  world = await GateStage.open();
});
after(() => world[Symbol.asyncDispose]());

/** A program that leaves a line with what it saw. */
function tool(
  name: string,
  body = 'echo "$@" >> ran.txt; echo "secret=$SECRET region=$REGION other=$OTHER"; exit 3',
): string {
  const path = join(world.project, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

function runs(): string[] {
  const file = join(world.project, "ran.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
}

const lastGate = async () => (await world.stage.client.get("/v1/tasks?agent=gate&limit=1")).body.data[0];

test("GAT-4 an approved command runs with exactly its words, directory, environment and program", async () => {
  tool("deploy");
  const args = [
    "run",
    "--env",
    "SECRET",
    "REGION=eu",
    "--risk",
    "high",
    "--",
    "./deploy",
    "a b",
    "$(x)",
    "--file",
  ];
  const command = world.gate(args, { env: { SECRET: "hush-hush-value", OTHER: "not named" } });
  const request = await world.ann.asked("./deploy");
  const { payload } = request.artifact;
  const details = JSON.parse(String(payload.details));
  assert.equal(payload.risk, "high");
  assert.deepEqual(details.argv, ["./deploy", "a b", "$(x)", "--file"]);
  assert.equal(details.cwd, world.project);
  assert.deepEqual(details.env.REGION, { value: "eu" });
  assert.ok(!JSON.stringify(details).includes("hush-hush-value"));
  assert.match(details.program.sha256, /^[0-9a-f]{64}$/);
  const ended = await world.decided(command, "./deploy", "approve");
  assert.deepEqual(
    [ended.code, ended.stdout],
    [3, "secret=hush-hush-value region=eu other=\n"],
    ended.stderr,
  );
  assert.deepEqual(runs(), ["a b $(x) --file"]);
  const { id, receipt_id } = await world.stage.client.untilTask(
    (await lastGate()).id,
    ({ status }) => status === "COMPLETED",
  );
  const outcome = (await world.stage.client.get(`/v1/outcomes?task_id=${id}`)).body.data[0];
  const { run } = outcome.messages[0].parts.find((part: { type: string }) => part.type === "json").value;
  const hash = createHash("sha256").update(ended.stdout).digest("hex");
  assert.deepEqual([run.state, run.exit_code, run.stdout_sha256], ["ended", 3, hash]);
  const receipt = (await world.stage.client.get(`/v1/receipts/${receipt_id}`)).body;
  assert.equal(receipt.approvals[0].quorum_proof.harp.decisions.length, 1);
});

test("GAT-4 a file or program that changes after it was shown is not run", async () => {
  const before = runs().length;
  for (const changed of ["script.sh", "migrate.sql"]) {
    tool("script.sh");
    writeFileSync(join(world.project, "migrate.sql"), "select 1;\n");
    const command = world.gate(["run", "--", "./script.sh", `case-${changed}`, "--from=migrate.sql"]);
    await world.ann.asked(`case-${changed}`);
    writeFileSync(join(world.project, changed), "#!/bin/sh\necho evil >> ran.txt\n");
    const { code, stderr } = await world.decided(command, `case-${changed}`, "approve");
    assert.equal(code, 10, stderr);
    assert.match(stderr, new RegExp(`not run\\. .*${changed} was changed after it was asked about`));
  }
  assert.equal(runs().length, before);
});

test("GAT-5 a denial, time over, and a policy that denies run nothing, and say so", async () => {
  tool("deploy");
  const before = runs().length;
  const denied = await world.decided(
    world.gate(["run", "--", "./deploy", "refuse-me"]),
    "refuse-me",
    "deny",
    "not on Friday",
  );
  assert.deepEqual([denied.code, denied.stdout], [10, ""]);
  assert.match(denied.stderr, /not run\. .*not on Friday/);
  const late = await world.gate(["run", "--wait", "1s", "--", "./deploy", "late"]);
  assert.deepEqual([late.code, /Nobody decided in time/.test(late.stderr)], [11, true], late.stderr);
  await world.policy(
    "version: 1\nrules:\n  - { match: { argv: [./deploy] }, action: deny }\n  - { match: { argv: [echo] }, action: allow }\n",
  );
  const refused = await world.gate(["run", "--", "./deploy", "never"]);
  assert.deepEqual([refused.code, /policy denies it/.test(refused.stderr)], [10, true], refused.stderr);
  assert.equal(runs().length, before);
  const allowed = await world.gate(["run", "--", "echo", "hello"]);
  assert.deepEqual([allowed.code, allowed.stdout], [0, "hello\n"], allowed.stderr);
  writeFileSync(join(world.project, "bridle.gate.yaml"), "version: 1\nrules: 7\n");
  const broken = await world.gate(["run", "--", "echo", "hello"]);
  assert.deepEqual([broken.code, /rules.*Mend the policy/.test(broken.stderr)], [13, true], broken.stderr);
  await world.policy("version: 1\n");
});

test("GAT-5 without a server, a key, an approver or a signature nothing runs", async () => {
  tool("deploy");
  const before = runs().length;
  const away = await world.gate(["run", "--", "./deploy", "x"], {
    env: { BRIDLE_URL: "http://127.0.0.1:9" },
  });
  assert.deepEqual(
    [away.code, /Without its server the gate allows nothing/.test(away.stderr)],
    [13, true],
    away.stderr,
  );
  // The directory that is guarded does not say which server decides.
  const nowhere = await world.gate(["run", "--", "./deploy", "x"], { env: { BRIDLE_URL: undefined } });
  assert.deepEqual(
    [nowhere.code, /not known which server decides/.test(nowhere.stderr)],
    [13, true],
    nowhere.stderr,
  );
  const stranger = await world.gate(["run", "--", "./deploy", "x"], { env: { BRIDLE_KEY: "wrong-key" } });
  assert.deepEqual([stranger.code, /scopes/.test(stranger.stderr)], [13, true], stranger.stderr);
  // An administrator answers over the API, where the persona wants no signature.
  const { client } = world.stage;
  const persona = "persona_gate";
  const loose = await client.call(`/v1/personas/${persona}`, {
    method: "PATCH",
    body: { approval_policy: { channel: "any" } },
  });
  if (loose.status === 200 && loose.body.approval_policy?.channel === "any") {
    const unsigned = await world.gate(["run", "--", "./deploy", "x"]);
    assert.deepEqual(
      [unsigned.code, /answers without a signature/.test(unsigned.stderr)],
      [13, true],
      unsigned.stderr,
    );
    await client.call(`/v1/personas/${persona}`, {
      method: "PATCH",
      body: { approval_policy: { channel: "harp" } },
    });
  }
  await using directory = await temporaryDirectory();
  await using alone = await startServer({ data: join(directory.path, "data") });
  const lonely = await bridle(["gate", "run", "--", "./deploy", "x"], {
    cwd: world.project,
    env: { ...world.env, BRIDLE_KEY: undefined, BRIDLE_URL: alone.url },
  });
  assert.deepEqual([lonely.code, /bridle pair/.test(lonely.stderr)], [12, true], lonely.stderr);
  assert.equal(runs().length, before);
});

/** A gate in a process of its own, that can be killed; `url`: it reaches the server through there. */
function gateProcess(words: string[], url: string = world.stage.server.url): ChildProcess {
  return spawn(process.execPath, [main, "gate", "run", "--", ...words], {
    cwd: world.project,
    env: { ...environment, ...world.env, BRIDLE_URL: url },
    stdio: "ignore",
  });
}

async function kill(gate: ChildProcess): Promise<void> {
  gate.kill("SIGKILL");
  await once(gate, "exit");
}

/** What a gate says of those before it that died. */
async function saidByTheNext(url: string = world.stage.server.url): Promise<string> {
  return (await world.gate(["log"], { env: { BRIDLE_URL: url } })).stderr;
}

async function runOf(taskId: string): Promise<Json> {
  const { client } = world.stage;
  const { outcome_id } = await client.untilTask(taskId, ({ status }) => status === "COMPLETED");
  const { messages } = (await client.get(`/v1/outcomes/${outcome_id}`)).body;
  return messages[0].parts.find((part: { type: string }) => part.type === "json").value.run;
}

test("GAT-8 gate run uses a standing permission for its words, and asks where more is bound", async () => {
  // Given a permission of two uses, when the gate runs such a command twice, then nobody is asked; with a variable or for
  // a third time, somebody is.
  tool("ship");
  const asking = world.gate(["permit", "--uses", "2", "--json", "--", "./ship", "it"]);
  await world.approveOffered("2 times until");
  assert.equal((await asking).code, 0);
  const before = runs().length;
  const bound = world.gate(["run", "--env", "REGION=eu", "--", "./ship", "it", "bound"]);
  assert.equal((await world.decided(bound, "./ship", "deny")).code, 10);
  for (const word of ["first", "second"]) {
    assert.equal((await world.gate(["run", "--", "./ship", "it", word])).code, 3);
  }
  const third = world.gate(["run", "--", "./ship", "it", "third"]);
  assert.equal((await world.decided(third, "./ship", "deny")).code, 10);
  assert.deepEqual(runs().slice(before), ["it first", "it second"]);
});

test("GAT-6 a gate that is killed while it runs does not run it again, and the next one says so", async () => {
  tool("slow", "echo $$ > pid.txt; echo began >> ran.txt; exec sleep 600");
  const before = runs().length;
  const running = gateProcess(["./slow", "thing"]);
  await world.ann.decide("./slow", "approve");
  await until(
    async () => runs().length,
    (count) => count > before,
  );
  const { id } = await lastGate();
  await kill(running);
  // The command itself is not the gate's to end.
  process.kill(Number(readFileSync(join(world.project, "pid.txt"), "utf8")));
  assert.match(await saidByTheNext(), /\.\/slow thing was started, and nobody knows .*not run again/);
  assert.equal((await runOf(id)).state, "unknown");
  assert.equal(runs().length, before + 1);
});

test("GAT-6 a gate that is killed before it starts anything runs nothing, and the next one says so", async () => {
  tool("slow", "echo began >> ran.txt");
  const before = runs().length;
  const stopped = gateProcess(["./slow", "stopped"]);
  await world.ann.asked("stopped");
  stopped.kill("SIGSTOP");
  await world.ann.decide("stopped", "approve");
  const { id } = await lastGate();
  await world.stage.client.untilTask(id, ({ status }) => status === "INPUT_REQUIRED");
  await kill(stopped);
  assert.match(await saidByTheNext(), /\.\/slow stopped was approved and never started/);
  assert.equal((await runOf(id)).state, "refused");
  assert.equal(runs().length, before);
});

test("GAT-6 a gate that is killed when the server knows that it starts is not started again", async () => {
  tool("slow", "echo began >> ran.txt");
  const before = runs().length;
  await using door = await holdingDoor(world.stage.server.url, "/messages");
  const starting = gateProcess(["./slow", "starting"], door.url);
  await world.ann.decide("starting", "approve");
  await door.held;
  await kill(starting);
  const { id } = await lastGate();
  assert.match(await saidByTheNext(door.url), /\.\/slow starting was started, and nobody knows/);
  assert.equal((await runOf(id)).state, "unknown");
  assert.equal(runs().length, before);
});

test("GAT-6 what a killed gate waited for is withdrawn", async () => {
  const waiting = gateProcess(["./slow", "orphan"]);
  await world.ann.asked("orphan");
  const { id } = await lastGate();
  await kill(waiting);
  assert.match(await saidByTheNext(), /\.\/slow orphan was never approved.*withdrawn/);
  await world.stage.client.untilTask(id, ({ status }) => status === "CANCELED");
});

test("GAT-12 the log says what became of everything, and a proof verifies without a server", async () => {
  tool("deploy", "echo done");
  const ran = await world.decided(world.gate(["run", "--", "./deploy", "for-proof"]), "for-proof", "approve");
  assert.equal(ran.code, 0, ran.stderr);
  const log = (await world.gate(["log", "--json", "--limit", "3"])).stdout.trimEnd().split("\n");
  const [newest] = log.map((line) => JSON.parse(line));
  assert.partialDeepStrictEqual(newest, {
    verdict: "approved",
    by: "approver",
    run: { state: "ended", exit_code: 0 },
  });
  assert.match((await world.gate(["log"])).stdout, /approved.*exit 0.*run \.\/deploy for-proof/);
  const file = join(world.project, "proof.json");
  const exported = await world.gate(["proof", newest.task_id, "--out", file]);
  assert.equal(exported.code, 0, exported.stderr);
  const nowhere = { env: { BRIDLE_URL: "http://127.0.0.1:9" } };
  const good = await world.gate(["verify", file], nowhere);
  assert.equal(good.code, 0, good.stdout + good.stderr);
  assert.match(good.stdout, /ann.*\n.*\.\/deploy for-proof/s);
  const changes: [string, (copy: Json) => void][] = [
    ["what was shown", (copy) => (copy.approval.artifacts[0].payload.action = "something nice")],
    ["what was asked", (copy) => (copy.record = copy.record.replace("for-proof", "for-force"))],
    ["what came of it", (copy) => (copy.record = copy.record.replace('"exit_code":0', '"exit_code":1'))],
    [
      "who signed",
      (copy) => (copy.approval.proof.decisions[0].publicKey = "NLTZBDFWy23PC-sKKUm3VZyUDSvLbb6MU6mzAnjjp0Y"),
    ],
    ["the receipt", (copy) => (copy.receipt.subject.id = "task_other")],
  ];
  for (const [what, change] of changes) {
    const copy = JSON.parse(readFileSync(file, "utf8"));
    change(copy);
    const other = join(world.project, "changed.json");
    writeFileSync(other, JSON.stringify(copy));
    assert.equal((await world.gate(["verify", other], nowhere)).code, 1, what);
  }
});

test("GAT-12 receipts are exported with what was signed, and a changed artifact is noticed", async () => {
  const yes = await world.decided(world.gate(["ask", "--action", "publish 1.0"]), "publish 1.0", "approve");
  assert.equal(yes.code, 0, yes.stderr);
  const out = join(world.project, "receipts.jsonl");
  const args = ["export", "--workspace", "workspace_default", "--out", out, "--with-artifacts"];
  const exported = await bridle(["receipt", ...args, "--json"], {
    env: { ...world.env, BRIDLE_KEY: undefined },
  });
  const { artifacts } = JSON.parse(exported.stdout);
  assert.ok(artifacts > 0);
  const file = `${out}.artifacts.jsonl`;
  const verify = () => bridle(["receipt", "verify", out, "--json"], { env: world.env });
  const good = await verify();
  assert.equal(good.code, 0, good.stderr);
  const { signed, found } = JSON.parse(good.stdout).artifacts;
  assert.ok(signed >= artifacts && signed === found, good.stdout);
  const before = readFileSync(file, "utf8");
  assert.ok(before.includes("publish 1.0"));
  writeFileSync(file, before.replaceAll("publish 1.0", "publish 2.0"));
  const changed = await verify();
  assert.equal(changed.code, 1, changed.stdout);
});

test("GAT-7 a script learns the answer by the exit code and has the proof", async () => {
  writeFileSync(join(world.project, "payload.json"), JSON.stringify({ order: "A-1", cents: 1.5 }));
  const args = ["ask", "--action", "refund A-1", "--payload", "payload.json", "--risk", "high"];
  const yes = await world.decided(world.gate(args), "refund A-1", "approve");
  assert.equal(yes.code, 0, yes.stderr);
  const proof = JSON.parse(yes.stdout);
  assert.deepEqual(proof.request.details, { order: "A-1", cents: 1.5 });
  assert.equal(proof.proof.decisions[0].approverId, "ann");
  assert.equal(proof.artifacts[0].artifactHash, proof.proof.decisions[0].decision.artifactHash);
  const no = await world.decided(world.gate(args), "refund A-1", "deny");
  assert.deepEqual([no.code, no.stdout], [10, ""]);
});
