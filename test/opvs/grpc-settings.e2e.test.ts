/** The gRPC port and TLS as an operator sets them. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { get } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Command, CommanderError } from "commander";
import { Health } from "../../proto/generated/grpc/health/v1/health_pb.js";
import { A2AService, TaskState } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { problemWith, type ServeSettings, serveOptions } from "../../src/cli/settings/settings.ts";
import { bridle, errorLine } from "../support/cli.ts";
import { callOptions, grpcClient, refusalOf, script, tls } from "../support/grpc.ts";
import { startServer, temporaryDirectory, withGrpc } from "../support/server.ts";

const tlsFile = (name: string) => fileURLToPath(new URL(`../support/tls/${name}`, import.meta.url));
const tlsFlags = ["--tls-cert", tlsFile("localhost.crt"), "--tls-key", tlsFile("localhost.key")];

describe("The gRPC port", () => {
  test("GRP-21 a started server serves gRPC at the printed address, from the same log", async () => {
    // Given a server that is started, when it says where it speaks gRPC, then it does so there, with what is in the same
    // log.
    await using server = await startServer({ env: withGrpc });
    const { payload } = await grpcClient(server.grpcUrl()).sendMessage(script("return x"), callOptions());
    assert.ok(payload.case === "task");
    assert.equal(await server.stop(), 0);
    await using again = await startServer({ data: server.data, env: withGrpc });
    const task = await grpcClient(again.grpcUrl()).getTask({ id: payload.value.id }, callOptions());
    assert.equal(task.status?.state, TaskState.COMPLETED);
  });

  test("GRP-21 a taken gRPC port prints the setting, exits with 1 and frees the directory", async () => {
    // Given a gRPC port that is taken, when the server is started, then one line names the setting, the exit code is 1
    // and the directory is free.
    await using directory = await temporaryDirectory();
    const taken = createServer();
    await once(taken.listen(0, "127.0.0.1"), "listening");
    const address = taken.address();
    assert.ok(address !== null && typeof address === "object");
    const flags = ["--port", "0", "--data", directory.path];
    const ended = await bridle(["serve", ...flags, "--grpc-port", String(address.port)]);
    assert.match(errorLine(ended, 1), new RegExp(`gRPC port is taken.*${address.port}.*--grpc-port`));
    taken.close();
    await using server = await startServer({ data: directory.path, flags: ["--grpc-port", "off"] });
    assert.equal(server.grpcUrl(), "off");
  });

  test("GRP-21 rejects invalid gRPC settings, naming the setting and the reason", async () => {
    // Given settings that cannot be, when they are read, then it is said which one and why.
    await using directory = await temporaryDirectory();
    const missing = join(directory.path, "missing.pem");
    const cert = ["--tls-cert", tlsFile("localhost.crt")];
    const wrong: [args: string[], says: RegExp][] = [
      [["--grpc-port", "70000"], /--grpc-port.*70000.*65535, or off/],
      [["--grpc-port", "on"], /--grpc-port.*off/],
      [["--grpc-port", ""], /--grpc-port.*off/],
      [cert, /--tls-cert.*--tls-key.*both/],
      [["--tls-key", tlsFile("localhost.key")], /both, or neither/],
      [["--tls-cert", missing], /--tls-cert.*cannot be read \(ENOENT\)/],
      [["--tls-cert", directory.path], /--tls-cert.*cannot be read \(EISDIR\)/],
      [["--tls-cert", tlsFile("localhost.key")], /--tls-cert.*no CERTIFICATE/],
      [["--tls-key", tlsFile("localhost.crt")], /--tls-key.*no PRIVATE KEY/],
      [[...cert, "--tls-key", tlsFile("other.key")], /must be that of the certificate/],
      [[...cert, "--tls-key", tlsFile("locked.key")], /not locked with a passphrase/],
    ];
    for (const [args, says] of wrong) assert.match(problemWithFlags(args) ?? "", says, args.join(" "));
    for (const args of [tlsFlags, [], ["--grpc-port", "off"]]) assert.equal(problemWithFlags(args), null);
    const ended = await bridle(["serve"], { env: { BRIDLE_TLS_CERT: tlsFile("localhost.crt") } });
    assert.match(errorLine(ended, 2), /--tls-key/);
  });
});

/** What `bridle serve` says of its flags before it does anything; null when they are right. */
function problemWithFlags(args: string[]): string | null {
  const command = new Command().exitOverride().configureOutput({ outputError: () => undefined });
  for (const option of serveOptions) command.addOption(option);
  try {
    return problemWith(command.parse(args, { from: "user" }).opts<ServeSettings>(), [], null);
  } catch (error) {
    assert.ok(error instanceof CommanderError);
    return error.message;
  }
}

describe("TLS", () => {
  test("GRP-22, OPVS-108, OPVS-133 a certificate makes gRPC, gRPC-Web and HTTPS serve TLS only", async () => {
    // Given a certificate, when clients come by gRPC, gRPC-Web and HTTPS, then all of them are served encrypted and
    // nobody otherwise.
    await using server = await startServer({ flags: tlsFlags, env: withGrpc });
    const baseUrl = server.grpcUrl();
    assert.match(baseUrl, /^https:/);
    assert.match(server.url, /^https:/);
    const nodeOptions = { ca: tls.cert };
    const transports: Record<string, Transport> = {
      "gRPC over HTTP/2": createGrpcTransport({ baseUrl, nodeOptions }),
      "gRPC-Web over HTTP/1.1": createGrpcWebTransport({ baseUrl, httpVersion: "1.1", nodeOptions }),
      "gRPC-Web over HTTP/2": createGrpcWebTransport({ baseUrl, httpVersion: "2", nodeOptions }),
    };
    for (const [name, transport] of Object.entries(transports)) {
      const client = createClient(A2AService, transport);
      const states: (TaskState | undefined)[] = [];
      for await (const { payload } of client.sendStreamingMessage(script("return x"), callOptions())) {
        if (payload.case === "statusUpdate") states.push(payload.value.status?.state);
      }
      assert.equal(states.at(-1), TaskState.COMPLETED, name);
    }
    const plain = createClient(Health, createGrpcTransport({ baseUrl: baseUrl.replace("https:", "http:") }));
    await refusalOf(() => plain.check({}));
    const unknown = createClient(Health, createGrpcTransport({ baseUrl }));
    await refusalOf(() => unknown.check({}));

    const [answer] = await once(get(`${server.url}/health`, { ca: tls.cert }), "response");
    assert.equal(answer.statusCode, 200);
    assert.match(answer.headers["strict-transport-security"], /max-age/);
    answer.resume();
    await assert.rejects(fetch(server.url.replace("https:", "http:")));
    assert.equal(await server.stop(), 0);
  });
});
