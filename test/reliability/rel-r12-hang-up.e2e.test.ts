/** REL-R12: a client that hangs up in the middle of its body is no error of the server. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { protocolVersion, until } from "../support/client.ts";
import { adminKey, startServer } from "../support/server.ts";

test("REL-R12 hanging up in the middle of a body leaves no error line, on every surface", async () => {
  await using server = await startServer({ env: { BRIDLE_LOG_LEVEL: "debug" } });
  const { hostname, port, host } = new URL(server.url);
  const paths = [
    "/v1/sessions",
    "/opvs/rpc",
    "/openharness/v1",
    "/mcp",
    "/harp/v1/artifacts",
    "/oauth/token",
  ];
  for (const path of paths) {
    const isForm = path === "/oauth/token";
    const type = path.startsWith("/harp") ? "application/harp+json" : "application/json";
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${adminKey}\r\n` +
        `Harn-Agents-Protocol-Version: ${protocolVersion}\r\nA2A-Version: 1.0\r\n` +
        `Content-Type: ${isForm ? "application/x-www-form-urlencoded" : type}\r\nContent-Length: 100000\r\n\r\n{"half":`,
    );
    await once(socket, "connect");
    // The server has begun to read the body when it has answered something that came later.
    await fetch(`${server.url}/health`);
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  const told = () =>
    server
      .output()
      .split("\n")
      .filter((line) => line.includes('"status":'));
  await until(
    async () => told().length,
    (count) => count >= paths.length,
  );
  const errors = server
    .output()
    .split("\n")
    .filter((line) => /"level":(?:40|50)/.test(line));
  assert.deepEqual(errors, []);
});
