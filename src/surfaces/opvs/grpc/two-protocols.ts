/**
 * HTTP/2 and HTTP/1.1 on one port without TLS, where nothing is agreed on beforehand: who speaks HTTP/2 begins with a
 * preface whose first letters no method of HTTP/1.1 has.
 */

import type { Server as Http1Server } from "node:http";
import type { Http2Server } from "node:http2";
import type { Socket } from "node:net";

/** Of `PRI * HTTP/2.0`; the next of its kind would be POST. */
const preface = Buffer.from("PRI");

/** The listener of HTTP/1.1 listens for both and hands over what is for the other. */
export function speakBoth(http1: Http1Server, http2: Http2Server, handshakeMs: number): Http1Server {
  const speakHttp1 = http1.listeners("connection");
  http1.removeAllListeners("connection");
  http1.on("connection", (socket: Socket) => {
    // A connection may break at any time; whoever takes it over says what follows from that.
    socket.on("error", () => socket.destroy());
    const patience = setTimeout(() => socket.destroy(), handshakeMs);
    socket.once("close", () => clearTimeout(patience));
    readStart(socket, (start) => {
      clearTimeout(patience);
      if (start.equals(preface)) http2.emit("connection", socket);
      else {
        for (const listener of speakHttp1) listener.call(http1, socket);
        socket.resume();
      }
    });
  });
  return http1;
}

/** Gives the first letters and leaves them to be read. */
function readStart(socket: Socket, then: (start: Buffer) => void): void {
  let seen = Buffer.alloc(0);
  const onEnd = () => socket.destroy();
  const onData = (chunk: Buffer) => {
    seen = Buffer.concat([seen, chunk]);
    const start = seen.subarray(0, preface.length);
    if (start.length < preface.length && preface.indexOf(start) === 0) return;
    socket.off("data", onData);
    socket.off("end", onEnd);
    socket.pause();
    socket.unshift(seen);
    then(start);
  };
  socket.on("data", onData);
  socket.on("end", onEnd);
}
