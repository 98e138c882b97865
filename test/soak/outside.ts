/** The world that agents of a soak act on: it counts what really happens, and when. */

import { once } from "node:events";
import { createServer } from "node:http";

export interface Outside extends AsyncDisposable {
  url: string;
  /** When each key was acted on, in milliseconds since 1970. */
  acts: ReadonlyMap<string, readonly number[]>;
}

export async function openOutside(): Promise<Outside> {
  const acts = new Map<string, number[]>();
  const server = createServer((request, response) => {
    const key = decodeURIComponent((request.url ?? "/").slice(1));
    acts.set(key, [...(acts.get(key) ?? []), Date.now()]);
    response.end("done");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The world outside has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    acts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
