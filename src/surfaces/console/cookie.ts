/** The cookie of a signed-in browser. Cookies are shared between the ports of a host, so its name has the port. */

import type { FastifyRequest } from "fastify";

/** The port that the browser asked for, which a proxy in front may have changed for us. */
function nameFor(request: FastifyRequest): string {
  const port = /:(\d+)$/.exec(request.host)?.[1] ?? "default";
  return `bridle_console_${port}`;
}

export function cookieOf(request: FastifyRequest): string | null {
  const name = nameFor(request);
  for (const pair of (request.headers.cookie ?? "").split(";")) {
    const [found = "", value = ""] = pair.trim().split("=", 2);
    if (found === name && value !== "") return value;
  }
  return null;
}

export function sessionCookie(
  request: FastifyRequest,
  value: string,
  { seconds, isHttps }: { seconds: number; isHttps: boolean },
): string {
  const secure = isHttps ? "; Secure" : "";
  return `${nameFor(request)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
