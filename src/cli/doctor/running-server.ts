/** The server that may be running where the settings say. It is asked without a key, and told nothing. */

import { request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import type { ServeSettings } from "../settings/settings.ts";

const RunningServer = Type.Object({
  ok: Type.Boolean(),
  status: Type.String({ maxLength: 100 }),
  version: Type.String({ maxLength: 100 }),
});
export type RunningServer = Static<typeof RunningServer>;

const patienceMs = 3000;
const answerCharsMax = 10_000;

/** Where somebody on this machine finds it. */
export function urlOf({ host, port, tlsCert }: ServeSettings): string {
  const everywhere: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  const address = everywhere[host] ?? host;
  return `${tlsCert === undefined ? "http" : "https"}://${address.includes(":") ? `[${address}]` : address}:${port}`;
}

/** Null when nobody answers there who looks like Bridle. */
export async function askServer(settings: ServeSettings): Promise<RunningServer | null> {
  if (settings.port === 0) return null;
  const health = await get(`${urlOf(settings)}/health`);
  // Alive is one thing, taking work another; a stranger is asked no second question.
  return health === null ? null : await get(`${urlOf(settings)}/ready`);
}

async function get(url: string): Promise<RunningServer | null> {
  try {
    const found: unknown = JSON.parse(await textOf(url));
    return Value.Check(RunningServer, found) ? found : null;
  } catch {
    return null;
  }
}

function textOf(url: string): Promise<string> {
  const isSecure = url.startsWith("https:");
  return new Promise((resolve, reject) => {
    // Its certificate may be for another name than the address; no secret is sent.
    const options = { signal: AbortSignal.timeout(patienceMs), agent: false, rejectUnauthorized: false };
    const asked = (isSecure ? requestSecure : requestPlain)(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > answerCharsMax) response.destroy(new Error("too long"));
      });
      response.on("end", () => resolve(text));
      response.on("error", reject);
    });
    asked.on("error", reject);
    asked.end();
  });
}
