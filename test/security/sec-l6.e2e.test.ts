/** SEC-L6: a web page cannot use a server on its visitor's machine, by DNS rebinding or across origins. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { bridle, errorLine } from "../support/cli.ts";
import { protocolVersion } from "../support/client.ts";
import { startGateway } from "../support/harp.ts";
import { adminKey, startServer, type TestServer } from "../support/server.ts";

let server: TestServer;

before(async () => {
  server = await startServer({
    flags: ["--grpc-port", "0", "--harp-port", "0", "--cors-origin", "https://app.example.com"],
    env: { BRIDLE_PUBLIC_URL: "https://bridle.example.com" },
  });
});
after(() => server[Symbol.asyncDispose]());

interface Sent {
  method?: string;
  path: string;
  headers?: Record<string, string>;
}

/** One request as raw text, since HTTP clients choose the Host header themselves. */
async function answerTo(url: string, { method = "GET", path, headers = {} }: Sent): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const lines = Object.entries({ Host: host, Connection: "close", ...headers });
  const socket = connect(Number(port), hostname);
  socket.write(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
  );
  const [answer]: Buffer[] = await once(socket, "data");
  socket.destroy();
  return String(answer);
}

async function send(url: string, sent: Sent): Promise<number> {
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await answerTo(url, sent))?.[1]);
}

const withKey = {
  Authorization: `Bearer ${adminKey}`,
  "Harn-Agents-Protocol-Version": protocolVersion,
};
/** One address of each surface, with what it answers to a host that is ours. */
const surfaces: [path: string, status: number][] = [
  ["/health", 200],
  ["/v1/agent-card", 200],
  ["/v1/sessions", 200],
  ["/.well-known/agent-card.json", 200],
  ["/opvs/rest/tasks", 200],
  ["/harp/v1/status", 200],
  ["/.well-known/jwks.json", 200],
  ["/", 200],
  ["/nothing/here", 404],
];

describe("Host", () => {
  const foreign = [
    ...["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"],
    ...["192.0.2.7", "[2001:db8::1]:80", "", "localhost:80:80", "app.example.com"],
  ];

  for (const [path, status] of surfaces) {
    test(`SEC-L6 ${path} answers under its own names and refuses every other Host`, async () => {
      const { port } = new URL(server.url);
      const own = [`127.0.0.1:${port}`, "localhost", "[::1]:9", "LocalHost:1", "bridle.example.com"];
      for (const host of own) {
        const headers = { Host: host, ...withKey, "A2A-Version": "1.0" };
        assert.equal(await send(server.url, { path, headers }), status, host);
      }
      for (const host of foreign) {
        const headers = { Host: host, ...withKey, "A2A-Version": "1.0" };
        assert.equal(await send(server.url, { path, headers }), 403, host);
      }
    });
  }

  test("SEC-L6 upgrades, MCP, the HARP port and gRPC-Web refuse a foreign Host", async () => {
    const upgrade = { Connection: "Upgrade", Upgrade: "websocket" };
    const key = { "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==" };
    const socket = { path: "/v1/events/stream", headers: { ...withKey, ...upgrade, ...key } };
    assert.equal(await send(server.url, socket), 101);
    const headers = { ...socket.headers, Host: "evil.example" };
    assert.equal(await send(server.url, { ...socket, headers }), 403);
    const refused = { method: "POST", headers: { Host: "evil.example", "Content-Length": "0" } };
    assert.equal(await send(server.url, { ...refused, path: "/mcp" }), 403);
    assert.equal(await send(server.harpUrl(), { ...refused, path: "/v1/artifacts" }), 403);
    assert.equal(await send(server.grpcUrl(), { ...refused, path: "/grpc.health.v1.Health/Check" }), 403);
  });

  test("SEC-L6 gRPC over HTTP/2 refuses a foreign :authority with PERMISSION_DENIED", async () => {
    const session = connectHttp2(server.grpcUrl());
    const statusFor = async (authority: string) => {
      const stream = session.request({
        ":method": "POST",
        ":path": "/grpc.health.v1.Health/Check",
        ":authority": authority,
        "content-type": "application/grpc+proto",
        te: "trailers",
      });
      let status: unknown;
      stream.on("response", (headers) => {
        status ??= headers["grpc-status"];
      });
      stream.on("trailers", (headers) => {
        status ??= headers["grpc-status"];
      });
      stream.end(Buffer.alloc(5)).resume();
      await once(stream, "close");
      return status;
    };
    assert.equal(await statusFor("localhost:1"), "0");
    assert.equal(await statusFor("evil.example"), String(Code.PermissionDenied));
    session.close();
  });

  test("SEC-L6 --allowed-hosts adds names, on bridle gateway too, and takes no URL", async () => {
    const flags = ["--allowed-hosts", "agents.internal", "host.docker.internal"];
    await using named = await startServer({ flags });
    await using gateway = await startGateway({ standalone: true, flags });
    for (const [url, path] of [
      [named.url, "/health"],
      [gateway.server.url, "/v1/status"],
    ] as const) {
      const statusFor = (host: string) => send(url, { path, headers: { Host: host } });
      assert.equal(await statusFor("Agents.Internal:8080"), 200);
      assert.equal(await statusFor("other.internal"), 403);
    }
    const ended = await bridle(["serve", "--allowed-hosts", "https://agents.internal"]);
    assert.match(errorLine(ended, 2), /--allowed-hosts.*without a scheme/);
  });
});

describe("Origin", () => {
  const foreign = ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example"];

  test("SEC-L6 a foreign Origin is refused on writes, with credentials and on upgrades", async () => {
    const guarded: Sent[] = [
      { path: "/v1/sessions", headers: withKey },
      { method: "POST", path: "/v1/sessions", headers: { "Content-Length": "0" } },
      { method: "POST", path: "/opvs/rest/message:send", headers: { "Content-Length": "0" } },
      { method: "POST", path: "/oauth/token", headers: { "Content-Length": "0" } },
      { method: "POST", path: "/harp/v1/artifacts", headers: { "Content-Length": "0" } },
      { method: "POST", path: "/mcp", headers: { "Content-Length": "0" } },
      { path: "/v1/events/stream?ticket=x", headers: { Connection: "Upgrade", Upgrade: "websocket" } },
    ];
    for (const sent of guarded) {
      const from = (origin: string) =>
        send(server.url, { ...sent, headers: { ...sent.headers, Origin: origin } });
      for (const origin of foreign) assert.equal(await from(origin), 403, `${sent.path} from ${origin}`);
      for (const origin of [server.url, "https://bridle.example.com", "https://app.example.com"]) {
        assert.notEqual(await from(origin), 403, `${sent.path} from ${origin}`);
      }
    }
    const grpc = { method: "POST", path: "/grpc.health.v1.Health/Check" };
    assert.equal(await send(server.grpcUrl(), { ...grpc, headers: { Origin: "https://evil.example" } }), 403);
  });

  test("SEC-L6 protocols that report errors in the body report the refusal there", async () => {
    for (const path of ["/openharness/v1", "/opvs/rpc"]) {
      const from = (headers: Record<string, string>) =>
        answerTo(server.url, { method: "POST", path, headers: { "Content-Length": "0", ...headers } });
      assert.match(await from({ Origin: "https://evil.example" }), /Pages of this origin may not/);
      assert.match(await from({ Host: "evil.example" }), /Host header does not name this server/);
      assert.doesNotMatch(await from({ Origin: server.url }), /may not use|does not name/);
    }
  });

  test("SEC-L6 what is public can be read from every origin", async () => {
    for (const path of ["/health", "/.well-known/agent-card.json", "/.well-known/jwks.json"]) {
      assert.equal(await send(server.url, { path, headers: { Origin: "https://evil.example" } }), 200);
    }
  });
});
