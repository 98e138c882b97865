/** Where a card says that an agent is spoken to, with gRPC and without. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { grpcAddressOf, interfacesOf } from "./interfaces.ts";

const publicUrl = "https://bridle.example.com/base";
const credentials = { mutualTls: false, issuers: [] };
const grpcAddress = "bridle.example.com:50051";

function spoken(agent: string | null, address: string | null): string[] {
  return interfacesOf({ publicUrl, grpcAddress: address, credentials }, agent).map(
    ({ protocolBinding, protocolVersion, url, tenant }) =>
      [protocolBinding, protocolVersion, url, tenant].filter((each) => each !== undefined).join(" "),
  );
}

test("OPVS-119 lists gRPC under the agent's name, and for 0.3 at the front door only", () => {
  // Given gRPC, when the interfaces of an agent are listed, then it is there by the agent's name, and in 0.3, which has
  // no place for a name, at the front door only.
  assert.deepEqual(spoken("deployer", grpcAddress), [
    `JSONRPC 1.0 ${publicUrl}/opvs/agents/deployer/rpc`,
    `HTTP+JSON 1.0 ${publicUrl}/opvs/agents/deployer/rest`,
    `GRPC 1.0 ${grpcAddress} @deployer`,
    `JSONRPC 0.3 ${publicUrl}/opvs/agents/deployer/rpc`,
    `HTTP+JSON 0.3 ${publicUrl}/opvs/agents/deployer/rest`,
  ]);
  assert.deepEqual(spoken(null, grpcAddress), [
    `JSONRPC 1.0 ${publicUrl}/opvs/rpc`,
    `HTTP+JSON 1.0 ${publicUrl}/opvs/rest`,
    `GRPC 1.0 ${grpcAddress}`,
    `JSONRPC 0.3 ${publicUrl}/opvs/rpc`,
    `HTTP+JSON 0.3 ${publicUrl}/opvs/rest`,
    `GRPC 0.3 ${grpcAddress}`,
  ]);
});

test("OPVS-119 given no gRPC, when interfaces are listed, then none says so", () => {
  for (const agent of ["deployer", null])
    assert.ok(!spoken(agent, null).some((each) => each.includes("GRPC")));
});

test("OPVS-119 the gRPC address is the public host name with the gRPC port", () => {
  // Given where gRPC listens, when its address is told, then it is the public name with that port.
  assert.equal(
    grpcAddressOf("https://bridle.example.com/base", "http://0.0.0.0:50051"),
    "bridle.example.com:50051",
  );
  assert.equal(grpcAddressOf("http://127.0.0.1:8080", "http://127.0.0.1:33333"), "127.0.0.1:33333");
  assert.equal(grpcAddressOf("http://[::1]:8080", "https://[::1]:33333"), "[::1]:33333");
});
