/** SEC-H6: whoever may not use a route is refused before its body is read, on every route of every surface. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { A2AService as A2AService03 } from "../../proto/generated/a2a/v1/a2a_pb.js";
import { A2AService, OPVSService } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { harpMediaType } from "../../src/harp/core/wire.ts";
import { harpRoutes } from "../../src/surfaces/harp/surface.ts";
import { operations } from "../../src/surfaces/opvs/operations.ts";
import { restRoutes } from "../../src/surfaces/opvs/rest.ts";
import { v03Routes } from "../../src/surfaces/opvs/v03/routes.ts";
import { Client, type Json } from "../support/client.ts";
import { type GrpcServer, startGrpcServer } from "../support/grpc.ts";
import { answerBeforeBody, grpcStatusBeforeMessage, wholeAnswerBeforeBody } from "../support/unfinished.ts";

let server: GrpcServer;
/** A valid key that may do nothing of what is tried here. */
let nobody: Client;
before(async () => {
  server = await startGrpcServer();
  const admin = new Client(server);
  nobody = await admin.withScopes("metrics:read");
});
after(() => server[Symbol.asyncDispose]());

function refusal(method: string, path: string, headers: Record<string, string> = {}): Promise<number> {
  // Parameters are written in braces, by HARP with a colon.
  const url = server.url + path.replaceAll(/\{\w+\}|(?<=\/):\w+/g, "x");
  return answerBeforeBody(url, { method, headers: nobody.headers(headers) });
}

test("SEC-H6 every route of /v1 with a body refuses a key without its scope before the body", async () => {
  const { body: document } = await nobody.get("/openapi.json");
  let count = 0;
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(item)) {
      if (method === "get") continue;
      count += 1;
      const [type] = Object.keys(operation.requestBody?.content ?? { "application/json": {} });
      const status = await refusal(method.toUpperCase(), path, { "content-type": String(type) });
      const isSigned = operation.security?.[0]?.webhookSignature !== undefined;
      // Whoever signs is nobody until the signature is checked: too large a body is refused by its length.
      assert.equal(status, isSigned ? 413 : 403, `${method} ${path}`);
    }
  }
  assert.ok(count > 50, `${count} routes were tried`);
});

describe("OPVS", () => {
  test("SEC-H6 every POST of the REST bindings is refused before the body", async () => {
    const tried = [
      ...restRoutes.map((route) => ({ ...route, base: "/opvs/rest", version: "1.0" })),
      ...v03Routes.map((route) => ({ ...route, base: "/a2a/rest/v1", version: "0.3" })),
    ].filter(({ methods }) => methods.includes("POST"));
    assert.ok(tried.length >= 8);
    for (const { base, path, version } of tried) {
      const address = `${base}/${path.join("/")}`;
      assert.equal(await refusal("POST", address, { "a2a-version": version }), 403, address);
    }
  });

  test("SEC-H6 every gRPC method is refused before the message", async () => {
    const permissionDenied = 7;
    for (const service of [A2AService, OPVSService, A2AService03]) {
      for (const { name } of service.methods) {
        // The extended card is for everybody with a key, and brings no content.
        if (/Card$/.test(name)) continue;
        const path = `/${service.typeName}/${name}`;
        const version = service === A2AService03 ? "0.3" : "1.0";
        const headers = { authorization: `Bearer ${nobody.key}`, "a2a-version": version };
        assert.equal(await grpcStatusBeforeMessage(server.grpcUrl, path, headers), permissionDenied, path);
      }
    }
  });

  test("SEC-H6 every operation but the extended card has a scope", () => {
    const open = Object.entries(operations).filter(([, { scope }]) => scope === null);
    assert.deepEqual(
      open.map(([name]) => name),
      ["GetExtendedAgentCard"],
    );
  });
});

test("SEC-H6 OpenHarness and every route of HARP are refused before the body", async () => {
  // Its refusals are messages, and the status says only that there is one.
  const shell = await wholeAnswerBeforeBody(`${server.url}/openharness/v1`, { headers: nobody.headers() });
  assert.match(shell.text, /tasks:write/);
  const routes = harpRoutes({ isEnforcer: true }).filter(({ method }) => method !== "GET");
  assert.ok(routes.length > 5);
  for (const { method, path, isPlatform = false } of routes) {
    const headers = { "content-type": isPlatform ? "application/json" : harpMediaType };
    assert.equal(await refusal(method, `/harp${path}`, headers), 403, `${method} ${path}`);
  }
});
