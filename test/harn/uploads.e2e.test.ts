/** Artifacts that callers upload: streamed both ways, whole or not at all, in parts when asked. */

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { after, before, describe, test } from "node:test";
import { isThorough, randomFrom } from "../runner/seed.ts";
import { Client, errorOf, type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startProcess, startServer, type TestProcess, temporaryDirectory } from "../support/server.ts";

const random = randomFrom();

function sha256(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

interface Upload {
  query?: Record<string, string>;
  headers?: Record<string, string>;
}

async function upload(client: Client, bytes: string | Uint8Array, { query = {}, headers = {} }: Upload = {}) {
  const response = await fetch(`${client.url}/v1/artifacts/upload?${new URLSearchParams(query)}`, {
    method: "POST",
    headers: client.headers({ "content-type": "application/x-test", ...headers }),
    body: Buffer.from(bytes),
  });
  const body: Json = await response.json();
  return { status: response.status, headers: response.headers, body };
}

async function uploaded(client: Client, bytes: string | Uint8Array, options: Upload = {}): Promise<Json> {
  const { status, body } = await upload(client, bytes, options);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function download(client: Client, id: string, headers: Record<string, string> = {}, method = "GET") {
  const response = await fetch(`${client.url}/v1/artifacts/${id}/content`, {
    method,
    headers: client.headers(headers),
  });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

/** A request whose body is sent by hand. */
function openUpload(client: Client, headers: Record<string, string> = {}): ClientRequest {
  const request = httpRequest(`${client.url}/v1/artifacts/upload`, {
    method: "POST",
    headers: client.headers({ "content-type": "application/x-test", ...headers }),
  });
  request.on("error", () => {});
  return request;
}

/** What is on disk under blobs/, and what is still arriving. */
function blobsIn(data: string): { kept: string[]; incoming: string[] } {
  const names = readdirSync(join(data, "blobs"), { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(data, "blobs", name)).isFile(),
  );
  return {
    kept: names.filter((name) => !name.startsWith("incoming")),
    incoming: names.filter((name) => name.startsWith("incoming")),
  };
}

const bytesMax = 100_000;

/** With its usual settings, unlike the one of most tests, and for whoever needs a second one. */
let elsewhere: TestProcess;
before(async () => {
  elsewhere = await startProcess();
});
after(() => elsewhere[Symbol.asyncDispose]());

describe("Uploads", () => {
  let server: TestProcess;
  let client: Client;

  before(async () => {
    server = await startProcess({ flags: ["--artifact-bytes-max", String(bytesMax)] });
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  test("UPL-1 an upload returns its metadata, and the download has identical bytes", async () => {
    // Given bytes of any kind, when they are uploaded, then the artifact describes them and gives them back as they
    // were.
    const session = await client.createSession();
    const bytes = randomBytes(50_000);
    const query = { kind: "dataset", name: "numbers.bin", visibility: "internal", session_id: session.id };
    const artifact = await uploaded(client, bytes, { query });
    assert.match(artifact.branch_id, /^branch_/);
    assert.deepEqual(
      { ...artifact, id: 0, created_at: 0, updated_at: 0 },
      {
        id: 0,
        object: "artifact",
        created_at: 0,
        updated_at: 0,
        metadata: {},
        ...query,
        workspace_id: "workspace_default",
        branch_id: artifact.branch_id,
        task_id: null,
        mime_type: "application/x-test",
        complete: true,
        uri: `/v1/artifacts/${artifact.id}/content`,
        sha256: sha256(bytes),
        bytes: bytes.length,
        receipt_id: null,
      },
    );
    assert.deepEqual((await client.get(`/v1/artifacts/${artifact.id}`)).body, artifact);
    const got = await download(client, artifact.id);
    assert.ok(got.bytes.equals(bytes));
    assert.equal(got.headers.get("content-type"), "application/x-test");
    assert.equal(got.headers.get("content-length"), String(bytes.length));
    assert.equal(got.headers.get("x-content-type-options"), "nosniff");
    const reader = await client.withScopes("artifacts:read");
    errorOf(await reader.get(`/v1/artifacts/${artifact.id}/content`), 403);
  });

  test("UPL-1 stores empty, secret-like and duplicate content unchanged", async () => {
    // Given no content, what looks like a secret, and the same content twice, when they are uploaded, then bytes are
    // bytes.
    const empty = await uploaded(client, "");
    assert.deepEqual([empty.bytes, (await download(client, empty.id)).bytes.length], [0, 0]);
    const text = `password = "${"hunter2".repeat(3)}"`;
    const [one, two] = [await uploaded(client, text), await uploaded(client, text)];
    assert.notEqual(one.id, two.id);
    assert.equal(one.sha256, sha256(text));
    assert.equal((await download(client, two.id)).bytes.toString(), text);
    const named = await uploaded(client, "x", { query: { name: `token=${"a1B2".repeat(8)}` } });
    assert.doesNotMatch(named.name, /a1B2/);
  });

  test("UPL-1 a reused idempotency key returns the same artifact, other content is a conflict", async () => {
    // Given an idempotency key, when the same and then other content is sent under it, then it is one artifact and then
    // a conflict.
    const headers = { "idempotency-key": "upload-1" };
    const first = await uploaded(client, "content", { headers });
    const again = await upload(client, "content", { headers });
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal(again.body.id, first.id);
    const other = await upload(client, "other", { headers });
    assert.equal(errorOf(other, 409).code, "idempotency_key_reused");
    assert.deepEqual(blobsIn(server.data).incoming, []);
    assert.ok(!blobsIn(server.data).kept.some((name) => name.endsWith(sha256("other"))));
  });

  const refused: [string, Upload, number, string | null][] = [
    ["an unknown kind", { query: { kind: "poem" } }, 400, "kind"],
    ["an unknown session", { query: { session_id: "session_unknown" } }, 404, null],
    ["another hash than its own", { query: { sha256: sha256("something else") } }, 400, "sha256"],
    ["what is no hash", { query: { sha256: "abc" } }, 400, "sha256"],
    ["a form", { headers: { "content-type": "multipart/form-data; boundary=x" } }, 400, "Content-Type"],
    ["encoded content", { headers: { "content-encoding": "gzip" } }, 400, "Content-Encoding"],
  ];
  for (const [what, options, status, param] of refused) {
    test(`UPL-3 given ${what}, when it is uploaded, then it is ${status} and nothing is kept`, async () => {
      const count = (await client.listAll("/v1/artifacts")).length;
      const content = `refused: ${what}`;
      const error = errorOf(await upload(client, content, options), status);
      assert.equal(error.param, param);
      assert.equal((await client.listAll("/v1/artifacts")).length, count);
      assert.deepEqual(blobsIn(server.data).incoming, []);
      assert.ok(!blobsIn(server.data).kept.some((name) => name.endsWith(sha256(content))));
    });
  }

  test("UPL-3 given the right hash in capitals, when content is uploaded with it, then it is taken", async () => {
    const query = { sha256: sha256("right").toUpperCase() };
    assert.equal((await uploaded(client, "right", { query })).sha256, sha256("right"));
  });

  test("UPL-3 keys without the scope or of other workspaces are rejected before any byte is read", async () => {
    // Given keys without the scope or of other workspaces, when they upload, then they are refused before a byte is
    // read.
    const { body: room } = await client.post("/v1/workspaces", { name: "Room", root: "/room" });
    const reader = await client.withScopes("artifacts:read");
    errorOf(await upload(reader, "x"), 403);
    const neighbour = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    errorOf(await upload(neighbour, "x", { query: { workspace_id: room.id } }), 404);
    const theirs = await uploaded(client, "theirs", { query: { workspace_id: room.id } });
    assert.equal((await download(neighbour, theirs.id)).status, 404);
    // The answer comes while the body is still to be sent.
    const request = openUpload(reader, { "content-length": "50000" });
    request.flushHeaders();
    const [response]: IncomingMessage[] = await once(request, "response");
    assert.equal(response?.statusCode, 403);
    request.destroy();
  });

  test("UPL-3 accepts an upload at the size limit and answers 413 beyond it, announced or not", async () => {
    // Given content at and beyond the limit, announced or not, when it is uploaded, then the first is taken and the
    // others are 413.
    assert.equal((await uploaded(client, Buffer.alloc(bytesMax))).bytes, bytesMax);
    const announced = errorOf(await upload(client, Buffer.alloc(bytesMax + 1)), 413);
    assert.equal(announced.code, "payload_too_large");
    assert.equal(announced.details.bytes_max, bytesMax);
    const request = openUpload(client, { "transfer-encoding": "chunked" });
    const answered = once(request, "response");
    for (let sent = 0; sent <= bytesMax; sent += 10_000) request.write(Buffer.alloc(10_000));
    const [response]: IncomingMessage[] = await answered;
    assert.equal(response?.statusCode, 413);
    request.destroy();
    await until(
      async () => blobsIn(server.data).incoming,
      (names) => names.length === 0,
    );
  });

  test("UPL-4 an upload that the client aborts leaves nothing behind", async () => {
    // Given a client that goes away in the middle, when the server notices, then nothing of it is left.
    const count = (await client.listAll("/v1/artifacts")).length;
    const request = openUpload(client, { "content-length": "90000" });
    request.write(Buffer.alloc(40_000, "gone"));
    await until(
      async () => blobsIn(server.data).incoming,
      (names) => names.length === 1,
    );
    request.destroy();
    await until(
      async () => blobsIn(server.data).incoming,
      (names) => names.length === 0,
    );
    assert.equal((await client.listAll("/v1/artifacts")).length, count);
    assert.doesNotMatch(server.output(), /"level":50/, "a client that leaves is no error of ours");
  });

  test("UPL-2 any byte range downloads as the same part of the whole content", async () => {
    // Given random ranges of content, when they are downloaded, then each is the same part of the whole.
    const bytes = randomBytes(9973);
    const { id } = await uploaded(client, bytes);
    const size = bytes.length;
    const any = () => Math.floor(random() * (size + 200));
    const asked = Array.from(
      { length: 60 },
      (_, n) => [`${any()}-${any()}`, `${any()}-`, `-${any()}`][n % 3] ?? "",
    );
    for (const range of [...asked, "0-0", `${size - 1}-`, `${size}-`, "0-", "-0", "-1", `-${size * 2}`]) {
      const [first = "", last = ""] = range.split("-");
      const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
      const end = first === "" || last === "" ? size : Number(last) + 1;
      const got = await download(client, id, { range: `bytes=${range}` });
      if (end <= start && first !== "" && last !== "") {
        assert.deepEqual([got.status, got.bytes.equals(bytes)], [200, true], range);
      } else if (start >= size) {
        assert.deepEqual([got.status, got.headers.get("content-range")], [416, `bytes */${size}`], range);
      } else {
        const part = bytes.subarray(start, end);
        assert.equal(got.status, 206, range);
        assert.equal(got.headers.get("content-range"), `bytes ${start}-${start + part.length - 1}/${size}`);
        assert.equal(got.headers.get("content-length"), String(part.length));
        assert.ok(got.bytes.equals(part), range);
      }
    }
    const several = await download(client, id, { range: "bytes=0-1,5-6" });
    assert.deepEqual([several.status, several.bytes.equals(bytes)], [200, true]);
  });

  test("UPL-2 conditional requests send the content only if its ETag condition holds", async () => {
    // Given the tag of content, when it is asked for on a condition, then it is sent only where the condition says so.
    const { id } = await uploaded(client, "0123456789");
    const whole = await download(client, id);
    const etag = whole.headers.get("etag") ?? "";
    assert.equal(etag, `"${sha256("0123456789")}"`);
    assert.equal(whole.headers.get("accept-ranges"), "bytes");
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const known = await download(client, id, { "if-none-match": tag, range: "bytes=0-1" });
      assert.deepEqual([known.status, known.bytes.length, known.headers.get("etag")], [304, 0, etag]);
    }
    const status = async (headers: Record<string, string>) => {
      const got = await download(client, id, { range: "bytes=2-3", ...headers });
      return [got.status, got.bytes.toString()];
    };
    assert.deepEqual(await status({ "if-range": etag }), [206, "23"]);
    assert.deepEqual(await status({ "if-range": '"other"' }), [200, "0123456789"]);
    assert.deepEqual(await status({ "if-range": `W/${etag}` }), [200, "0123456789"]);
    assert.deepEqual(await status({ "if-none-match": '"other"' }), [206, "23"]);
  });

  test("UPL-2 HEAD returns the headers of GET without a body, for all or a range", async () => {
    // Given content, when HEAD asks for it or a part of it, then the headers are those of GET and there is no body.
    const { id } = await uploaded(client, "0123456789");
    for (const headers of [{}, { range: "bytes=2-3" }, { range: "bytes=99-" }, { "if-none-match": "*" }]) {
      const [got, head] = [await download(client, id, headers), await download(client, id, headers, "HEAD")];
      assert.equal(head.status, got.status);
      assert.equal(head.bytes.length, 0);
      for (const name of ["content-length", "content-range", "etag", "accept-ranges", "content-type"]) {
        assert.equal(head.headers.get(name), got.headers.get(name), name);
      }
    }
    assert.equal((await download(client, "artifact_unknown", {}, "HEAD")).status, 404);
  });

  test("UPL-2 ranges of content that an agent made work like those of uploads", async () => {
    // Given content that an agent made, when a range of it is asked for, then it is answered alike.
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "artifact made.txt 0123456789");
    const [artifact] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
    const got = await download(client, artifact.id, { range: "bytes=-3" });
    assert.deepEqual([got.status, got.bytes.toString()], [206, "789"]);
  });

  test("UPL-4 the server holds no file open after clients abandon their downloads", async () => {
    // Given clients that stop reading a download, when they are gone, then the server holds no file open.
    const { id } = await uploaded(client, Buffer.alloc(bytesMax, "x"));
    const open = () =>
      readdirSync(`/proc/${server.process.pid}/fd`).filter((fd) => {
        try {
          return readlinkSync(`/proc/${server.process.pid}/fd/${fd}`).includes("/blobs/");
        } catch {
          return false;
        }
      }).length;
    for (let n = 0; n < 20; n++) {
      const controller = new AbortController();
      const { signal } = controller;
      const response = await fetch(`${client.url}/v1/artifacts/${id}/content`, {
        headers: client.headers(),
        signal,
      });
      assert.equal(response.status, 200);
      controller.abort();
    }
    for (const headers of [{ range: "bytes=999999-" }, { "if-none-match": "*" }])
      await download(client, id, headers);
    await until(
      async () => open(),
      (count) => count === 0,
    );
  });

  test("UPL-1 session export and import omit uploaded content and report the omission", async () => {
    // Given uploaded content in a session, when the session's log is exported and imported elsewhere, then the content
    // stays behind and is said to be.
    const session = await client.createSession();
    const { id } = await uploaded(client, "stays here", { query: { session_id: session.id } });
    const exported = await fetch(`${client.url}/v1/sessions/${session.id}/export`, {
      headers: client.headers(),
    });
    const text = await exported.text();
    assert.ok(text.includes(id) && !text.includes(Buffer.from("stays here").toString("base64")));
    const other = new Client(elsewhere);
    const imported = await other.call("/v1/sessions/import", {
      raw: text,
      headers: { "content-type": "application/jsonl" },
    });
    assert.equal(imported.status, 201, JSON.stringify(imported.body));
    assert.equal((await other.get(`/v1/artifacts/${id}`)).body.sha256, sha256("stays here"));
    assert.match(errorOf(await other.get(`/v1/artifacts/${id}/content`), 404).message, /not held here/);
  });
});

test("UPL-4 a server killed during an upload has no artifact and no content after a restart", async () => {
  // Given an upload under way, when the server is killed, then after a restart there is no artifact and nothing of the
  // content.
  await using directory = await temporaryDirectory();
  {
    await using server = await startProcess({ data: directory.path });
    const request = openUpload(new Client(server), { "content-length": "5000000" });
    request.write(Buffer.alloc(3_000_000, "half"));
    await until(
      async () =>
        blobsIn(directory.path).incoming.map((name) => statSync(join(directory.path, "blobs", name)).size),
      ([size = 0]) => size > 1_000_000,
    );
    await server.kill();
  }
  {
    await using server = await startServer({ data: directory.path });
    const client = new Client(server);
    assert.deepEqual(await client.listAll("/v1/artifacts"), []);
    assert.deepEqual(blobsIn(directory.path), { kept: [], incoming: [] });
    await server.stop();
  }
  await assertRebuildable(directory.path);
});

test("UPL-4 every listed artifact has its content after a kill around the upload's commit", async () => {
  // Given a server that is killed around the commit of an upload, when it starts again, then every artifact that is
  // listed has its content.
  await using directory = await temporaryDirectory();
  {
    await using server = await startServer({ data: directory.path });
    await server.stop();
  }
  for (const point of ["commit.begun:1", "commit.durable:1"]) {
    await using server = await startProcess({ data: directory.path, env: { BRIDLE_FAIL_POINT: point } });
    await assert.rejects(upload(new Client(server), `around ${point}`));
  }
  await using server = await startServer({ data: directory.path });
  const client = new Client(server);
  const artifacts = await client.listAll("/v1/artifacts");
  assert.equal(artifacts.length, 1, "the one whose commit was on disk");
  assert.equal((await download(client, artifacts[0].id)).bytes.toString(), "around commit.durable:1");
});

/** The most memory that a process has held so far, and holds now. */
function memoryOf({ process: { pid } }: TestProcess): { peak: number; now: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
  return { peak: megabytes("VmHWM"), now: megabytes("VmRSS") };
}

test("UPL-5 uploading and downloading a large file hardly grows the server's memory", {
  skip: !existsSync("/proc/self/status"),
}, async (t) => {
  // Given a file of 200 MB, when it is uploaded and downloaded, then the server's memory hardly grows.
  const megabytes = isThorough ? 400 : 200;
  const piece = randomBytes(1024 * 1024);
  const server = elsewhere;
  const client = new Client(server);
  const { id: warmed } = await uploaded(client, piece);
  await download(client, warmed);
  const before = memoryOf(server).now;
  const sum = createHash("sha256");
  const pieces = function* () {
    for (let n = 0; n < megabytes; n++) {
      piece.writeUInt32BE(n);
      const sent = Buffer.from(piece);
      sum.update(sent);
      yield sent;
    }
  };
  const request = openUpload(client, { "transfer-encoding": "chunked" });
  const answered = once(request, "response");
  await pipeline(Readable.from(pieces()), request);
  const [response]: IncomingMessage[] = await answered;
  assert.equal(response?.statusCode, 201);
  const artifact: Json = JSON.parse(Buffer.concat((await response?.toArray()) ?? []).toString());
  const hash = sum.digest("hex");
  assert.deepEqual([artifact.bytes, artifact.sha256], [megabytes * 1024 * 1024, hash]);
  const uploadPeak = memoryOf(server).peak - before;
  const got = await fetch(`${client.url}/v1/artifacts/${artifact.id}/content`, { headers: client.headers() });
  const received = createHash("sha256");
  for await (const chunk of got.body ?? []) received.update(chunk);
  assert.equal(received.digest("hex"), hash);
  const growth = memoryOf(server).peak - before;
  t.diagnostic(`grew by ${Math.round(uploadPeak)} MB during the upload, ${Math.round(growth)} MB in all`);
  assert.ok(growth < megabytes / 2, `grew by ${growth} MB`);
});
