/** A port that nobody listens on, for when it does not matter much which one it is. */

import { once } from "node:events";
import { createServer } from "node:net";

const triesMax = 20;

/** The port, or the next one that is free; 0, which lets the system choose, when many are taken. */
export async function freePort(host: string, port: number): Promise<number> {
  for (let candidate = port; candidate < Math.min(port + triesMax, 65_536); candidate += 1) {
    if (await isFree(host, candidate)) return candidate;
  }
  return 0;
}

/** Throws when nobody could listen there at all. */
export async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host, port });
    await once(server, "listening");
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return false;
    throw error;
  } finally {
    server.close();
  }
}
