/** Backups that are encrypted, have no keys, or are damaged, and restoring them. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { extractTar, tarOf } from "../../src/cli/backup/tar.ts";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { Client } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startServer, temporaryDirectory } from "../support/server.ts";

/** Files of a workspace that are called like files of the server. */
const likeOurs = ["server.json", "bridle.db", "sub/lock.db", "blobs/incoming"];
const keys = ["enforcer.key", "master.key", "signing.key"];

describe("backups", () => {
  let place: Awaited<ReturnType<typeof temporaryDirectory>>;
  let data = "";
  let uploaded = "";
  const at = (...names: string[]) => join(place.path, ...names);
  before(async () => {
    place = await temporaryDirectory();
    data = at("data");
    await using server = await startServer({ data });
    const client = new Client(server);
    const { id } = await client.createSession();
    const answer = await client.call(`/v1/artifacts/upload?session_id=${id}`, { raw: "y".repeat(300_000) });
    uploaded = answer.body.sha256;
    for (const file of [`${"very-long-name/".repeat(12)}é.key`, ...likeOurs]) {
      const path = `/v1/workspaces/workspace_default/files?path=${encodeURIComponent(file)}`;
      assert.equal((await client.call(path, { method: "PUT", body: { content: "kept" } })).status, 200);
    }
    const capabilities = ["read", "write", "delete"];
    const vault = (await client.post("/v1/vaults", { provider: "local", capabilities })).body;
    const secret = `/v1/vaults/${vault.id}/secrets/token`;
    const set = await client.call(secret, { method: "PUT", body: { value: "s3cret" } });
    assert.ok(set.status < 300, JSON.stringify(set.body));
  });
  after(() => place[Symbol.asyncDispose]());

  test("CMD-64 an encrypted backup restores with its identity only, and tells nothing without it", async () => {
    const identity = await generateX25519Identity();
    const recipient = await identityToRecipient(identity);
    writeFileSync(at("backup.key"), `# created: today\n${identity}\n`);
    writeFileSync(at("other.key"), `${await generateX25519Identity()}\n`);
    const file = at("backup.age");
    assert.match(
      errorLine(await bridle(["backup", file, "--data", data, "--encrypt-to", "age1wrong"]), 1),
      /recipient/,
    );
    succeeded(await bridle(["backup", file, "--data", data, "--encrypt-to", recipient]));
    const bytes = readFileSync(file);
    assert.ok(bytes.subarray(0, 30).toString().startsWith("age-encryption.org/v1\n"));
    for (const secret of [
      readFileSync(join(data, "signing.key")),
      Buffer.from("yyyyyyyy"),
      Buffer.from("SQLite format"),
    ])
      assert.equal(bytes.indexOf(secret), -1);
    assert.ok(
      !readdirSync(data).some((name) => name.startsWith(".backup-part")),
      "nothing is left in clear text",
    );

    const to = at("restored");
    const restore = (source: string, ...more: string[]) => bridle(["restore", source, "--to", to, ...more]);
    assert.match(errorLine(await restore(file), 1), /--identity/);
    assert.match(errorLine(await restore(file, "--identity", at("other.key")), 1), /cannot be decrypted/);
    copyFileSync(file, at("cut.age"));
    truncateSync(at("cut.age"), bytes.length - 100);
    assert.notEqual((await restore(at("cut.age"), "--identity", at("backup.key"))).code, 0);
    assert.ok(!existsSync(to), "what is not whole gets no name");
    assert.match(succeeded(await restore(file, "--identity", at("backup.key"))), /is restored: \d+ events/);
    assert.match(errorLine(await restore(file, "--identity", at("backup.key")), 1), /is there already/);
    assert.deepEqual(filesBelow(to), filesBelow(data));
    await assertRebuildable(to);
  });

  test("CMD-64 a backup without keys has none, and files that are only called so", async () => {
    const made = JSON.parse(
      succeeded(await bridle(["backup", at("keyless"), "--data", data, "--without-keys", "--json"])),
    );
    assert.equal(made.has_keys, false);
    for (const name of keys) assert.ok(existsSync(join(data, name)), name);
    assert.deepEqual(
      filesBelow(data).filter((path) => !filesBelow(at("keyless")).includes(path)),
      keys,
    );
    succeeded(await bridle(["restore", at("keyless"), "--to", at("from-keyless")]));
    await assertRebuildable(at("from-keyless"));
  });

  test("CMD-65 damaged and missing content is found when a backup is made, verified and restored", async () => {
    const backup = at("sound");
    succeeded(await bridle(["backup", backup, "--data", data]));
    assert.match(succeeded(await bridle(["backup", "--verify", backup])), /is whole: \d+ events, \d+ pieces/);
    const blob = join(backup, "blobs", uploaded.slice(0, 2), uploaded);
    writeFileSync(blob, "z".repeat(300_000));
    const damaged = await bridle(["backup", "--verify", backup, "--json"]);
    assert.equal(damaged.code, 1);
    assert.deepEqual(JSON.parse(damaged.stdout).problems, [
      `content ${uploaded}: it does not match its hash`,
    ]);
    assert.equal((await bridle(["restore", backup, "--to", at("from-damaged")])).code, 1);

    const copied = await bridle(["backup", at("of-damaged"), "--data", backup, "--json"]);
    assert.equal(copied.code, 1, "a backup of damaged data says so");
    assert.equal(JSON.parse(copied.stdout).problems.length, 1);
    assert.ok(existsSync(at("of-damaged", "bridle.db")), "and is made all the same");

    execFileSync("rm", [blob]);
    const missing = await bridle(["backup", "--verify", backup]);
    assert.equal(missing.code, 1);
    assert.match(missing.stdout, new RegExp(`content ${uploaded}: it is missing`));
    const pages = readFileSync(join(backup, "bridle.db"));
    writeFileSync(join(backup, "bridle.db"), pages.fill(0xff, 8192, 8192 * 4));
    assert.equal((await bridle(["backup", "--verify", backup])).code, 1);
  });

  test("CMD-64 an archive is read by tar, and one that leads elsewhere is refused", async () => {
    const parts: Uint8Array[] = [];
    for await (const part of tarOf(data)) parts.push(part);
    const archive = Buffer.concat(parts);
    const listed = execFileSync("tar", ["t"], { input: archive, encoding: "utf8" }).trim().split("\n");
    assert.equal(listed.length, filesBelow(data, () => true).length);
    const text = archive.toString("latin1").replaceAll("path=bridle.db\n", "path=../dle.db\n");
    const forged = Buffer.from(text, "latin1");
    assert.ok(!forged.equals(archive));
    await assert.rejects(extractTar(chunked(forged), at("extracted")), /leads elsewhere/);
    assert.ok(!existsSync(at("dle.db")));
  });
});

async function* chunked(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += 1000) yield bytes.subarray(from, from + 1000);
}

/** What a backup has, of a data directory. */
function filesBelow(directory: string, isKept = isInBackup): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1))
    .filter(isKept)
    .sort();
}

function isInBackup(path: string): boolean {
  return !/^(?:gateway\/)?(?:.*-wal|.*-shm|lock\.db|server\.json|server\.pid|backup\.json)$/.test(path);
}
