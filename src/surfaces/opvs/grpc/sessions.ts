/** HTTP/2 connections: who does not answer is gone, and who asks for nothing is sent away. */

import type { ServerHttp2Session } from "node:http2";

/** As on a WebSocket. */
const missedMax = 3;
/** How long a connection with no calls is kept; clients open another when they need it. */
const idleMsMax = 15 * 60_000;

export function watchOver(session: ServerHttp2Session, heartbeatMs: number): void {
  let missed = 0;
  let open = 0;
  let idleMs = 0;
  session.on("stream", (stream) => {
    open += 1;
    stream.once("close", () => {
      open -= 1;
    });
  });
  const beat = () => {
    // It may be over before it says so, and would take a question amiss.
    if (session.destroyed) return;
    idleMs = open === 0 ? idleMs + heartbeatMs : 0;
    if (missed >= missedMax) session.destroy();
    else if (idleMs >= idleMsMax) session.close();
    else {
      missed += 1;
      session.ping((error) => {
        if (error === null) missed = 0;
      });
    }
  };
  const timer = setInterval(beat, heartbeatMs);
  session.once("close", () => clearInterval(timer));
}
