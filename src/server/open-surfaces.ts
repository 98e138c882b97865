/** The surfaces of a server, in one list, and what they are served by: HTTP, gRPC, HARP on a port of its own. */

import { join } from "node:path";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { systemClock } from "../kernel/core/clock.ts";
import { consoleFolder } from "../package-files.ts";
import type { RuntimeLoad } from "../runtime/runtime.ts";
import { harpPath } from "../surfaces/addresses.ts";
import { type CertificateWatch, watchCertificates } from "../surfaces/certificate-watch.ts";
import { ConsoleAssets } from "../surfaces/console/assets.ts";
import { ConsoleSessions } from "../surfaces/console/sessions.ts";
import { SignInLinks } from "../surfaces/console/sign-in-links.ts";
import { admitSessions, consoleSurface } from "../surfaces/console/surface.ts";
import { subprotocol } from "../surfaces/credentials.ts";
import { harn, harnFail, harnReport, type Report } from "../surfaces/harn/surface.ts";
import { createHarpHttp, harpBinding } from "../surfaces/harp/binding.ts";
import { type HarpOptions, harp, harpFail, isHarpAddress } from "../surfaces/harp/surface.ts";
import { closeHttp, createHttp } from "../surfaces/http.ts";
import { failMcp } from "../surfaces/mcp/errors.ts";
import { isMcpAddress, mcp } from "../surfaces/mcp/surface.ts";
import { oauth } from "../surfaces/oauth/surface.ts";
import { Engine } from "../surfaces/openharness/engine.ts";
import { failOpenHarness, isOpenHarnessAddress, openHarness } from "../surfaces/openharness/surface.ts";
import { cards, frontDoorCard } from "../surfaces/opvs/cards/routes.ts";
import type { Grpc, GrpcOptions } from "../surfaces/opvs/grpc/server.ts";
import { Opvs } from "../surfaces/opvs/opvs.ts";
import { failOpvs, isOpvsAddress, opvsHttp } from "../surfaces/opvs/surface.ts";
import { isReady, readRefusalOf, type ServerFacts } from "../surfaces/server-facts.ts";
import { WebSockets } from "../surfaces/websocket.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { version } from "../version.ts";
import type { KernelParts } from "./build-kernel.ts";
import type { ServerConfig } from "./config.ts";
import type { Lifetime } from "./lifetime.ts";
import type { Stores } from "./stores.ts";

interface Surface {
  plugin: FastifyPluginAsync;
  /** Its routes lie below this. */
  prefix?: string;
  /** Words the errors of its addresses, also of those that it has no route for. */
  errors?: {
    owns(request: FastifyRequest): boolean;
    fail(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply;
  };
}

interface Beneath extends KernelParts {
  stores: Stores;
  facts: ServerFacts;
  metrics: Metrics | null;
  lifetime: Lifetime;
  /** What the runtime has to do; asked once it has started. */
  load(): RuntimeLoad;
}

export interface OpenSurfaces {
  links: SignInLinks;
  listen(): Promise<Listening>;
}

export interface Listening {
  url: string;
  grpcUrl: string | null;
  harpUrl: string | null;
  certificates: CertificateWatch | null;
}

/** Nobody is served before `listen` is called. */
export async function openSurfaces(config: ServerConfig, beneath: Beneath): Promise<OpenSurfaces> {
  const { kernel, gateway, facts, metrics, lifetime } = beneath;
  const { logger, tls, heartbeatMs, bodyBytesMax } = config;
  const { stopped } = lifetime;
  const shared = { kernel, facts, logger, stopped, heartbeatMs };
  const opvs = new Opvs({
    ...shared,
    isLenient: config.opvsLenientVersion,
    anonymousMs: config.anonymousMs,
  });
  const engine = new Engine({ ...shared, ...config.openHarness });
  const isMutualTls = tls?.clientCa !== undefined;
  const binding = harpBinding({ ...shared, gateway, isEnforcer: true, isMutualTls });
  const sockets = new WebSockets({
    payloadBytesMax: bodyBytesMax,
    heartbeatMs,
    protocol: subprotocol,
    stopped,
  });
  const report = harnReport(logger, kernel.redactor);
  const now = () => systemClock.now();
  const sessions = new ConsoleSessions({ file: join(config.dataDirectory, "console-sessions.json"), now });
  const links = new SignInLinks(now);
  const isHttps = config.publicUrl?.startsWith("https:") ?? tls !== null;
  const surfaces = surfacesOf(config, beneath, {
    ...{ shared, opvs, engine, binding, sockets, report, sessions, links, isHttps },
    openWebSockets: () => sockets.openCount + binding.sockets.openCount,
  });
  const failHarn = harnFail(report);
  const newRequestId = () => kernel.newId("req");
  const httpOptions = { ...config, newRequestId, isHttps, readRefusal: () => readRefusalOf(facts) };
  const watch = metrics?.http ?? null;
  const http = createHttp({
    ...httpOptions,
    watch,
    fail(error, request, reply) {
      const fail = surfaces.find(({ errors }) => errors?.owns(request))?.errors?.fail ?? failHarn;
      return fail(error, request, reply);
    },
  });
  admitSessions(http, sessions);
  for (const { plugin, prefix } of surfaces) {
    await http.register(plugin, prefix === undefined ? {} : { prefix });
  }
  const harpHttp = config.harpPort === null ? null : await createHarpHttp(binding, { ...httpOptions, watch });
  const grpc = await grpcFor(config, {
    ...{ opvs, newRequestId, stopped },
    isReady: () => isReady(facts),
    watch: metrics?.grpc ?? null,
  });
  lifetime.built.defer(async () => {
    await Promise.all([closeHttp(http), harpHttp === null ? null : closeHttp(harpHttp), grpc?.close()]);
  });
  lifetime.built.defer(() => lifetime.endAnswers());
  return {
    links,
    async listen() {
      const { host } = config;
      const grpcUrl = (await grpc?.listen()) ?? null;
      const harpUrl = (await harpHttp?.listen({ host, port: config.harpPort ?? 0 })) ?? null;
      const url = await http.listen({ host, port: config.port });
      const servers = [http.server, harpHttp?.server, grpc?.server];
      const certificates = lifetime.built.use(watchCertificates(tls, servers, logger));
      return { url, grpcUrl, harpUrl, certificates };
    },
  };
}

interface SurfaceParts {
  shared: Pick<Beneath, "kernel" | "facts"> &
    Pick<ServerConfig, "logger" | "heartbeatMs"> & { stopped: AbortSignal };
  opvs: Opvs;
  engine: Engine;
  binding: HarpOptions;
  sockets: WebSockets;
  report: Report;
  sessions: ConsoleSessions;
  links: SignInLinks;
  isHttps: boolean;
  openWebSockets(): number;
}

/** What none of them claims is Harn's. */
function surfacesOf(config: ServerConfig, beneath: Beneath, parts: SurfaceParts): Surface[] {
  const { kernel, adminKey, facts } = beneath;
  const { shared, opvs, engine, binding, sockets, report, sessions, links, isHttps, openWebSockets } = parts;
  return [
    {
      plugin: harn({
        ...{ ...shared, report, sockets, helloMs: config.webSocket.helloMs },
        artifactBytesMax: config.artifactBytesMax,
        a2aCard: () => frontDoorCard({ kernel, facts }),
        metrics: metricsPage(config, beneath, openWebSockets),
      }),
    },
    {
      plugin: opvsHttp(opvs, shared),
      errors: {
        owns: isOpvsAddress,
        fail: (error, request, reply) => failOpvs(opvs, error, request, reply),
      },
    },
    {
      plugin: openHarness({ ...shared, engine, sockets }),
      errors: {
        owns: isOpenHarnessAddress,
        fail: (error, _request, reply) => failOpenHarness(engine, error, reply),
      },
    },
    {
      plugin: mcp(shared),
      errors: { owns: isMcpAddress, fail: (error, _request, reply) => failMcp(shared, error, reply) },
    },
    { plugin: harp(binding), prefix: harpPath, errors: { owns: isHarpAddress, fail: harpFail(binding) } },
    { plugin: oauth({ kernel, url: facts.url, logger: config.logger }) },
    { plugin: cards(opvs, { kernel, facts }) },
    {
      plugin: consoleSurface({
        ...{ kernel, adminKey, sessions, links, version, isHttps, crash: config.crash },
        assets: new ConsoleAssets(consoleFolder),
      }),
    },
  ];
}

function metricsPage(config: ServerConfig, beneath: Beneath, openWebSockets: () => number) {
  const { metrics, facts, load, stores } = beneath;
  if (metrics === null) return null;
  const { dataDirectory } = config;
  const page = metrics.page({
    isReady: () => isReady(facts),
    load,
    runsMax: config.concurrency,
    openWebSockets,
    logPosition: () => stores.log.head(),
    dataDirectory,
    stores: {
      log: { directory: dataDirectory, writeFault: () => stores.log.writeFault() },
      gateway: {
        directory: join(dataDirectory, "gateway"),
        writeFault: () => stores.gateway.writeFault(),
      },
    },
  });
  return { ...page, isOpen: config.metrics === "open" };
}

type GrpcParts = Pick<GrpcOptions, "opvs" | "newRequestId" | "isReady" | "stopped" | "watch">;

async function grpcFor(config: ServerConfig, parts: GrpcParts): Promise<Grpc | null> {
  const { grpcPort } = config;
  if (grpcPort === null) return null;
  // What speaks it is large; a server that does not need not load it.
  const { createGrpc } = await import("../surfaces/opvs/grpc/server.ts");
  return createGrpc({ ...config, ...parts, port: grpcPort });
}
