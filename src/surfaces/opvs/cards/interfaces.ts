/** Where an agent is spoken to: every binding in every version, the one we like best first. */

import type { AgentInterfaceJson } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { ServerFacts } from "../../server-facts.ts";
import { endpointOf } from "../addresses.ts";

/** Where clients find this server. */
export interface CardAddresses {
  publicUrl: string;
  /** `host:port` of the gRPC binding; null when it is not served. */
  grpcAddress: string | null;
  credentials: ServerFacts["credentials"];
}

/** Clients reach gRPC by the name that they reach the rest by, at the port that it listens on. */
export function grpcAddressOf(publicUrl: string, grpcUrl: string): string {
  return `${new URL(publicUrl).hostname}:${new URL(grpcUrl).port}`;
}

/** gRPC has no paths, so an agent is named in `tenant` there. 0.3 has no `tenant`, so gRPC of 0.3 is the front door's. */
export function interfacesOf(addresses: CardAddresses, agent: string | null): AgentInterfaceJson[] {
  const { publicUrl, grpcAddress } = addresses;
  const endpoint = endpointOf(publicUrl, agent);
  const overHttp = (protocolVersion: string): AgentInterfaceJson[] => [
    { url: `${endpoint}/rpc`, protocolBinding: "JSONRPC", protocolVersion },
    { url: `${endpoint}/rest`, protocolBinding: "HTTP+JSON", protocolVersion },
  ];
  const overGrpc = (protocolVersion: string, tenant: string | null): AgentInterfaceJson[] =>
    grpcAddress === null
      ? []
      : [
          {
            url: grpcAddress,
            protocolBinding: "GRPC",
            ...(tenant === null ? {} : { tenant }),
            protocolVersion,
          },
        ];
  return [
    ...overHttp("1.0"),
    ...overGrpc("1.0", agent === null ? null : `@${agent}`),
    ...overHttp("0.3"),
    ...(agent === null ? overGrpc("0.3", null) : []),
  ];
}
