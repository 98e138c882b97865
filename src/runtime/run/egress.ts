/**
 * What leaves the process while the code of a step runs, noticed where Node sends it: requests by `fetch` and `node:http`, HTTP/2 streams, and
 * connections of any other protocol. It is asynchronous context that says whose it is, so tools, models, MCP servers and an agent's own code are
 * all seen the same way. What another process sends is not seen.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { NetworkUse } from "../../kernel/core/events.ts";

/** Destinations of one step listed one by one. */
const destinationsMax = 50;

class EgressLog {
  readonly #uses = new Map<string, NetworkUse>();
  readonly #sockets = new Set<string>();

  request(origin: string): void {
    const url = URL.parse(origin);
    if (url === null) return;
    const port = url.port === "" ? defaultPorts[url.protocol] : Number(url.port);
    if (port === undefined || url.hostname === "") return;
    this.#count(url.protocol.slice(0, -1), url.hostname, port);
  }

  /** A connection of its own protocol, unless a request turns out to be what it is for. */
  socket(host: string, port: number): void {
    if (this.#sockets.size < destinationsMax) this.#sockets.add(placeOf(host, port));
  }

  #count(protocol: string, host: string, port: number): void {
    const key = `${protocol}://${placeOf(host, port)}`;
    const known = this.#uses.get(key);
    if (known !== undefined) known.requests += 1;
    else if (this.#uses.size < destinationsMax) this.#uses.set(key, { protocol, host, port, requests: 1 });
  }

  get uses(): NetworkUse[] {
    const requested = [...this.#uses.values()].map((use) => ({ ...use }));
    const known = new Set(requested.map(({ host, port }) => placeOf(host, port)));
    const others = [...this.#sockets].filter((place) => !known.has(place));
    return [...requested, ...others.slice(0, destinationsMax).map(socketUse)];
  }
}

const defaultPorts: Record<string, number> = { "http:": 80, "https:": 443 };

function placeOf(host: string, port: number): string {
  return `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
}

function socketUse(place: string): NetworkUse {
  const split = place.lastIndexOf(":");
  return { protocol: "tcp", host: place.slice(0, split), port: Number(place.slice(split + 1)), requests: 1 };
}

const current = new AsyncLocalStorage<EgressLog>();
let isListening = false;

/** Runs code; what it sends until it is asked about is known to `networkUses`. */
export function watchEgress<T>(code: () => Promise<T>): Promise<T> {
  listen();
  return current.run(new EgressLog(), code);
}

/** What the step whose code runs has sent so far; nothing for most of them. */
export function networkUses(): { network?: NetworkUse[] } {
  const uses = current.getStore()?.uses ?? [];
  return uses.length === 0 ? {} : { network: uses };
}

function listen(): void {
  if (isListening) return;
  isListening = true;
  subscribe("undici:request:create", (message) => {
    const { request } = message as { request: { origin: string | URL } };
    current.getStore()?.request(String(request.origin));
  });
  subscribe("http.client.request.created", (message) => {
    const { request } = message as { request: { protocol: string; getHeader(name: string): unknown } };
    current.getStore()?.request(`${request.protocol}//${String(request.getHeader("host"))}`);
  });
  subscribe("http2.client.stream.created", (message) => {
    const { headers } = message as { headers: Record<string, unknown> };
    current.getStore()?.request(`${String(headers[":scheme"])}://${String(headers[":authority"])}`);
  });
  subscribe("net.client.socket", (message) => {
    const log = current.getStore();
    if (log !== undefined) watchSocket(log, (message as { socket: Socket }).socket);
  });
}

/** Its name is looked up before it is connected; an address has no name. */
function watchSocket(log: EgressLog, socket: Socket): void {
  let name: string | null = null;
  socket.once("lookup", (_error, _address, _family, host) => {
    name = host;
  });
  socket.once("connectionAttempt", (address, port) => log.socket(name ?? address, port));
}
