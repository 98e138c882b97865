/** The services of the gRPC port: the operations by each name that they are published under, those of 0.3, and health. */

import {
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromJson,
} from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { A2AService as A2AService03 } from "../../../../proto/generated/a2a/v1/a2a_pb.js";
import { Health } from "../../../../proto/generated/grpc/health/v1/health_pb.js";
import { A2AService, OPVSService } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { ProtocolVersion } from "../call.ts";
import { isOperation } from "../operations.ts";
import type { Binding, Method } from "./binding.ts";
import { health } from "./health.ts";
import { legacy } from "./legacy.ts";

/** Which version each service speaks. */
const versionOf = new Map<DescService, ProtocolVersion>([
  [A2AService, "1.0"],
  [OPVSService, "1.0"],
  [A2AService03, "0.3"],
]);

export function addServices(router: ConnectRouter, binding: Binding, isReady: () => boolean): void {
  const services = [...versionOf.keys()].map(({ typeName }) => typeName);
  router.service(Health, health({ isReady, services: [...services, Health.typeName] }));
  for (const [service, version] of versionOf) {
    for (const method of service.methods) {
      addMethod(router, binding, method, methodOf(method, version));
    }
  }
}

/** Health is for everybody; the rest is for who may call. */
export async function gate(binding: Binding, context: HandlerContext): Promise<void> {
  const { service, method } = context;
  const version = versionOf.get(service);
  if (version !== undefined) await binding.admit(context, version, methodOf(method, version).operation);
}

function methodOf(method: DescMethod, version: ProtocolVersion): Method {
  return version === "1.0" ? current(method) : legacy(method.name);
}

function addMethod(router: ConnectRouter, binding: Binding, desc: DescMethod, method: Method): void {
  if (isUnary(desc)) router.rpc(desc, (request, context) => binding.unary(method, request, context));
  if (isStreaming(desc)) router.rpc(desc, (request, context) => binding.stream(method, request, context));
}

function isUnary(desc: DescMethod): desc is DescMethodUnary {
  return desc.methodKind === "unary";
}

function isStreaming(desc: DescMethod): desc is DescMethodServerStreaming {
  return desc.methodKind === "server_streaming";
}

/** Of 1.0, a method is the operation of its name. */
function current({ name, output }: DescMethod): Method {
  if (!isOperation(name)) throw new Error(`there is no operation ${name}`);
  return {
    operation: name,
    read: (message) => message,
    write: (answer) => fromJson(output, answer),
  };
}
