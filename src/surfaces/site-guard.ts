/**
 * Keeps web pages from using a server that their visitor's browser can reach, for all surfaces and ports.
 *
 * Host: by DNS rebinding, a page of evil.example reaches loopback under its own name and counts as same-origin. So a request
 * that arrives on loopback must name this machine, the public URL's host or an allowed host. With allowed hosts set, that
 * holds for requests from everywhere.
 * Origin: a page of another origin is refused where it would change something or uses a credential. The cookie of the console
 * alone opens nothing, so it would need a key; this is what is left when it has one.
 */

import type { IncomingHttpHeaders } from "node:http";
import { HarnessError } from "../kernel/core/errors.ts";
import { isLoopbackAddress, isLoopbackHost } from "./loopback.ts";

export interface SiteRules {
  /** Where the server listens. */
  host: string;
  publicUrl: string | null;
  /** Further names under which clients reach the server, without ports. */
  allowedHosts: readonly string[];
  /** Origins whose scripts may use the API from a browser. */
  corsOrigins: readonly string[];
}

export interface Arrival {
  method: string;
  headers: IncomingHttpHeaders;
  /** The address on which the connection was accepted. */
  localAddress: string | undefined;
  /** The host that a trusted proxy was asked for; the Host header otherwise. */
  forwardedHost?: string | undefined;
}

const readMethods = new Set(["GET", "HEAD", "OPTIONS"]);

export class SiteGuard {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #isEverywhere: boolean;

  constructor({ host, publicUrl, allowedHosts, corsOrigins }: SiteRules) {
    const ownUrl = publicUrl === null ? null : URL.parse(publicUrl);
    const hosts = [host, ...allowedHosts, ownUrl?.hostname ?? ""];
    this.#hosts = new Set(hosts.filter((name) => name !== "").map(nameOf));
    this.#origins = new Set([...corsOrigins, ...(ownUrl === null ? [] : [ownUrl.origin])]);
    this.#isEverywhere = allowedHosts.length > 0;
  }

  /** Why the request is refused, without repeating what the client sent; null when it is not. */
  refusalOf(arrival: Arrival): HarnessError | null {
    if (!hostsOf(arrival.headers).every((host) => this.#isOurs(host, arrival.localAddress))) {
      return new HarnessError(
        "permission_denied",
        "The Host header does not name this server. Set --allowed-hosts or --public-url to serve it under this name.",
        { param: "Host" },
      );
    }
    if (this.#isOwnOrigin(arrival)) return null;
    return new HarnessError(
      "permission_denied",
      "Pages of this origin may not use the server. Allow the origin with --cors-origin.",
      { param: "Origin" },
    );
  }

  #isOurs(host: string, localAddress: string | undefined): boolean {
    if (!this.#isEverywhere && !isLoopbackAddress(localAddress)) return true;
    const name = nameOf(host);
    return isLoopbackHost(name) || this.#hosts.has(name) || name === nameOf(localAddress ?? "");
  }

  #isOwnOrigin({ method, headers, forwardedHost }: Arrival): boolean {
    const { origin, authorization, upgrade } = headers;
    const isPublicRead = readMethods.has(method) && authorization === undefined && upgrade === undefined;
    if (origin === undefined || isPublicRead || this.#origins.has(origin)) return true;
    // Without the scheme, which a proxy that terminates TLS changes.
    const from = URL.parse(origin)?.host ?? "";
    return from !== "" && [...hostsOf(headers), forwardedHost].includes(from);
  }
}

/** HTTP/2 has a pseudo-header for it, beside which there may be the old one. HTTP/1.0, which no browser speaks, may have none. */
function hostsOf(headers: IncomingHttpHeaders): string[] {
  return [headers[":authority"], headers.host]
    .flatMap((host) => host ?? [])
    .map((host) => host.toLowerCase());
}

/** Without port, brackets and the mark of an IPv4 address in IPv6. */
function nameOf(host: string): string {
  const [, bracketed, name] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? name ?? host).toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");
}
