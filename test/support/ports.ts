/** Ports for servers whose address must be known before they start, or that return to the same address after a restart. */

import { freePort } from "../../src/cli/serving/free-port.ts";

/** Each process of the test runner counts through a range of its own. */
let next = 10_000 + (process.pid % 2000) * 10;

/**
 * A free port below the range from which the system serves `port: 0`. A port in that range can be taken by a concurrent test
 * between two starts of the same server.
 */
export async function reservedPort(): Promise<string> {
  const port = await freePort("127.0.0.1", next);
  next = port + 1;
  return String(port);
}
