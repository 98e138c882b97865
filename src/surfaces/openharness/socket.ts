/**
 * One shell on a WebSocket: request messages in, response messages out, and between them the frames of their streams.
 * Requests are worked on side by side, up to a bound; beyond it nothing more is read.
 */

import type { WebSocket } from "ws";
import type { TraceContext } from "../../kernel/core/trace.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { callerNow, type OpenedBy } from "../caller-now.ts";
import { FrameSocket } from "../frame-socket.ts";
import { parseSyntax, requireSound } from "../json-body.ts";
import { closeCodes } from "../websocket.ts";
import type { Engine, Exchange } from "./engine.ts";

/** Requests of one connection that are worked on at once. */
const requestsMax = 8;

interface ShellDeps {
  engine: Engine;
  kernel: Kernel;
}

interface ShellLine {
  openedBy: OpenedBy;
  trace: TraceContext | null;
}

export function serveShell(deps: ShellDeps, line: ShellLine, socket: WebSocket): void {
  const frames = new FrameSocket(socket);
  const underWay = new Set<Promise<void>>();
  frames.onText(async (text) => {
    const answering = answer(deps, line, frames, text).finally(() => underWay.delete(answering));
    underWay.add(answering);
    if (underWay.size >= requestsMax) await Promise.race(underWay);
  });
}

async function answer(
  { engine, kernel }: ShellDeps,
  { openedBy, trace }: ShellLine,
  frames: FrameSocket,
  text: string,
): Promise<void> {
  let exchange: Exchange | null = null;
  try {
    const value = parseSyntax(text);
    exchange = engine.open({ value, correlationHeader: null, trace, gone: frames.gone });
    requireSound(value, text);
    const caller = await callerNow(kernel, openedBy);
    const told = engine.follow(await engine.take(exchange, caller));
    let next = await told.next();
    for (; next.done !== true; next = await told.next()) await frames.send(next.value);
    await frames.send(next.value);
  } catch (error) {
    const { message, error: said } = engine.fail(error, exchange, kernel.newId("req"));
    await frames.send(message);
    if (said.code === "unauthenticated") await frames.close(closeCodes.refused, said.code);
  }
}
