/** A door before a server: passes everything on, and keeps back the first answer to a path with a given end. */

import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface HoldingDoor extends AsyncDisposable {
  url: string;
  /** Once the server has answered what is kept back. */
  held: Promise<void>;
}

export async function holdingDoor(behind: string, end: string): Promise<HoldingDoor> {
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  let isHeld = false;
  const server = createServer((incoming, response) => {
    const { url: path = "", method, headers } = incoming;
    const outgoing = request(behind + path, { method, headers }, (answer) => {
      if (!isHeld && method === "POST" && path.endsWith(end)) {
        isHeld = true;
        answer.resume().once("end", hold);
      } else {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      }
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // It was listening on a port just now.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    held,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
