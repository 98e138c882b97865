/** Where cards are found, as a Fastify plugin. Anybody may read them: there is nothing in them that is anybody's. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { AgentCardJson } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { HarnessError } from "../../../kernel/errors.ts";
import type { Kernel } from "../../../kernel/kernel.ts";
import { signCard } from "../../../policy/agent-card.ts";
import { keySetPath } from "../../addresses.ts";
import { SignedDocuments } from "../../signed-documents.ts";
import type { Arrival } from "../call.ts";
import { toWireError, type WireError } from "../errors.ts";
import { readServiceParameters, spellings } from "../service-parameters.ts";
import { agentCard } from "./agent-card.ts";
import { requireAgent } from "./front-agent.ts";
import { basePaths, type CardAddresses, endpointOf } from "./interfaces.ts";
import { legacyCard } from "./legacy-card.ts";

export interface CardOptions {
  kernel: Kernel;
  addresses(): CardAddresses;
  logger: Logger;
}

const wellKnown = "/.well-known/agent-card.json";

export function cards(options: CardOptions): (app: FastifyInstance) => Promise<void> {
  const { kernel } = options;
  const serve = cardServer(options);
  const catalogue = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header("Cache-Control", "public, max-age=60").send(catalogueOf(kernel, options.addresses()));
  return async (app) => {
    app.setErrorHandler((error, request, reply) => refuse(error, request, reply, options));
    app.get(wellKnown, serve);
    for (const base of basePaths) {
      app.get(`${base}${wellKnown}`, serve);
      app.get(`${base}/agents`, catalogue);
      app.get(`${base}/agents/:agent${wellKnown}`, serve);
      app.get(`${base}/agents/:agent/card`, serve);
    }
  };
}

function cardServer({ kernel, addresses }: CardOptions) {
  const signed = new SignedDocuments<AgentCardJson>(kernel.issuer, (card, key) =>
    signCard(card, key, addresses().publicUrl + keySetPath),
  );
  const legacy = new SignedDocuments<AgentCardJson>(kernel.issuer, legacyCard);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const place = agentOf(request);
    const { version } = readServiceParameters(arrivalOf(request));
    const card = agentCard(await requireAgent(kernel, place), place, addresses());
    const documents = version === "1.0" ? signed : legacy;
    const vary = [reply.getHeader("Vary") ?? [], spellings("Version")].flat();
    return documents.send(place ?? "", card, request, reply.header("Vary", vary.join(", ")));
  };
}

function agentOf({ params }: FastifyRequest): string | null {
  const { agent }: { agent?: unknown } = { ...Object(params) };
  return typeof agent === "string" ? agent : null;
}

/** All that is asked of a request for a card is the version that it speaks. */
function arrivalOf({ headers, query, ip }: FastifyRequest): Arrival {
  const given = Object.entries<unknown>({ ...Object(query) });
  return {
    header: (name) => [headers[name] ?? []].flat().join(",") || undefined,
    query(name) {
      const [, value] = given.find(([key]) => key.toLowerCase() === name.toLowerCase()) ?? [];
      return typeof value === "string" ? value : undefined;
    },
    address: ip,
    agent: null,
    signal: AbortSignal.any([]),
  };
}

/** Every agent that is loaded, and where its card is. */
function catalogueOf({ agents }: Kernel, { publicUrl }: CardAddresses): object {
  const listed = agents.list().map(({ name, version, description, card }) => ({
    name,
    version,
    description,
    public: card.public !== null,
    cardUrl: `${endpointOf(publicUrl, name)}${wellKnown}`,
  }));
  return { agents: listed };
}

function refuse(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { kernel, logger }: CardOptions,
): FastifyReply {
  const said = toWireError(error, kernel.redactor);
  if (said.unexpected) logger.error({ err: error, request_id: request.id }, "a request failed");
  // The protocol's own reasons are about tasks.
  const isAbsent = error instanceof HarnessError && error.code === "resource_not_found";
  return reply.code(said.http).send(bodyOf(isAbsent ? { ...said, details: [] } : said));
}

/** AIP-193. */
function bodyOf({ http, status, message, details }: WireError): object {
  return { error: { code: http, status, message, details } };
}
