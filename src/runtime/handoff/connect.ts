/** From the URL that an agent's author wrote to a client of the official library: card, trust, interface, credentials. */

import { AgentCard } from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import type { Trust } from "../../kernel/kinds/handoff.ts";
import type { Fetch } from "../../policy/outbound.ts";
import type { JsonObject } from "../../store/port.ts";
import { assertTrusted } from "./card-trust.ts";
import { RemoteProblem } from "./problems.ts";
import { createRemoteFetch } from "./remote-fetch.ts";

const cardPath = ".well-known/agent-card.json";
const requestMsMax = 30_000;
/** Each of these is a way to speak that the client library knows. */
const bindings: readonly string[] = ["JSONRPC", "HTTP+JSON"];
const legacyCompat = { enabled: true };

export interface RemoteAddress {
  url: string;
  trust: Trust | null;
  token: string | null;
  headers: Record<string, string>;
  fetch: Fetch;
  now: number;
  signal: AbortSignal;
  /** Throws when the persona does not let work go there. */
  assertAllowed: (url: string) => void;
}

export interface Connection {
  client: Client;
  isStreaming: boolean;
  /** The extensions that the card declares. */
  extensions: readonly string[];
}

export async function connect(address: RemoteAddress): Promise<Connection> {
  const { url, trust, token, headers, signal } = address;
  const { origin } = new URL(url);
  const plain = createRemoteFetch({ ...address, mayHaveToken: (to) => to.origin === origin });
  const readJson = (from: string) => readJsonFrom(plain, from, signal);
  const raw = await readJson(cardUrl(url));
  if (!isObject(raw)) throw new RemoteProblem("not_an_agent", `There is no agent card at ${url}.`);
  if (trust !== null)
    await assertTrusted(raw, trust, (from) => readJsonFrom(address.fetch, from, signal), address.now);
  const card = parseCard(raw, url);
  const chosen = chooseInterface(card);
  const target = interfaceUrl(chosen.url);
  // An unsigned card could send the work, and the token with it, to anybody.
  if (target.origin !== origin) address.assertAllowed(target.href);
  const trustedOrigins = trust === null ? [origin] : [origin, target.origin];
  const fetchImpl = createRemoteFetch({
    fetch: address.fetch,
    token,
    headers,
    mayHaveToken: (to) => trustedOrigins.includes(to.origin),
  });
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
      new RestTransportFactory({ fetchImpl, legacyCompat }),
    ],
  });
  return {
    client: await factory.createFromAgentCard({ ...card, supportedInterfaces: [chosen] }),
    isStreaming: card.capabilities?.streaming === true,
    extensions: (card.capabilities?.extensions ?? []).map(({ uri }) => uri),
  };
}

/** A URL of a JSON document is the card's own; any other is where the card's well-known path begins. */
function cardUrl(url: string): string {
  const given = new URL(url);
  if (given.pathname.endsWith(".json")) return given.href;
  given.pathname = `${given.pathname.replace(/\/+$/, "")}/${cardPath}`;
  return given.href;
}

async function readJsonFrom(fetch: Fetch, url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    headers: { Accept: "application/json", "A2A-Version": "1.0" },
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestMsMax)]),
  });
  if (!response.ok) {
    const isPassing = response.status >= 500;
    throw new RemoteProblem("not_an_agent", `${url} answers with HTTP ${response.status}.`, { isPassing });
  }
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new RemoteProblem("not_an_agent", `${url} is not JSON.`);
  }
}

/** Cards of the version before are read too. */
function parseCard(raw: JsonObject, url: string): AgentCard {
  try {
    const isPresent = Array.isArray(raw.supportedInterfaces) && raw.supportedInterfaces.length > 0;
    return isPresent
      ? AgentCard.fromJSON(raw)
      : new DefaultAgentCardResolver({ legacyCompat }).normalizeAgentCard(raw);
  } catch {
    throw new RemoteProblem("not_an_agent", `The agent card at ${url} cannot be read.`);
  }
}

/** The first that is known and of the present version; else the first that is known. */
function chooseInterface({ supportedInterfaces = [] }: AgentCard): AgentCard["supportedInterfaces"][number] {
  const known = supportedInterfaces.filter(({ protocolBinding }) =>
    bindings.includes(String(protocolBinding).toUpperCase()),
  );
  const chosen = known.find(({ protocolVersion }) => /^1(?:\.|$)/.test(protocolVersion)) ?? known[0];
  if (chosen !== undefined) return chosen;
  throw new RemoteProblem("no_common_binding", `The remote agent offers none of ${bindings.join(", ")}.`);
}

function interfaceUrl(given: string): URL {
  const url = URL.parse(given);
  if (url !== null && (url.protocol === "https:" || url.protocol === "http:")) return url;
  throw new RemoteProblem("not_an_agent", "The agent card names an interface without a usable URL.");
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
