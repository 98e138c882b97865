/** How the script of a test's server says that it is up, and where. */

import { flushCompileCache } from "node:module";

export function sayReady({ url, grpcUrl }: { url: string; grpcUrl?: string | null }): void {
  process.stdout.write(`gRPC ${grpcUrl ?? "off"}\nURL ${url}\n`);
  // Such servers are killed, never stopped: what was compiled is kept now or never, and compiled again at each start.
  flushCompileCache();
}
