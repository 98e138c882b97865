/** Where cards are found, as a Fastify plugin. Anybody may read them: there is nothing in them that is anybody's. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AgentCardJson } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { HarnessError } from "../../../kernel/core/errors.ts";
import type { Kernel } from "../../../kernel/kernel.ts";
import { signCard, signHybrid } from "../../../policy/agent-card.ts";
import { keySetPath } from "../../addresses.ts";
import type { ServerFacts } from "../../server-facts.ts";
import { SignedDocuments } from "../../signed-documents.ts";
import { endpointOf, prefixes } from "../addresses.ts";
import { addressed } from "../agent.ts";
import { arrivalOf, setErrorHeaders } from "../http.ts";
import type { Opvs } from "../opvs.ts";
import { errorBody } from "../rest.ts";
import { readServiceParameters, spellings } from "../service-parameters.ts";
import { agentOf } from "../surface.ts";
import { showCard } from "../v03/card.ts";
import { agentCard } from "./agent-card.ts";

export interface CardOptions {
  kernel: Kernel;
  facts: ServerFacts;
}

const wellKnown = "/.well-known/agent-card.json";
/** As long as a card may be used without asking. */
const catalogueSeconds = 60;

export function cards(opvs: Opvs, options: CardOptions): (app: FastifyInstance) => Promise<void> {
  const sendCard = cardSender(options);
  const sendCatalogue = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header("Cache-Control", `public, max-age=${catalogueSeconds}`).send(catalogueOf(options));
  return async (app) => {
    app.setErrorHandler((error, request, reply) => refuse(opvs, error, request, reply));
    app.get(wellKnown, sendCard);
    for (const prefix of prefixes) {
      app.get(`${prefix}${wellKnown}`, sendCard);
      app.get(`${prefix}/agents`, sendCatalogue);
      app.get(`${prefix}/agents/:agent${wellKnown}`, sendCard);
      app.get(`${prefix}/agents/:agent/card`, sendCard);
    }
  };
}

/** The card at the front door as a client reads it that says no version, for those who show it elsewhere. */
export function frontDoorCard({ kernel, facts }: CardOptions): object {
  const addresses = {
    publicUrl: facts.url(),
    grpcAddress: facts.grpcAddress(),
    credentials: facts.credentials,
  };
  const card = agentCard(addressed({ kernel, agent: null }), null, addresses);
  return signHybrid(hybridCard(card), kernel.issuer.key, facts.url() + keySetPath);
}

function cardSender({ kernel, facts }: CardOptions) {
  const signed = new SignedDocuments<AgentCardJson>(kernel.issuer, (card, key) =>
    signCard(card, key, facts.url() + keySetPath),
  );
  const legacy = new SignedDocuments<AgentCardJson>(kernel.issuer, (card, key) =>
    signHybrid(hybridCard(card), key, facts.url() + keySetPath),
  );
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const agent = agentOf(request);
    // All that is asked of a request for a card is the version that it speaks.
    const { version } = readServiceParameters(arrivalOf(request, agent, new AbortController().signal));
    const addresses = {
      publicUrl: facts.url(),
      grpcAddress: facts.grpcAddress(),
      credentials: facts.credentials,
    };
    const card = agentCard(addressed({ kernel, agent }), agent, addresses);
    const vary = [reply.getHeader("Vary") ?? [], spellings("Version")].flat();
    const documents = version === "1.0" ? signed : legacy;
    return documents.send(agent ?? "", card, request, reply.header("Vary", vary.join(", ")));
  };
}

/**
 * The card as 0.3 has it and as 1.0 has it, in one: a client of either version that did not say which it is finds all that it
 * knows. Where both have a member of one name, it has the members of both.
 */
function hybridCard(card: AgentCardJson): object {
  const old = showCard(card);
  return {
    ...card,
    ...old,
    capabilities: { ...Object(old.capabilities), ...card.capabilities },
    securitySchemes: Object.fromEntries(
      Object.entries(card.securitySchemes ?? {}).map(([name, scheme]) => [
        name,
        { ...Object(Object(old.securitySchemes)[name]), ...scheme },
      ]),
    ),
  };
}

/** Every agent that is loaded, and where its card is. */
function catalogueOf({ kernel, facts }: CardOptions): object {
  const agents = kernel.agents.list().map(({ name, version, description, card }) => ({
    name,
    version,
    description,
    public: card.public !== null,
    cardUrl: `${endpointOf(facts.url(), name)}${wellKnown}`,
  }));
  return { agents };
}

function refuse(opvs: Opvs, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const said = opvs.fail(error, request.id);
  setErrorHeaders(reply, said);
  // The protocol's own reasons for what is absent are about tasks.
  const isAbsent = error instanceof HarnessError && error.code === "resource_not_found";
  return reply.code(said.http).send(errorBody(isAbsent ? { ...said, details: [] } : said));
}
