/** The commands beside `serve`, as people and scripts use them: what they print, where, and with which exit code. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  assertNoStack,
  bridle,
  type Ended,
  errorLine,
  errorLines,
  fixtureAgents,
  runNode,
  succeeded,
} from "./support/cli.ts";
import { Client, isFinal, type Json } from "./support/client.ts";
import { environment, main, startProcess, startServer, temporaryDirectory } from "./support/server.ts";
import { startTravel, type Travel } from "./support/travel.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const travelAgents = fixtureAgents("travel.ts");
/** A port on which nothing listens: it is reserved, and asks for rights that tests do not have. */
const nowhere = "http://127.0.0.1:1";
/** Most of the time goes into starting commands, which have nothing to do with each other. */
const concurrency = 3;

type Place = { path: string } & AsyncDisposable;

async function readReceipt(client: Client, receiptId: string, accept: string): Promise<Buffer> {
  const response = await fetch(`${client.url}/v1/receipts/${receiptId}`, {
    headers: client.headers({ accept }),
  });
  assert.equal(response.status, 200);
  return Buffer.from(await response.arrayBuffer());
}

/** Keys that look like an issuer's and are somebody else's, under the same ids. */
function otherKeys(jwks: Json): Json {
  const { x } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  return { keys: jwks.keys.map((key: Json) => ({ ...key, x })) };
}

describe("bridle receipt verify, for one receipt", { concurrency }, () => {
  let place: Place;
  let files = 0;
  let receipt: Json;
  let cbor: Buffer;
  let jwks: Json;
  let keys = "";

  // The server is gone by the time anything is verified.
  before(async () => {
    place = await temporaryDirectory();
    await using travel = await startTravel();
    const session = await travel.client.createSession();
    const task = await travel.complete(session.id, "artifact approve");
    receipt = (await travel.client.get(`/v1/receipts/${task.receipt_id}`)).body;
    cbor = await readReceipt(travel.client, task.receipt_id, "application/vnd.harn.receipt+cbor");
    jwks = (await travel.client.get("/.well-known/jwks.json")).body;
    keys = await file("jwks.json", JSON.stringify(jwks));
  });
  after(() => place[Symbol.asyncDispose]());

  /** Each in a directory of its own: the tests run beside each other. */
  async function file(name: string, content: string | Uint8Array): Promise<string> {
    files += 1;
    const path = join(place.path, String(files), name);
    await mkdir(dirname(path));
    await writeFile(path, content);
    return path;
  }

  const verify = (path: string, jwksFile = keys) => bridle(["receipt", "verify", path, "--jwks", jwksFile]);

  /** Each check that was printed, by its name: whether it passed, failed or was not made. */
  function checksOf({ stdout }: Ended): Record<string, string> {
    const lines = stdout.matchAll(/^(ok {2}|FAIL|- {3}) (\S+) +\S/gm);
    return Object.fromEntries([...lines].map(([, mark = "", name]) => [name, mark.trim()]));
  }

  function assertInvalid(ended: Ended, path: string, failed: string): void {
    assert.equal(ended.code, 1, ended.stdout + ended.stderr);
    assert.equal(ended.stderr, "");
    assert.equal(checksOf(ended)[failed], "FAIL", ended.stdout);
    const last = ended.stdout.trimEnd().split("\n").at(-1) ?? "";
    assert.ok(last.startsWith(`${path} is NOT valid: `), last);
  }

  test("CLI-1 verifying a receipt offline prints every check by name and exits with 0", async () => {
    // Given a receipt and its issuer's keys, when it is verified without a server, then every check is printed by name
    // and the exit code is 0.
    const path = await file("receipt.json", JSON.stringify(receipt));
    const ended = await verify(path);
    assert.match(succeeded(ended), new RegExp(`^${path} is valid\\.$`, "m"));
    assert.equal(ended.stderr, "");
    assert.deepEqual(checksOf(ended), {
      schema: "ok",
      hash: "ok",
      chain_link: "-",
      merkle_root: "-",
      "signature[0]": "ok",
      signatures: "ok",
      issuer_key: "ok",
    });
  });

  test("CLI-1 a receipt with other key order and white space is valid", async () => {
    // Given a receipt in other key order and white space, when it is verified, then it is valid.
    const reversed = (value: Json): Json =>
      Array.isArray(value)
        ? value.map(reversed)
        : typeof value === "object" && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([name, member]) => [name, reversed(member)]),
            )
          : value;
    const text = JSON.stringify(reversed(receipt), null, "\t").replaceAll("\n", "\r\n");
    assert.notEqual(Object.keys(JSON.parse(text))[0], Object.keys(receipt)[0]);
    succeeded(await verify(await file("reversed.json", `\n  ${text}\n\n`)));
  });

  test("CLI-1 given a receipt as CBOR, when it is verified, then it is valid", async () => {
    succeeded(await verify(await file("receipt.cbor", cbor)));
  });

  test("CLI-1 verifying a receipt without keys is a usage error that asks for --jwks", async () => {
    // Given a receipt and no keys, when it is verified, then it is said that --jwks is needed, as wrong use.
    const path = await file("receipt.json", JSON.stringify(receipt));
    assert.match(errorLine(await bridle(["receipt", "verify", path]), 2), /--jwks/);
  });

  const tampered: { what: string; change: (receipt: Json) => void; failed: string }[] = [
    {
      what: "the cost",
      change: (r) => {
        r.cost.total += 1;
      },
      failed: "hash",
    },
    {
      what: "the time of issue",
      change: (r) => {
        r.issued_at = "2020-01-01T00:00:00.000Z";
      },
      failed: "hash",
    },
    {
      what: "the receipt before it",
      change: (r) => {
        r.chain.previous_receipt_hash = `sha256:${"0".repeat(64)}`;
      },
      failed: "hash",
    },
    {
      what: "the hash itself",
      change: (r) => {
        r.chain.receipt_hash = `sha256:${"0".repeat(64)}`;
      },
      failed: "hash",
    },
    {
      what: "the signature",
      change: (r) => {
        r.signatures[0].signature = `base64:${Buffer.alloc(64, 7).toString("base64")}`;
      },
      failed: "signature[0]",
    },
    {
      what: "the signatures, all taken away",
      change: (r) => {
        r.signatures = [];
      },
      failed: "signatures",
    },
    {
      what: "a field that is not in the schema",
      change: (r) => {
        r.note = "trust me";
      },
      failed: "schema",
    },
    { what: "a field that is missing", change: (r) => delete r.lifecycle, failed: "schema" },
  ];

  for (const { what, change, failed } of tampered) {
    test(`CLI-1 a changed receipt (${what}) prints FAIL for the check that finds it and exits with 1`, async () => {
      // Given a receipt that was changed, ${what}, when it is verified, then the check that finds it says FAIL and the
      // exit code is 1.
      const copy = structuredClone(receipt);
      change(copy);
      const path = await file("tampered.json", JSON.stringify(copy));
      assertInvalid(await verify(path), path, failed);
    });
  }

  test("CLI-1 somebody else's keys under the same ids fail the signature and exit with 1", async () => {
    // Given the keys of somebody else under the same ids, when a receipt is verified, then its signature fails and the
    // exit code is 1.
    const path = await file("receipt.json", JSON.stringify(receipt));
    const others = await file("others.json", JSON.stringify(otherKeys(jwks)));
    assertInvalid(await verify(path, others), path, "signature[0]");
  });

  test("CLI-1 a JSON file that is no receipt fails the schema check and exits with 1", async () => {
    // Given JSON that is no receipt, when it is verified, then the schema fails and the exit code is 1.
    for (const [index, text] of ["{}", "[]", "null", "42", '"receipt"'].entries()) {
      const path = await file(`other-${index}.json`, text);
      assertInvalid(await verify(path), path, "schema");
    }
  });

  const broken: { what: string; name: string; content: () => string | Uint8Array }[] = [
    { what: "an empty file", name: "empty.json", content: () => "" },
    {
      what: "a receipt that was cut off",
      name: "cut.json",
      content: () => JSON.stringify(receipt).slice(0, 500),
    },
    { what: "a CBOR receipt that was cut off", name: "cut.cbor", content: () => cbor.subarray(0, 100) },
    {
      what: "a CBOR receipt with something after it",
      name: "long.cbor",
      content: () => Buffer.concat([cbor, cbor]),
    },
    { what: "bytes that are no text", name: "bytes", content: () => Buffer.alloc(300, 0xff) },
    {
      what: "bytes that look like CBOR",
      name: "cborish",
      content: () => Buffer.from([0xa5, 0x61, 0x62, 0xff, 0x00]),
    },
    { what: "a letter", name: "letter.txt", content: () => "Dear Sir or Madam,\n\nall is well.\n" },
    { what: "text that would drive a terminal", name: "escape.txt", content: () => "\x1b[2J\x07\nfoo\n" },
    {
      what: "a receipt in which a name comes twice",
      name: "twice.json",
      content: () => JSON.stringify(receipt).replace("{", '{"issued_at":"2020-01-01T00:00:00.000Z",'),
    },
  ];

  for (const { what, name, content } of broken) {
    test(`CLI-1 verifying ${what} prints one line with the file and the problem and exits with 1`, async () => {
      // Given ${what}, when it is verified, then one line names the file and says what is wrong, and the exit code is 1.
      const line = errorLine(await verify(await file(name, content())), 1);
      assert.ok(line.includes(name), line);
    });
  }

  test("CLI-1 verifying unreadable files names them in one line and exits with 1", async () => {
    // Given files that cannot be read, when they are verified, then one line names them and the exit code is 1.
    const path = await file("receipt.json", JSON.stringify(receipt));
    const missing = join(place.path, "missing.json");
    const directory = join(place.path, "directory");
    await mkdir(directory, { recursive: true });
    for (const [receiptFile, keysFile, named] of [
      [missing, keys, "missing.json"],
      [directory, keys, "directory"],
      [path, missing, "missing.json"],
      [path, await file("keys-letter.txt", "Dear Sir,\n"), "keys-letter.txt"],
      [path, await file("no-keys.json", '{"keys":[]}'), "no-keys.json"],
      [path, path, "receipt.json"],
    ] as const) {
      const line = errorLine(await verify(receiptFile, keysFile), 1);
      assert.ok(line.includes(named), line);
    }
  });
});

describe("bridle receipt export, and verify for a bundle", () => {
  const workspace = "workspace_default";
  let place: Place;
  let travel: Travel;
  /** The lines of a bundle of five receipts: header, keys, receipts. */
  let bundle: string[] = [];
  let jwks: Json;

  before(async () => {
    [place, travel] = await Promise.all([temporaryDirectory(), startTravel()]);
    const session = await travel.client.createSession();
    for (const words of ["plain", "artifact", "child", "fail"]) await travel.complete(session.id, words);
    jwks = (await travel.client.get("/.well-known/jwks.json")).body;
    const ended = await bridle(["receipt", "export", "--workspace", workspace], { server: travel.server });
    bundle = succeeded(ended).trimEnd().split("\n");
    assert.equal(bundle.length, 7);
  });
  after(() => Promise.all([place[Symbol.asyncDispose](), travel[Symbol.asyncDispose]()]));

  const exportTo = (out: string, id = workspace) =>
    bridle(["receipt", "export", "--workspace", id, "--out", out], { server: travel.server });

  async function file(name: string, content: string): Promise<string> {
    const path = join(place.path, name);
    await writeFile(path, content);
    return path;
  }

  async function verifyLines(lines: string[], ...flags: string[]): Promise<Ended> {
    return await bridle(["receipt", "verify", await file("bundle.jsonl", `${lines.join("\n")}\n`), ...flags]);
  }

  test("CLI-2 an exported bundle verifies offline and says that the keys are its own", async () => {
    // Given a workspace with receipts, when they are exported to a file, then it verifies alone, without a server and
    // without keys, and it is said that the keys are its own.
    const path = join(place.path, "exported.jsonl");
    const exported = await exportTo(path);
    assert.equal(succeeded(exported), "");
    assert.equal(exported.stderr, `5 receipts of ${workspace} in ${path}.\n`);
    assert.deepEqual(
      (await readdir(place.path)).filter((name) => name.includes(".part")),
      [],
    );
    const ended = await bridle(["receipt", "verify", path]);
    const { merkle_root } = JSON.parse(bundle[0] ?? "");
    assert.match(succeeded(ended), new RegExp(`^5 receipts, Merkle root ${merkle_root}$`, "m"));
    assert.match(ended.stdout, new RegExp(`^${path} is valid\\.$`, "m"));
    assert.match(ended.stdout, /--jwks/);
    assert.equal(ended.stderr, "");
  });

  test("CLI-2 an export to standard output writes only the bundle there, and one line to stderr", async () => {
    // Given a workspace with receipts, when they are exported to standard output, then that holds the bundle and nothing
    // else, and standard error one line.
    const ended = await bridle(["receipt", "export", "--workspace", workspace], { server: travel.server });
    const lines = succeeded(ended).split("\n");
    assert.equal(lines.pop(), "");
    assert.deepEqual(lines.slice(1), bundle.slice(1));
    assert.deepEqual(
      lines.slice(2).map((line) => JSON.parse(line).chain.receipt_hash),
      bundle.slice(2).map((line) => JSON.parse(line).chain.receipt_hash),
    );
    assert.equal(ended.stderr, `5 receipts of ${workspace}.\n`);
  });

  test("CLI-2 a bundle verified with the issuer's keys is valid, with no word about its own keys", async () => {
    // Given a bundle and the issuer's keys, when it is verified with them, then it is valid, and nothing is said about
    // the bundle's own.
    const keys = await file("jwks.json", JSON.stringify(jwks));
    const { stdout, code } = await verifyLines(bundle, "--jwks", keys);
    assert.equal(code, 0, stdout);
    assert.doesNotMatch(stdout, /--jwks/);
  });

  test("CLI-2 a bundle verified with somebody else's keys fails for every receipt", async () => {
    // Given a bundle and the keys of somebody else, when it is verified with them, then every receipt fails, whatever
    // keys are in the bundle.
    const keys = await file("others.json", JSON.stringify(otherKeys(jwks)));
    const { stdout, code } = await verifyLines(bundle, "--jwks", keys);
    assert.equal(code, 1);
    assert.equal([...stdout.matchAll(/^FAIL line \d+ receipt_/gm)].length, 5, stdout);
    assert.match(stdout, /is NOT valid\.$/m);
  });

  const forged: { what: string; change: (lines: string[]) => string[]; found: RegExp }[] = [
    { what: "the first receipt removed", change: (lines) => lines.toSpliced(2, 1), found: /^FAIL line 3 / },
    {
      what: "a receipt in the middle removed",
      change: (lines) => lines.toSpliced(4, 1),
      found: /^FAIL line 5 /,
    },
    {
      what: "the last receipt removed",
      change: (lines) => lines.slice(0, -1),
      found: /^FAIL line 1\b.*5.*4/,
    },
    {
      what: "the last receipt removed and the count corrected",
      change: ([header = "", ...rest]) => [header.replace('"count":5', '"count":4'), ...rest.slice(0, -1)],
      found: /^FAIL line 1\b.*Merkle/,
    },
    {
      what: "two receipts swapped",
      change: (lines) => lines.toSpliced(3, 2, lines[4] ?? "", lines[3] ?? ""),
      found: /^FAIL line 4 /,
    },
    {
      what: "a receipt duplicated",
      change: (lines) => lines.toSpliced(4, 0, lines[3] ?? ""),
      found: /^FAIL line 5 /,
    },
    {
      what: "a receipt changed",
      change: (lines) => lines.with(5, (lines[5] ?? "").replace('"total":0', '"total":1')),
      found: /^FAIL line 6 receipt_.*hash/,
    },
    {
      what: "a receipt that is no longer JSON",
      change: (lines) => lines.with(5, `${lines[5]}}`),
      found: /^FAIL line 6\b.*JSON/,
    },
    {
      what: "the end cut off within a receipt",
      change: (lines) => lines.with(6, (lines[6] ?? "").slice(0, 700)),
      found: /^FAIL line 7\b.*JSON/,
    },
    { what: "the keys removed", change: (lines) => lines.toSpliced(1, 1), found: /^FAIL line 2\b.*key set/ },
    {
      what: "everything but the header removed",
      change: ([header = ""]) => [header],
      found: /^FAIL line 2\b/,
    },
    {
      what: "an empty line put in",
      change: (lines) => lines.toSpliced(4, 0, ""),
      found: /^FAIL line 5: .*empty/,
    },
  ];

  for (const { what, change, found } of forged) {
    test(`CLI-2 verifying a bundle with ${what} names the line and exits with 1`, async () => {
      // Given a bundle with ${what}, when it is verified, then the line is named and the exit code is 1.
      const lines = change(bundle);
      assert.notDeepEqual(lines, bundle);
      const { code, stdout, stderr } = await verifyLines(lines);
      assert.equal(code, 1, stdout);
      assert.equal(stderr, "");
      const failures = stdout.split("\n").filter((line) => line.startsWith("FAIL"));
      assert.ok(
        failures.some((line) => found.test(line)),
        stdout,
      );
      assert.match(stdout, /is NOT valid\.$/m);
    });
  }

  test("CLI-2 verifying a bundle with bytes that are no text names the file and exits with 1", async () => {
    // Given a bundle with bytes that are no text, when it is verified, then one line says so, naming the file, and the
    // exit code is 1.
    const path = join(place.path, "bytes.jsonl");
    await writeFile(path, Buffer.concat([Buffer.from(`${bundle[0]}\n`), Buffer.alloc(100, 0xff)]));
    const line = errorLine(await bridle(["receipt", "verify", path]), 1);
    assert.match(line, /bytes\.jsonl/);
  });

  test("CLI-2 the bundle of a workspace without receipts says so and verifies", async () => {
    // Given a workspace without receipts, when they are exported, then the bundle says that there are none, and
    // verifies.
    const { body } = await travel.client.post("/v1/workspaces", { name: "Empty", root: "/empty" });
    const path = join(place.path, "empty.jsonl");
    const exported = await exportTo(path, body.id);
    assert.equal(succeeded(exported), "");
    assert.equal(exported.stderr, `0 receipts of ${body.id} in ${path}.\n`);
    assert.match(succeeded(await bridle(["receipt", "verify", path])), /^0 receipts/m);
  });

  test("CLI-2 exporting an unknown workspace exits with 1 and leaves the existing file unchanged", async () => {
    // Given a workspace that is not there, when its receipts are exported over a file, then one line says so, the exit
    // code is 1 and the file is as it was.
    const path = await file("kept.jsonl", "precious\n");
    assert.match(errorLine(await exportTo(path, "workspace_nowhere"), 1), /workspace_nowhere/);
    assert.equal(await readFile(path, "utf8"), "precious\n");
    assert.equal(existsSync(`${path}.part`), false);
  });

  test("CLI-2 an export to an unwritable place names it in one line and exits with 1", async () => {
    // Given a place that cannot be written to, when receipts, a session or a fixture are exported there, then one line
    // names it and the exit code is 1.
    const { body } = await travel.client.get("/v1/tasks?limit=1");
    const [task] = body.data;
    const path = join(place.path, "no", "such", "directory", "file.jsonl");
    for (const args of [
      ["receipt", "export", "--workspace", workspace, "--out", path],
      ["export", task.session_id, "--out", path],
      ["replay", task.id, "--fixture", path],
    ]) {
      assert.ok(errorLine(await bridle(args, { server: travel.server }), 1).includes(path));
    }
  });

  test("CLI-2 a long export reports progress on stderr and keeps standard output the bundle", async () => {
    // Given an export that takes long, when it runs, then standard error says how far it is, and standard output stays
    // the bundle.
    // A server that sends one receipt after the other until it has been said how far it is.
    const child: { stderr: string } = { stderr: "" };
    const slow = createServer(async (_request, response) => {
      response.writeHead(200, { "content-type": "application/jsonl" });
      for (const line of bundle.slice(0, 2)) response.write(`${line}\n`);
      while (!child.stderr.includes("receipts exported:") && !response.destroyed) {
        response.write(`${bundle[2]}\n`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      response.end();
    });
    await once(slow.listen(0, "127.0.0.1"), "listening");
    try {
      const { port } = Object(slow.address());
      const exporting = spawn(process.execPath, [main, "receipt", "export", "--workspace", workspace], {
        env: { ...environment, BRIDLE_URL: `http://127.0.0.1:${port}` },
        stdio: ["ignore", "pipe", "pipe"],
        timeout: 60_000,
      });
      exporting.stderr.setEncoding("utf8").on("data", (text) => {
        child.stderr += text;
      });
      const stdout = (await exporting.stdout.setEncoding("utf8").toArray()).join("");
      if (exporting.exitCode === null) await once(exporting, "exit");
      assert.equal(exporting.exitCode, 0, child.stderr);
      assert.match(child.stderr, /^receipts exported: \d+ of 5\n\d+ receipts of workspace_default\.\n$/);
      for (const line of stdout.trimEnd().split("\n")) assert.ok(bundle.includes(line), line);
    } finally {
      await once(slow.close(), "close");
    }
  });

  test("CLI-2 an export to a reader that goes away ends without a stack trace", async () => {
    // Given a reader that goes away, as head does, when a bundle is written to it, then the command ends without a stack
    // trace.
    const session = await travel.client.createSession();
    await travel.complete(session.id, "huge");
    const exporting = spawn(process.execPath, [main, "export", session.id], {
      env: { ...environment, BRIDLE_URL: travel.server.url },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 60_000,
    });
    exporting.stdout.once("data", () => exporting.stdout.destroy());
    const ended = once(exporting, "exit");
    const stderr = (await exporting.stderr.setEncoding("utf8").toArray()).join("");
    const [, signal] = await ended;
    assert.equal(signal, null, "it ended by itself");
    assertNoStack({ code: exporting.exitCode, stdout: "", stderr });
  });

  test("RCP-20 bridle receipt request prints the receipt of a part of a task", async () => {
    const { subject } = JSON.parse(bundle.at(-1) ?? "");
    const id = subject.id.replace(/^task_/, "outcome_");
    const ended = await bridle(["receipt", "request", "outcome", id], { server: travel.server });
    assert.deepEqual(JSON.parse(succeeded(ended)).subject, { object: "outcome", id });
  });
});

describe("bridle replay", () => {
  let travel: Travel;
  let sessionId = "";

  before(async () => {
    travel = await startTravel();
    sessionId = (await travel.client.createSession()).id;
  });
  after(() => travel[Symbol.asyncDispose]());

  const replay = (...args: string[]) => bridle(["replay", ...args], { server: travel.server });

  /** The rows of the side-by-side, by step: the mark, and what stands left and right. */
  function rowsOf({ stdout }: Ended): Record<string, [string, string, string]> {
    const [head = ""] = stdout.split("\n");
    const [left, right] = [head.indexOf("source "), head.indexOf("replay ")];
    assert.ok(left > 0 && right > left, stdout);
    const rows = stdout
      .split("\n")
      .slice(1)
      .filter((line) => /^[=≠+ -] \S/.test(line))
      .map((line) => {
        const cells = [line.slice(left, right).trim(), line.slice(right).trim()] as const;
        return [line.slice(2, left).trim(), [line.slice(0, 1), ...cells]] as const;
      });
    return Object.fromEntries(rows.map(([step, row]) => [step, [...row]]));
  }

  test("CLI-3 replaying a completed task names replay and receipt, calls nothing and exits with 0", async () => {
    // Given a task that ended, when it is replayed, then its replay and receipt are named, nothing was called, and the
    // exit code is 0.
    const task = await travel.complete(sessionId, "large artifact stream child ask approve");
    const notes = travel.notes();
    const [, id, receipt] =
      /^(task_\w+) is COMPLETED, receipt (receipt_\w+)\.\n$/.exec(succeeded(await replay(task.id))) ?? [];
    assert.deepEqual(travel.notes(), notes);
    const { body } = await travel.client.get(`/v1/tasks/${id}`);
    assert.deepEqual([body.replay.source_task_id, body.receipt_id], [task.id, receipt]);
  });

  test("CLI-3 replaying a failed task repeats the failure and exits with 1", async () => {
    // Given a task that failed, when it is replayed, then the failure is told again, and the exit code is 1.
    const task = await travel.complete(sessionId, "fail");
    const { code, stdout } = await replay(task.id);
    assert.equal(code, 1);
    assert.match(stdout, /is FAILED, receipt receipt_\w+\.\nsold_out: No seats left\.\n$/);
  });

  test("CLI-3 the diff of an exact replay shows every step and output as the same", async () => {
    // Given an exact replay, when the two runs are shown side by side, then every step and output is there and the same.
    const task = await travel.complete(sessionId, "artifact ask approve");
    const ended = await replay(task.id, "--diff");
    assert.match(succeeded(ended), new RegExp(`source ${task.id} +replay task_`));
    const rows = rowsOf(ended);
    assert.deepEqual(Object.keys(rows), [
      "step:search:1",
      "llm:choose:1",
      "checkpoint:planned:1",
      "say:1",
      "artifact:1",
      "ask:1",
      "approve:1",
      "step:book:1",
      "result",
      "ended",
      "cost",
      "tokens",
    ]);
    assert.deepEqual(rows["step:search:1"], ["=", '{"price":120}', '{"price":120}']);
    assert.deepEqual(rows.ended, [" ", "SUCCEEDED", "SUCCEEDED"]);
    assert.deepEqual(rows.cost, [" ", "0 USD", "0 USD"]);
    assert.deepEqual(rows["approve:1"], ["=", "approved", "approved"]);
    for (const [step, [mark, left, right]] of Object.entries(rows)) {
      assert.ok(["=", " "].includes(mark), step);
      assert.equal(left, right, step);
    }
    assert.match(ended.stdout, /^The two runs are the same\.$/m);
  });

  test("CLI-3 the diff of a replay with another value marks same, different, missing and added", async () => {
    // Given a replay with another value, when the two runs are shown side by side, then what is the same, different,
    // missing and added is marked as such.
    const task = await travel.complete(sessionId, "bargain");
    const ended = await replay(task.id, "--diff", "--override", 'step:search:1={"price":80}');
    succeeded(ended);
    const rows = rowsOf(ended);
    assert.deepEqual(rows["step:search:1"], ["≠", '{"price":120}', '{"price":80}']);
    assert.deepEqual(rows["llm:choose:1"]?.[0], "=");
    assert.deepEqual(rows["say:1"], ["≠", "The early train. It costs 120.", "The early train. It costs 80."]);
    assert.deepEqual(rows["step:haggle:1"], ["-", '"no luck"', ""]);
    assert.deepEqual(rows["artifact:1"]?.slice(0, 2), ["+", ""]);
    assert.match(rows["artifact:1"]?.[2] ?? "", /^bargain\.txt /);
    assert.equal(rows.result?.[0], "=");
    assert.match(ended.stdout, /^4 of 7 steps and outputs differ\.$/m);
  });

  test("CLI-3 the diff of a replay with another answer shows that answer", async () => {
    // Given a replay with another answer, when the two runs are shown side by side, then what was answered stands there.
    const task = await travel.complete(sessionId, "ask");
    const ended = await replay(task.id, "--diff", "--override", 'ask:1="on Friday"');
    succeeded(ended);
    const rows = rowsOf(ended);
    assert.deepEqual(rows.result, ["≠", "Have a good trip on Monday.", "Have a good trip on Friday."]);
    assert.deepEqual(rows["ask:1"]?.[0], "≠");
    assert.match(rows["ask:1"]?.[1] ?? "", /on Monday/);
    assert.match(rows["ask:1"]?.[2] ?? "", /on Friday/);
  });

  test("CLI-3 a replay completes if an override drops a recorded step before a question", async () => {
    // Given a value with which a recorded step before a question falls away, when the task is replayed with it, then the
    // replay goes on to its end.
    const task = await travel.complete(sessionId, "bargain ask approve");
    const ended = await replay(task.id, "--override", 'step:search:1={"price":80}');
    assert.match(succeeded(ended), /is COMPLETED/);
  });

  test("CLI-3 an unrecorded step fails the replay by name; with --allow-live it runs once", async () => {
    // Given a value with which the code asks for a step that was never recorded, when the task is replayed, then the
    // step is named and the exit code is 1; with --allow-live it is really taken, once.
    const task = await travel.complete(sessionId, "praise");
    const override = ["--override", 'step:search:1={"price":80}'];
    const before = travel.notes();
    const denied = await replay(task.id, ...override);
    assert.equal(denied.code, 1);
    assert.match(denied.stdout, /is FAILED.*\nreplay_dependency_unavailable: .*llm:praise:1/);
    assert.deepEqual(travel.notes(), before);
    const allowed = await replay(task.id, ...override, "--allow-live", "llm", "--diff");
    assert.match(succeeded(allowed), /is COMPLETED/);
    assert.deepEqual(rowsOf(allowed)["llm:praise:1"], ["+", "", '"Well done."']);
    assert.deepEqual(travel.notes(), [...before, "praise"]);
  });

  test("CLI-3 a replay from a checkpoint repeats only what came after it", async () => {
    // Given a task with a checkpoint, when it is replayed from there, then only what came after it is told again.
    const task = await travel.complete(sessionId, "artifact");
    const ended = await replay(task.id, "--checkpoint", "planned", "--diff");
    succeeded(ended);
    const marks = Object.entries(rowsOf(ended)).map(([step, [mark]]) => [step, mark]);
    assert.deepEqual(marks.slice(0, 6), [
      ["step:search:1", "-"],
      ["llm:choose:1", "-"],
      ["checkpoint:planned:1", "-"],
      ["say:1", "="],
      ["artifact:1", "="],
      ["result", "="],
    ]);
  });

  test("CLI-3 several overrides all count, whether the task comes before or after them", async () => {
    // Given several overrides, when the task comes before or after them, then all count and none is taken for the other.
    const task = await travel.complete(sessionId, "ask");
    const overrides = ["--override", 'step:search:1={"price":80}', "--override", 'ask:1="on Friday"'];
    for (const args of [
      [task.id, ...overrides, "--diff"],
      [...overrides, "--diff", task.id],
      ["--diff", ...overrides, task.id],
    ]) {
      const ended = await replay(...args);
      succeeded(ended);
      const rows = rowsOf(ended);
      assert.equal(rows["say:1"]?.[2], "The early train. It costs 80.");
      assert.equal(rows.result?.[2], "Have a good trip on Friday.");
    }
  });

  test("CLI-3 replay options that make no sense are a usage error in one line", async () => {
    // Given options that make no sense, when a replay is asked for, then one line says what is wrong, as wrong use.
    const task = await travel.complete(sessionId, "plain");
    const wrong: [string[], RegExp][] = [
      [["--override", "price"], /--override\b.*KEY=JSON/],
      [["--override", "=1"], /--override\b.*KEY=JSON/],
      [["--override", "step:search:1=cheap"], /--override\b.*JSON/],
      [["--override", "step:search:1="], /--override\b.*JSON/],
      [["--mode", "backwards"], /exact.*with_overrides.*from_checkpoint/],
      [["--allow-live", "gossip"], /gossip/],
    ];
    for (const [args, says] of wrong) assert.match(errorLine(await replay(task.id, ...args), 2), says);
  });

  test("CLI-3 replaying an unknown step, checkpoint or task lists the known ones and exits with 1", async () => {
    // Given steps, checkpoints and tasks that are not there, when a replay is asked for, then the known ones are listed,
    // and the exit code is 1.
    const task = await travel.complete(sessionId, "ask");
    const [line, ...hints] = errorLines(await replay(task.id, "--override", "llm:dream:1=1"), 1);
    assert.match(line, /llm:dream:1/);
    for (const key of ["step:search:1", "llm:choose:1", "ask:1"])
      assert.ok(hints.join("\n").includes(key), key);

    const [missing, ...known] = errorLines(await replay(task.id, "--checkpoint", "lunch"), 1);
    assert.match(missing, /lunch/);
    for (const key of ["checkpoint:planned:1", "ask:1"]) assert.ok(known.join("\n").includes(key), key);

    assert.match(errorLine(await replay("task_nowhere"), 1), /task_nowhere/);
    assert.match(errorLine(await replay("../../etc/passwd"), 1), /passwd/);
    const waiting = await travel.begin(sessionId, "ask");
    assert.match(errorLine(await replay(waiting.id), 1), new RegExp(waiting.id));
  });
});

describe("bridle replay --fixture", { concurrency }, () => {
  let place: Place;
  const words = "large secret artifact stream child ask approve";
  /** What the command said when it wrote the fixture. */
  let told = "";
  const fixture = () => join(place.path, "run.jsonl");

  // The server is gone by the time anything is replayed.
  before(async () => {
    place = await temporaryDirectory();
    await using travel = await startTravel();
    const session = await travel.client.createSession();
    const task = await travel.complete(session.id, words);
    told = succeeded(await bridle(["replay", task.id, "--fixture", fixture()], { server: travel.server }));
    const failed = await travel.complete(session.id, "fail");
    const failedFile = join(place.path, "failed.jsonl");
    succeeded(await bridle(["replay", failed.id, "--fixture", failedFile], { server: travel.server }));
    const sessionFile = join(place.path, "session.jsonl");
    succeeded(await bridle(["export", session.id, "--out", sessionFile], { server: travel.server }));
  });
  after(() => place[Symbol.asyncDispose]());

  /** Runs a test file with `node --test`: nothing to connect to, and notes of what steps really do. */
  async function runTest(source: string, change = ""): Promise<{ ended: Ended; calls: string[] }> {
    const directory = join(place.path, `test-${Math.random()}`);
    await mkdir(join(directory, "node_modules"), { recursive: true });
    await symlink(root, join(directory, "node_modules", "bridle"));
    await writeFile(join(directory, "package.json"), '{"type":"module"}');
    await writeFile(
      join(directory, "my-agent.ts"),
      `export { travel as default } from ${JSON.stringify(travelAgents)};\n`,
    );
    await writeFile(join(directory, "my-agent.test.ts"), source);
    const notes = join(directory, "notes");
    const env = {
      AGENT_CHANGE: change,
      AGENT_NOTES: notes,
      BRIDLE_URL: nowhere,
      BRIDLE_API_KEY: undefined,
    };
    const ended = await runNode(["--test", "my-agent.test.ts"], { cwd: directory, env });
    const calls = existsSync(notes) ? (await readFile(notes, "utf8")).trimEnd().split("\n") : [];
    return { ended, calls };
  }

  const testOf = (file: string) => `
    import { test } from "node:test";
    import { replayFixture } from "bridle";
    import agent from "./my-agent.ts";

    test("my agent still does what it did", () => replayFixture(agent, ${JSON.stringify(file)}));
  `;

  test("CLI-4 the test that the command shows passes offline and runs no step code", async () => {
    // Given a fixture, when the test that the command shows is run as it is, then it passes without a server, and no
    // code of a step runs.
    const snippet = told.slice(told.indexOf("import {"));
    assert.match(snippet, /replayFixture/);
    assert.ok(told.startsWith(`${fixture()} holds the run of task_`), told);
    const { ended, calls } = await runTest(snippet);
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    assert.match(ended.stdout, /pass 1\b/);
    assert.deepEqual(calls, []);
  });

  test("CLI-4 the fixture of a failed task passes if the same code fails the same way", async () => {
    // Given a fixture of a task that failed, when it is replayed by the same code, then the test passes: the failure is
    // the same.
    const { ended, calls } = await runTest(testOf(join(place.path, "failed.jsonl")));
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    assert.deepEqual(calls, []);
  });

  const changes = [
    { change: "renamed step", recorded: "step:search:1", attempted: "step:look-up:1" },
    { change: "steps in another order", recorded: "step:search:1", attempted: "llm:choose:1" },
    { change: "changed question", recorded: "Which day?", attempted: "On which day?" },
    { change: "changed message", recorded: "It costs 120.", attempted: "For 120." },
    { change: "changed result", recorded: "Have a good trip", attempted: "Bon voyage" },
  ];
  for (const { change, recorded, attempted } of changes) {
    test(`CLI-4 a ${change} fails the fixture test with recorded beside attempted and runs no step`, async () => {
      // Given a fixture and code with a ${change}, when the test is run, then it fails, naming recorded beside
      // attempted, and no code of a step runs.
      const { ended, calls } = await runTest(testOf(fixture()), change);
      assert.equal(ended.code, 1, ended.stdout);
      const message = ended.stdout.split("\n").find((line) => line.includes("does not repeat task_")) ?? "";
      assert.ok(message.includes(recorded), ended.stdout);
      assert.ok(message.includes(attempted), ended.stdout);
      assert.match(message, /travel@1\.0\.0/);
      assert.deepEqual(calls, []);
    });
  }

  test("CLI-4 replaying a file that is no fixture fails the test and says so", async () => {
    // Given files that are no fixtures, when they are replayed, then the test fails and says so.
    const cut = join(place.path, "cut.jsonl");
    const lines = (await readFile(fixture(), "utf8")).trimEnd().split("\n");
    await writeFile(cut, lines.slice(0, -1).join("\n"));
    for (const [file, says] of [
      [join(place.path, "session.jsonl"), /--fixture/],
      [cut, /cut off/],
    ] as const) {
      const { ended } = await runTest(testOf(file));
      assert.equal(ended.code, 1);
      assert.match(ended.stdout, says);
    }
  });

  test("CLI-4 the fixture of an unknown task exits with 1 and writes no file", async () => {
    // Given a task that is not there, when its fixture is asked for, then one line says so, the exit code is 1 and there
    // is no file.
    await using travel = await startTravel();
    const file = join(place.path, "none.jsonl");
    const ended = await bridle(["replay", "task_nowhere", "--fixture", file], { server: travel.server });
    assert.match(errorLine(ended, 1), /task_nowhere/);
    assert.equal(existsSync(file), false);
  });
});

describe("bridle check", { concurrency }, () => {
  let travel: Travel;
  let place: Place;
  /** The tasks, by what they are. */
  const tasks: Record<string, Json> = {};
  let notes: string[] = [];

  before(async () => {
    [travel, place] = await Promise.all([startTravel(), temporaryDirectory()]);
    const { client } = travel;
    const session = await client.createSession();
    const full = "large secret artifact stream child ask approve";
    tasks.full = await travel.complete(session.id, full);
    const children = await client.listAll("/v1/tasks");
    tasks.child = children.find(({ parent_task_id }) => parent_task_id === tasks.full.id);
    tasks.plain = await travel.complete(session.id, "plain");
    tasks.denied = await travel.complete(session.id, "approve", false);
    tasks.failed = await travel.complete(session.id, "fail");
    tasks.asking = await travel.begin(session.id, "ask");
    tasks.approving = await travel.begin(session.id, "approve");
    tasks.canceled = await travel.begin(session.id, "ask");
    await client.post(`/v1/tasks/${tasks.canceled.id}/cancel`);
    // A replay is no history of its own.
    const { body } = await client.post(`/v1/tasks/${tasks.plain.id}/replay`, {});
    await client.untilTask(body.id, isFinal);
    // Of an agent that every server has: it sleeps.
    tasks.sleeping = await client.submit(session.id, "sleep 100000", { persona_id: "persona_rehearsal" });
    await client.untilTask(tasks.sleeping.id, ({ waiting_for }) => waiting_for !== null);
    notes = travel.notes();
  });
  after(() => Promise.all([travel[Symbol.asyncDispose](), place[Symbol.asyncDispose]()]));

  const check = (args: string[]) => bridle(["check", ...args], { server: travel.server });

  /** The code of the agents after a change, as a module of its own: this process loads a file once. */
  async function codeWith(change: string): Promise<string> {
    const file = join(place.path, `agents-${change.replaceAll(" ", "-")}.ts`);
    const given = [change, join(place.path, "notes")].map((text) => JSON.stringify(text)).join(", ");
    const source = JSON.stringify(fileURLToPath(new URL("./support/travel-agents.ts", import.meta.url)));
    const lines = [
      `import { travelAgents } from ${source};`,
      `export const { travel, packer } = travelAgents(${given});`,
    ];
    await writeFile(file, lines.join("\n"));
    return file;
  }

  const nameOf = (id: string) => Object.keys(tasks).find((name) => tasks[name].id === id) ?? id;

  /** Every divergence that was reported: the task, and what stands beside each other. */
  function divergences({ stdout }: Ended): Record<string, [string, string]> {
    const found = stdout.matchAll(/^diverges (\S+) {2}\S+\n {2}recorded +(.+)\n {2}attempted +(.+)$/gm);
    return Object.fromEntries([...found].map(([, id = "", a = "", b = ""]) => [nameOf(id), [a, b]]));
  }

  function countsOf({ stdout }: Ended): {
    checked: number;
    same: number;
    unfinished: number;
    diverged: number;
  } {
    const summary = /^(\d+) histories checked: (\d+) the same, (\d+) the same so far, (\d+) diverge/m.exec(
      stdout,
    );
    assert.ok(summary !== null, stdout);
    const [checked = 0, same = 0, unfinished = 0, diverged = 0] = summary.slice(1).map(Number);
    return { checked, same, unfinished, diverged };
  }

  test("CLI-5 unchanged code diverges from no task, whatever its state, and runs no step code", async () => {
    // Given the code that ran the tasks, when it is checked, then no task diverges, however it ended or whatever it
    // waits for, and no code of a step runs.
    const ended = await check(["--agents", await codeWith("")]);
    assert.match(succeeded(ended), /^9 histories checked: \d the same, \d the same so far, 0 diverge\.\n$/);
    // What waits, and what was stopped while it waited, may be counted as going on; the rest is the same to its end.
    assert.ok(countsOf(ended).same >= 5, ended.stdout);
    assert.ok(countsOf(ended).unfinished >= 3, ended.stdout);
    assert.equal(ended.stderr, "");
    assert.equal(existsSync(join(place.path, "notes")), false);
    assert.deepEqual(travel.notes(), notes);
  });

  /** All tasks of the agent that is changed. */
  const all = ["full", "plain", "denied", "failed", "asking", "approving", "canceled"];
  const changes: { change: string; of: string[]; recorded: RegExp; attempted: RegExp }[] = [
    { change: "steps in another order", of: all, recorded: /^step:search:1$/, attempted: /^llm:choose:1$/ },
    { change: "renamed step", of: all, recorded: /^step:search:1$/, attempted: /^step:look-up:1$/ },
    { change: "removed step", of: all, recorded: /^llm:choose:1$/, attempted: /^(checkpoint|secret):\w+:1$/ },
    { change: "added step", of: all, recorded: /^llm:choose:1$/, attempted: /^step:compare:1$/ },
    { change: "changed message", of: all, recorded: /^say:1.*It costs 120/, attempted: /^say:1.*For 120/ },
    {
      change: "changed question",
      of: ["full", "asking", "canceled"],
      recorded: /^ask:1 "Which day\?"$/,
      attempted: /^ask:1 "On which day\?"$/,
    },
    {
      change: "changed approval",
      of: ["full", "denied", "approving"],
      recorded: /^approve:1 "book it"$/,
      attempted: /^approve:1 "pay for it"$/,
    },
    {
      change: "changed artifact",
      of: ["full"],
      recorded: /^artifact:1 sha256:\w{64}$/,
      attempted: /^artifact:1 sha256:\w{64}$/,
    },
    {
      change: "changed stream",
      of: ["full"],
      recorded: /^artifact:2 sha256:\w{64}$/,
      attempted: /^artifact:2 sha256:\w{64}$/,
    },
    {
      change: "changed result",
      of: ["full", "plain"],
      recorded: /^the result.*Have a good trip/,
      attempted: /^the result.*Bon voyage/,
    },
    {
      change: "changed failure",
      of: ["failed"],
      recorded: /sold_out: No seats left\./,
      attempted: /sold_out: None left\./,
    },
    { change: "changed child", of: ["child"], recorded: /^step:fold:1$/, attempted: /^step:throw in:1$/ },
  ];

  for (const { change, of, recorded, attempted } of changes) {
    test(`CLI-5 code with ${change} diverges only in affected tasks, at the first difference`, async () => {
      // Given code with ${change}, when it is checked, then exactly the tasks that it touches diverge, at the first
      // difference, and the exit code is 1.
      const ended = await check(["--agents", await codeWith(change)]);
      assert.equal(ended.code, 1, ended.stdout + ended.stderr);
      const found = divergences(ended);
      assert.deepEqual(Object.keys(found).sort(), of.toSorted(), ended.stdout);
      for (const [left, right] of Object.values(found)) {
        assert.match(left, recorded);
        assert.match(right, attempted);
        assert.notEqual(left, right);
      }
      assert.equal(countsOf(ended).diverged, of.length);
      assert.equal(countsOf(ended).checked, 9);
      assert.equal(existsSync(join(place.path, "notes")), false, "no code of a step runs");
    });
  }

  test("CLI-5 an open task whose version is missing fails the check; ended ones are skipped", async () => {
    for (const args of [[], ["--agents", await codeWith("next version")]]) {
      const ended = await check(args);
      assert.equal(ended.code, 1, ended.stdout);
      const missing = [...ended.stdout.matchAll(/^missing +(\S+) +travel@1\.0\.0 /gm)].map(([, id = ""]) =>
        nameOf(id),
      );
      assert.deepEqual(missing.sort(), ["approving", "asking"]);
      assert.match(
        ended.stdout,
        /^1 histories checked: .* 2 open without their version\. 6 ended in .* skipped\.$/m,
      );
    }
    assert.match(
      (await check(["--agents", await codeWith("next version")])).stdout,
      /not loaded; 2\.0\.0 is\./,
    );
  });

  test("CLI-5 each task is judged by its own version when a newer one is loaded beside it", async () => {
    const args = ["--agents", await codeWith(""), await codeWith("next version")];
    assert.match(succeeded(await check(args)), /^9 histories checked: .* 0 diverge\.\n$/);
  });

  test("CLI-5 given the name of an agent, when the code is checked, then only its tasks are", async () => {
    const one = await check(["--agents", travelAgents, "--agent", "packer"]);
    assert.match(succeeded(one), /^1 histories checked: 1 the same,/);
    const other = await check(["--agents", await codeWith("renamed step"), "--agent", "packer"]);
    assert.match(succeeded(other), /^1 histories checked: 1 the same,/);
  });

  test("CLI-5 a check since a time covers only tasks created since then", async () => {
    // Given a time, when the code is checked, then only tasks that were created since then are.
    const since = await check(["--agents", travelAgents, "--since", tasks.asking.created_at]);
    assert.match(succeeded(since), /^4 histories checked:/);
    const recently = await check(["--agents", travelAgents, "--since", "1h"]);
    assert.match(succeeded(recently), /^9 histories checked:/);
    const never = await check(["--agents", travelAgents, "--since", "2100-01-01T00:00:00Z"]);
    assert.match(succeeded(never), /^0 histories checked:/);
  });

  test("CLI-5 a check since an invalid time is a usage error in one line", async () => {
    // Given a time that is none, when the code is checked, then one line says so, as wrong use.
    for (const time of ["yesterday", "7 days", "-3h", "", "2026-13-45"]) {
      assert.match(errorLine(await check(["--agents", travelAgents, "--since", time]), 2), /--since/);
    }
  });

  test("CLI-5 checking a module without agents names it in one line and exits with 1", async () => {
    // Given a module without agents, when the code is checked, then one line names it and the exit code is 1.
    const file = fixtureAgents("bare.ts");
    assert.ok(errorLine(await check(["--agents", file]), 1).includes("fixture-agents/bare.ts"));
  });

  test("CLI-5 a check since a time finds newer tasks behind old ones imported later", async () => {
    // Given old tasks that were imported after newer ones, when the code is checked since the newer ones, then these are
    // found behind the old.
    await using elsewhere = await startTravel();
    await using here = await startTravel();
    const oldSession = await elsewhere.client.createSession();
    const older = await elsewhere.complete(oldSession.id, "plain");
    const session = await here.client.createSession();
    const newer = await here.complete(session.id, "plain");
    assert.ok(older.created_at < newer.created_at);
    const exported = join(place.path, "older.jsonl");
    succeeded(await bridle(["export", oldSession.id, "--out", exported], { server: elsewhere.server }));
    succeeded(await bridle(["import", exported], { server: here.server }));
    const ended = await bridle(["check", "--agents", travelAgents, "--since", newer.created_at], {
      server: here.server,
    });
    assert.match(succeeded(ended), /^1 histories checked: 1 the same,/);
  });
});

describe("bridle keys", () => {
  test("CLI-6 after a rotation the new key signs, the old one stays, and receipts of both verify", async () => {
    // Given a server, when its keys are rotated and listed, then the new key signs, the old one stays, and receipts of
    // both verify.
    await using travel = await startTravel();
    await using place = await temporaryDirectory();
    const { client, server } = travel;
    const list = async () => JSON.parse(succeeded(await bridle(["keys", "list"], { server })));
    const session = await client.createSession();
    const before = await travel.complete(session.id, "plain");
    const first = await list();
    assert.equal(first.keys.length, 1);
    assert.deepEqual(first, (await client.get("/.well-known/jwks.json")).body);

    const rotated = await bridle(["keys", "rotate"], { server });
    const kid = /^Receipts are signed with (key_\S+) from now on\.\n$/.exec(succeeded(rotated))?.[1];
    const after = await travel.complete(session.id, "plain");
    const second = await list();
    const kids = second.keys.map((key: Json) => key.kid);
    assert.deepEqual(kids.toSorted(), [first.keys[0].kid, kid].toSorted());
    assert.notEqual(kid, first.keys[0].kid);

    const signers = [];
    for (const [task, jwks, code] of [
      [before, first, 0],
      [before, second, 0],
      [after, second, 0],
      [after, first, 1],
    ] as const) {
      const { body } = await client.get(`/v1/receipts/${task.receipt_id}`);
      signers.push(body.signatures[0].key_id);
      const [receipt, keys] = [join(place.path, "receipt.json"), join(place.path, "jwks.json")];
      await writeFile(receipt, JSON.stringify(body));
      await writeFile(keys, JSON.stringify(jwks));
      const ended = await bridle(["receipt", "verify", receipt, "--jwks", keys]);
      assert.equal(ended.code, code, ended.stdout);
    }
    assert.deepEqual(signers, [first.keys[0].kid, first.keys[0].kid, kid, kid]);
    assert.match(JSON.stringify(second), /^(?!.*"d":)/, "no private key");

    await travel.restart();
    const third = await travel.complete(session.id, "plain");
    const { body } = await travel.client.get(`/v1/receipts/${third.receipt_id}`);
    assert.equal(body.signatures[0].key_id, kid);
  });

  test("CLI-6 a key without admin cannot rotate the signing keys and exits with 4", async () => {
    // Given a key that may not administer, when it rotates the signing keys, then one line says so, the exit code is 4
    // and the keys are as they were.
    await using server = await startServer();
    const client = new Client(server);
    const { key } = await client.createKey({ scopes: ["receipts:read", "tasks:write"] });
    const before = (await client.get("/.well-known/jwks.json")).body;
    const ended = await bridle(["keys", "rotate"], { server, env: { BRIDLE_KEY: key } });
    assert.match(errorLine(ended, 4), /admin/);
    assert.deepEqual((await client.get("/.well-known/jwks.json")).body, before);
  });
});

/** Every command, with arguments that are right as far as they go, and its options. */
const remote = ["--url", "--key", "--data"];
const commands: { name: string; args: string[]; options: string[]; isRemote: boolean }[] = [
  {
    name: "replay",
    args: ["replay", "task_1"],
    options: [
      "--override",
      "--checkpoint",
      "--mode",
      "--allow-live",
      "--agent-version",
      "--reason",
      "--diff",
      "--fixture",
    ],
    isRemote: true,
  },
  { name: "check", args: ["check"], options: ["--agents", "--agent", "--since"], isRemote: true },
  { name: "receipt verify", args: ["receipt", "verify", "file"], options: ["--jwks"], isRemote: false },
  {
    name: "receipt request",
    args: ["receipt", "request", "outcome", "outcome_1"],
    options: [],
    isRemote: true,
  },
  {
    name: "receipt export",
    args: ["receipt", "export", "--workspace", "workspace_default"],
    options: ["--workspace", "--out"],
    isRemote: true,
  },
  { name: "export", args: ["export", "session_1"], options: ["--out"], isRemote: true },
  { name: "import", args: ["import", "file"], options: [], isRemote: true },
  { name: "keys rotate", args: ["keys", "rotate"], options: [], isRemote: true },
  {
    name: "serve",
    args: ["serve"],
    options: [
      "--port",
      "--host",
      "--data",
      "--api-key",
      "--agents",
      "--log-level",
      "--concurrency",
      "--grace-ms",
    ],
    isRemote: false,
  },
  { name: "keys list", args: ["keys", "list"], options: [], isRemote: true },
];

describe("errors and help", { concurrency }, () => {
  for (const { name, options, isRemote } of commands) {
    test(`CLI-7 the help of bridle ${name} names every option and exits with 0`, async () => {
      // Given bridle ${name}, when its help is asked for, then it names every option and the exit code is 0.
      const ended = await bridle([...name.split(" "), "--help"]);
      const help = succeeded(ended);
      assert.equal(ended.stderr, "");
      assert.match(help, new RegExp(`^Usage: bridle ${name}\\b`));
      const named = [...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => option);
      const expected = [...options, ...(isRemote ? remote : []), "--help"];
      assert.deepEqual(
        expected.filter((option) => !named.includes(option)),
        [],
      );
    });
  }

  test("CLI-7 given bridle, when its help is asked for, then every command is there", async () => {
    const help = succeeded(await bridle(["--help"]));
    const groups = [help, ...(await Promise.all(["receipt", "keys"].map((group) => helpOf(group))))].join(
      "\n",
    );
    for (const { name } of commands)
      assert.match(groups, new RegExp(`^ {2}${name.split(" ").at(-1)}\\b`, "m"));
  });

  async function helpOf(group: string): Promise<string> {
    return succeeded(await bridle([group, "--help"]));
  }

  /** A directory with a file to import, and no key. */
  async function emptyPlace(): Promise<Place> {
    const place = await temporaryDirectory();
    await writeFile(join(place.path, "file"), "{}\n");
    return place;
  }

  const remotes = commands.filter(({ isRemote }) => isRemote);

  test("CLI-7 an unreachable server is one line that says how to get there and exits with 3", async () => {
    // Given no server at the URL, when a command needs one, then one line says so and how to get there, and the exit
    // code is 3.
    await using place = await emptyPlace();
    for (const { args } of remotes) {
      const ended = await bridle([...args, "--url", nowhere], { cwd: place.path });
      const line = errorLine(ended, 3);
      assert.ok(line.includes(nowhere), line);
      assert.match(line, /--url/);
    }
  });

  test("CLI-7 a wrong key is reported in one line and exits with 4", async () => {
    // Given a wrong key, when a command needs one, then one line says so and the exit code is 4.
    await using place = await emptyPlace();
    await using server = await startServer();
    // The list of public keys is for everybody.
    for (const { args } of remotes.filter(({ name }) => name !== "keys list")) {
      const ended = await bridle([...args, "--key", "not-the-key-at-all"], { server, cwd: place.path });
      assert.match(errorLine(ended, 4), /API key.*unauthenticated/);
    }
  });

  test("CLI-7 a key that cannot be sent is reported as a key error, not a server error", async () => {
    // Given a key that cannot be sent at all, when a command uses it, then the line is about the key and not about the
    // server.
    await using server = await startServer();
    for (const key of ["two\nlines", "ключ-ключ"]) {
      const line = errorLine(await bridle(["keys", "rotate", "--key", key], { server }), 1);
      assert.doesNotMatch(line, /nobody answers/i);
      assert.match(line, /key/i);
    }
  });

  test("CLI-7 a missing key exits with 1 and says where it was sought and how to give one", async () => {
    // Given no key at all, when a command needs one, then one line says where it was looked for and how to give one, and
    // the exit code is 1.
    await using place = await emptyPlace();
    await using server = await startServer();
    for (const { args } of remotes.filter(({ name }) => name !== "keys list")) {
      const ended = await bridle(args, { server, cwd: place.path, env: { BRIDLE_API_KEY: undefined } });
      const line = errorLine(ended, 1);
      for (const hint of ["BRIDLE_KEY", "--data", join(".bridle", "admin.key")])
        assert.ok(line.includes(hint), line);
    }
  });

  test("CLI-7 a command without a key uses the one in the server's data directory", async () => {
    // Given the server's data directory, when a command is called without a key, then it uses the one in there.
    await using directory = await temporaryDirectory();
    const env = { BRIDLE_API_KEY: undefined };
    await using server = await startServer({ data: directory.path, env });
    succeeded(await bridle(["keys", "rotate", "--data", directory.path], { server, env }));
    const key = (await readFile(join(directory.path, "admin.key"), "utf8")).trim();
    succeeded(await bridle(["keys", "rotate"], { server, env: { ...env, BRIDLE_KEY: key } }));
    // A key that is given counts for more than the one that is found.
    const ended = await bridle(["keys", "rotate", "--data", directory.path, "--key", "another-key"], {
      server,
      env,
    });
    assert.match(errorLine(ended, 4), /unauthenticated/);
  });

  const wrong: { what: string; args: string[]; says: RegExp }[] = [
    { what: "an unknown command", args: ["bogus"], says: /bogus/ },
    { what: "a command with a typing error", args: ["chek"], says: /chek\b.*check/ },
    { what: "an unknown command of a group", args: ["receipt", "sign"], says: /sign/ },
    { what: "a command of a group with a typing error", args: ["receipt", "verfy"], says: /verfy\b.*verify/ },
    { what: "no task to replay", args: ["replay"], says: /task/ },
    { what: "no session to export", args: ["export"], says: /session/ },
    { what: "no file to import", args: ["import"], says: /file/ },
    { what: "no file to verify", args: ["receipt", "verify"], says: /file/ },
    { what: "no workspace to export", args: ["receipt", "export"], says: /--workspace/ },
    { what: "two tasks to replay", args: ["replay", "a", "b"], says: /\bb\b/ },
    { what: "an option without its value", args: ["export", "s", "--out"], says: /--out/ },
    { what: "an unknown option", args: ["check", "--bogus"], says: /--bogus/ },
    { what: "an option with a typing error", args: ["check", "--agnts", "x"], says: /--agnts\b.*--agent/ },
    { what: "a URL that is none", args: ["check", "--url", "nonsense"], says: /nonsense/ },
  ];

  for (const { what, args, says } of wrong) {
    test(`CLI-7 calling bridle with ${what} prints one line about it and exits with 2`, async () => {
      // Given ${what}, when bridle is called, then one line says what is wrong and the exit code is 2.
      assert.match(errorLine(await bridle(args), 2), says);
    });
  }

  test("CLI-7 bridle without a command shows its help on standard error, as a usage error", async () => {
    // Given no command, when bridle is called, then it shows its help on standard error, as wrong use.
    for (const args of [[], ["receipt"], ["keys"]]) {
      const ended = await bridle(args);
      assert.equal(ended.code, 2);
      assert.equal(ended.stdout, "");
      assert.match(ended.stderr, /^Usage: bridle/);
    }
  });
});

describe("bridle serve --agents", { concurrency }, () => {
  async function resultOf(client: Client, persona: string): Promise<string> {
    const session = await client.createSession();
    const task = await client.submit(session.id, "go", { persona_id: persona });
    await client.untilTask(task.id, isFinal);
    return (await client.texts(session.id)).at(-1) ?? "";
  }

  test("CLI-8 the server runs agents of default, named and array exports beside its own", async () => {
    // Given modules with a default export, named exports and an array, when the server is started with them, then it
    // runs all their agents beside its own.
    const flags = ["--agents", travelAgents, fixtureAgents("listed.ts")];
    await using server = await startServer({ flags });
    const client = new Client(server);
    assert.equal(await resultOf(client, "persona_travel"), "Have a good trip today.");
    assert.equal(await resultOf(client, "persona_packer"), "packed");
    assert.equal(await resultOf(client, "persona_first"), "from first");
    assert.equal(await resultOf(client, "persona_second"), "from second");
    const session = await client.createSession();
    assert.equal((await client.rehearse(session.id, "return own")).status, "COMPLETED");
  });

  test("CLI-8 a relative module path in the environment resolves from where the server runs", async () => {
    // Given a module by a relative path in the environment, when the server is started, then it is found from where the
    // server runs.
    const file = fixtureAgents("listed.ts");
    await using server = await startProcess({ cwd: dirname(file), env: { BRIDLE_AGENTS: "./listed.ts" } });
    assert.equal(await resultOf(new Client(server), "persona_second"), "from second");
  });

  const index = JSON.stringify(join(root, "src", "index.ts"));
  const broken: { what: string; name: string; source: string | null; says: RegExp }[] = [
    { what: "is missing", name: "missing.ts", source: null, says: /missing\.ts/ },
    { what: "has a typing error", name: "typo.ts", source: "export default {", says: /typo\.ts/ },
    {
      what: "throws when it is loaded",
      name: "throws.ts",
      source: 'throw new Error("no\\nluck");',
      says: /throws\.ts.*no.*luck/,
    },
    {
      what: "imports something that is not there",
      name: "lost.ts",
      source: 'import "./nothing.ts";',
      says: /lost\.ts.*nothing\.ts|nothing\.ts.*lost\.ts/,
    },
    { what: "exports nothing", name: "nothing.ts", source: "export {};", says: /nothing\.ts.*no agent/ },
    {
      what: "exports what is nearly an agent",
      name: "nearly.ts",
      source: 'export default { name: "nearly", version: "1.0.0" };',
      says: /nearly\.ts.*no agent/,
    },
    {
      what: "exports an agent with a name that cannot be",
      name: "named.ts",
      source: 'export default { name: "No Way", version: "1.0.0", run: async () => 1 };',
      says: /named\.ts.*No Way/,
    },
    {
      what: "exports one agent twice in one version",
      name: "twice.ts",
      source: `import { defineAgent } from ${index};
        const agent = () => defineAgent({ name: "twin", version: "1.0.0", run: async () => 1 });
        export const a = agent();
        export const b = agent();`,
      says: /twin.*1\.0\.0/,
    },
  ];

  for (const { what, name, source, says } of broken) {
    test(`CLI-8 a module that ${what} stops the start in one line, exits with 1 and creates nothing`, async () => {
      // Given a module that ${what}, when the server is started with it, then one line says so, the exit code is 1 and
      // nothing is made.
      await using place = await temporaryDirectory();
      const file = join(place.path, name);
      if (source !== null) await writeFile(file, source);
      const data = join(place.path, "data");
      const ended = await bridle(["serve", "--port", "0", "--data", data, "--agents", file]);
      assert.match(errorLine(ended, 1), says);
      assert.equal(existsSync(data), false);
    });
  }
});
