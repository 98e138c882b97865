/** SEC-TLS: no plain HTTP beyond this machine by accident, and certificates that are renewed without a restart. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connect, createServer, type Server as TlsServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { gatewayDefaults } from "../../src/harp/gateway/settings.ts";
import { startGatewayServer } from "../../src/server/gateway-server.ts";
import { createLogger } from "../../src/server/logger.ts";
import { startServer as startInProcess } from "../../src/server/server.ts";
import { watchCertificates } from "../../src/surfaces/certificate-watch.ts";
import { problemWithExposure, tlsOptions } from "../../src/surfaces/tls.ts";
import { bridle, errorLine } from "../support/cli.ts";
import { until } from "../support/client.ts";
import { startProcess, startServer, temporaryDirectory } from "../support/server.ts";

const pem = (name: string) => fileURLToPath(new URL(`../support/tls/${name}`, import.meta.url));
const silent = createLogger("silent", []);

describe("Listening beyond this machine", () => {
  test("SEC-TLS only TLS, a trusted proxy or --insecure-http open a port to other machines", () => {
    const plain = { tls: null, insecureHttp: false, trustedProxies: [] };
    for (const host of ["127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST", "::ffff:127.0.0.1"]) {
      assert.equal(problemWithExposure({ ...plain, host }), null, host);
    }
    for (const host of ["0.0.0.0", "::", "", "10.0.0.5", "bridle.example.com", "localhost.example.com"]) {
      assert.match(problemWithExposure({ ...plain, host }) ?? "", /without TLS.*--tls-cert.*--insecure-http/);
      for (const allowed of [
        { tls: { cert: "", key: "" } },
        { insecureHttp: true },
        { trustedProxies: ["10.0.0.1"] },
      ]) {
        assert.equal(problemWithExposure({ ...plain, ...allowed, host }), null);
      }
    }
  });

  for (const command of ["serve", "gateway", "dev"]) {
    test(`SEC-TLS bridle ${command} --host 0.0.0.0 prints one line and exits with 2`, async () => {
      await using directory = await temporaryDirectory();
      const ended = await bridle([command, "--host", "0.0.0.0", "--port", "0", "--data", directory.path]);
      assert.match(errorLine(ended, 2), /Refusing to listen on 0\.0\.0\.0 without TLS.*--insecure-http/);
    });
  }

  test("SEC-TLS a program that starts a server on all addresses without TLS gets an error", async () => {
    await using directory = await temporaryDirectory();
    const exposed = { host: "::", port: 0, dataDirectory: directory.path, logger: silent };
    await assert.rejects(startInProcess(exposed), /Refusing to listen on :: without TLS/);
    const gateway = {
      apiKey: null,
      authFailuresMax: 1,
      trustedProxies: [],
      allowedHosts: [],
      settings: gatewayDefaults,
    };
    const started = startGatewayServer({ ...exposed, ...gateway, tls: null, insecureHttp: false });
    await assert.rejects(started, /Refusing to listen on :: without TLS/);
  });

  test("SEC-TLS BRIDLE_INSECURE_HTTP opens all ports in plain HTTP", async () => {
    await using server = await startServer({
      flags: ["--host", "0.0.0.0", "--harp-port", "0", "--grpc-port", "0"],
      env: { BRIDLE_INSECURE_HTTP: "true" },
    });
    const { port } = new URL(server.url);
    assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200);
    assert.match(server.grpcUrl(), /^http:/);
  });
});

describe("Renewed certificates", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  before(async () => {
    directory = await temporaryDirectory();
  });
  after(() => directory[Symbol.asyncDispose]());

  const files = () => ({ cert: join(directory.path, "cert.pem"), key: join(directory.path, "key.pem") });
  const install = (cert: string, key: string) => {
    copyFileSync(pem(cert), files().cert);
    copyFileSync(pem(key), files().key);
  };
  const read = () => ({
    cert: readFileSync(files().cert, "utf8"),
    key: readFileSync(files().key, "utf8"),
    files: files(),
  });

  /** The subject of the certificate that a new connection is shown. */
  async function servedAt(url: string): Promise<string> {
    const { port } = new URL(url);
    const socket = connect({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  }

  test("SEC-TLS HTTP, gRPC and HARP serve a changed certificate, and keep the old one over a broken one", async () => {
    install("localhost.crt", "localhost.key");
    await using data = await temporaryDirectory();
    const lines: string[] = [];
    const logger = createLogger("info", [], { write: (line) => lines.push(line) });
    const ports = { port: 0, grpcPort: 0, harpPort: 0 };
    const server = await startInProcess({ ...ports, dataDirectory: data.path, tls: read(), logger });
    try {
      const served = () =>
        Promise.all([server.url, server.grpcUrl ?? "", server.harpUrl ?? ""].map(servedAt));
      const first = await served();
      assert.equal(new Set(first).size, 1);

      install("stranger.crt", "other.key");
      server.certificates?.reload();
      const second = await served();
      assert.equal(new Set(second).size, 1);
      assert.notEqual(second[0], first[0]);

      const broken: (() => void)[] = [
        () => writeFileSync(files().cert, "-----BEGIN CERTIFICATE-----\nhalf of"),
        () => install("localhost.crt", "other.key"),
      ];
      for (const breakFiles of broken) {
        lines.length = 0;
        breakFiles();
        server.certificates?.reload();
        assert.deepEqual(await served(), second);
        const told = lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40);
        assert.deepEqual(
          told.map(({ event, file }) => [event, file]),
          [["tls.reload_failed", files().cert]],
        );
      }
    } finally {
      await server.stop(0);
    }
  });

  test("SEC-TLS a change of the files is noticed without a signal", async () => {
    install("localhost.crt", "localhost.key");
    const server: TlsServer = createServer(tlsOptions(read()));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    assert.ok(address !== null && typeof address === "object");
    const url = `https://127.0.0.1:${address.port}`;
    using watch = watchCertificates(read(), [server, undefined], silent, 20);
    assert.ok(watch !== null);
    const first = await servedAt(url);
    install("stranger.crt", "other.key");
    await until(
      () => servedAt(url),
      (fingerprint) => fingerprint !== first,
    );
    server.close();
  });

  test("SEC-TLS SIGHUP reloads the certificate of bridle serve", async () => {
    install("localhost.crt", "localhost.key");
    const { cert, key } = files();
    await using server = await startProcess({ flags: ["--tls-cert", cert, "--tls-key", key] });
    const first = await servedAt(server.url);
    install("stranger.crt", "other.key");
    server.process.kill("SIGHUP");
    await until(
      () => servedAt(server.url),
      (fingerprint) => fingerprint !== first,
    );
    assert.equal(await server.stop(), 0);
  });
});
