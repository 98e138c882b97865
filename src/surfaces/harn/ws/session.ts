/**
 * One WebSocket on one session: hello, then events out and commands in, until somebody leaves.
 *
 * The client says hello first, perhaps with the event it saw last; then it gets `ready`, the questions that are open, and
 * every event of the session from there on. Its commands are carried out in the order in which they came.
 */

import type { WebSocket } from "ws";
import { requireScope } from "../../../kernel/access/authorize.ts";
import { assertMayHost } from "../../../kernel/access/host-access.ts";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { eventId, positionOf } from "../../../kernel/core/events.ts";
import { findVisible } from "../../../kernel/core/read.ts";
import { followEvents } from "../../../kernel/core/read-events.ts";
import type { Kernel } from "../../../kernel/kernel.ts";
import type { Caller } from "../../../policy/caller.ts";
import type { Position, StoredEvent } from "../../../store/port.ts";
import { callerNow, type OpenedBy } from "../../caller-now.ts";
import { FrameSocket } from "../../frame-socket.ts";
import { refusalOf, type ServerFacts } from "../../server-facts.ts";
import { checker } from "../../validate.ts";
import { closeCodes } from "../../websocket.ts";
import type { Viewer } from "../present.ts";
import { presentEvent } from "../present-event.ts";
import type { Report } from "../surface.ts";
import { carryOutFrame, requireSmallFrame } from "./commands.ts";
import { eventFrame } from "./event-frames.ts";
import { type Frame, type FrameId, frameIdOf, Hello, isCommand, parseFrame, readFrame } from "./frames.ts";
import type { Host, Hosts } from "./hosts.ts";
import { openRequests, requestIn } from "./requests.ts";

export interface SessionDeps {
  kernel: Kernel;
  facts: ServerFacts;
  hosts: Hosts;
  report: Report;
  stopped: AbortSignal;
  helloMs: number;
}

export interface SessionLink {
  sessionId: string;
  caller: Caller;
  openedBy: OpenedBy;
}

const checkHello = checker(Hello);

export function serveSession(deps: SessionDeps, link: SessionLink, socket: WebSocket): void {
  const connection = new SessionConnection(deps, link, new FrameSocket(socket));
  connection.start();
}

class SessionConnection {
  readonly #deps: SessionDeps;
  readonly #sessionId: string;
  readonly #caller: Caller;
  readonly #openedBy: OpenedBy;
  readonly #frames: FrameSocket;
  #isReady = false;
  #patience: NodeJS.Timeout | undefined;

  constructor(deps: SessionDeps, { sessionId, caller, openedBy }: SessionLink, frames: FrameSocket) {
    this.#deps = deps;
    this.#sessionId = sessionId;
    this.#caller = caller;
    this.#openedBy = openedBy;
    this.#frames = frames;
  }

  start(): void {
    this.#patience = setTimeout(() => void this.#tooLate(), this.#deps.helloMs);
    this.#frames.gone.addEventListener("abort", () => clearTimeout(this.#patience), { once: true });
    this.#frames.onText((text) => this.#take(text));
  }

  async #tooLate(): Promise<void> {
    await this.#tell(new HarnessError("deadline_exceeded", "The first frame, hello, did not come in time."));
    await this.#frames.close(closeCodes.refused, "no hello");
  }

  /** Whatever comes, there is an answer, and what is wrong with one frame is no reason to end the connection. */
  async #take(text: string): Promise<void> {
    let id: FrameId | undefined;
    try {
      requireSmallFrame(this.#caller, text);
      const frame = parseFrame(text);
      id = frameIdOf(frame);
      await this.#answer(readFrame(frame));
    } catch (error) {
      await this.#tell(error, id);
      if (isLastWord(error)) await this.#frames.close(closeCodes.refused, error.code);
    }
  }

  async #answer(frame: Frame): Promise<void> {
    if (frame.type === "ping") return await this.#send("pong", frame.id);
    if (frame.type === "hello") return await this.#greet(frame);
    if (!isCommand(frame.type)) {
      throw new HarnessError("invalid_request", "There is no frame of this type.", { param: "type" });
    }
    if (!this.#isReady) {
      throw new HarnessError("invalid_request", "Say hello first.", { param: "type" });
    }
    const refusal = refusalOf(this.#deps.facts);
    if (refusal !== null) throw refusal;
    const { kernel } = this.#deps;
    const caller = await callerNow(kernel, this.#openedBy);
    const { result, isRepeated } = await carryOutFrame(kernel, caller, this.#sessionId, frame.type, frame);
    await this.#send("ack", frame.id, { result, ...(isRepeated ? { idempotent_replayed: true } : {}) });
  }

  async #greet({ id, body }: Frame): Promise<void> {
    if (this.#isReady) {
      throw new HarnessError("invalid_request", "Hello was said before.", { param: "type" });
    }
    const { cursor, host_capabilities: capabilities = [] } = checkHello(body);
    const { store } = this.#deps.kernel;
    if (capabilities.length > 0) await this.#requireHost(capabilities);
    const head = await store.head();
    const afterEventId = cursor ?? eventId(head);
    const events = await this.#follow(afterEventId);
    const after = positionOf(afterEventId, "cursor");
    const missed = await store
      .of(this.#caller.tenantId)
      .events({ sessionId: this.#sessionId, after, through: head, limit: 1 });
    this.#isReady = true;
    clearTimeout(this.#patience);
    await this.#send("ready", id, {
      session_id: this.#sessionId,
      cursor: afterEventId,
      replaying: missed.length > 0,
    });
    void this.#pump(events, head);
    if (capabilities.length > 0) this.#beHost(new Set(capabilities));
  }

  async #requireHost(capabilities: readonly string[]): Promise<void> {
    requireScope(this.#caller, "tasks:write");
    const { store } = this.#deps.kernel;
    const session = await findVisible(store, this.#caller, "session", this.#sessionId);
    for (const capability of capabilities) {
      assertMayHost(this.#caller, { madeBy: session?.created_by, capability });
    }
  }

  async #follow(afterEventId: string): Promise<AsyncGenerator<StoredEvent[]>> {
    const { kernel, stopped } = this.#deps;
    const range = { sessionId: this.#sessionId, afterEventId, cursorParam: "cursor" };
    return await followEvents(kernel, this.#caller, range, AbortSignal.any([this.#frames.gone, stopped]));
  }

  /** Open questions first, then every event, and with the event of a new question the question. */
  async #pump(events: AsyncGenerator<StoredEvent[]>, liveAfter: Position): Promise<void> {
    const { store, approvals } = this.#deps.kernel;
    const viewer: Viewer = { store, approvals, caller: this.#caller };
    try {
      /** Asked since the history ends, and open already when we looked. */
      const asked = new Set<string>();
      for await (const request of openRequests(viewer, this.#sessionId)) {
        asked.add(request.request_id);
        await this.#frames.send(request);
      }
      for await (const batch of events) {
        for (const event of batch) {
          if (this.#frames.gone.aborted) return;
          await this.#frames.send(eventFrame(await presentEvent(event, viewer), event.position, liveAfter));
          if (event.position <= liveAfter) continue;
          const request = await requestIn(event, viewer);
          if (request !== null && !asked.delete(request.request_id)) await this.#frames.send(request);
        }
      }
    } catch (error) {
      await this.#fail(error);
    }
  }

  #beHost(capabilities: ReadonlySet<string>): void {
    const { hosts } = this.#deps;
    const host: Host = {
      capabilities,
      offer: (frame) => this.#frames.send(frame),
      fail: (error) => void this.#fail(error),
    };
    const leave = () => hosts.leave(this.#sessionId, host);
    this.#frames.gone.addEventListener("abort", leave, { once: true });
    hosts.join(this.#caller.tenantId, this.#sessionId, host).then(
      () => this.#frames.gone.aborted && leave(),
      (error) => this.#fail(error),
    );
  }

  /** The connection cannot keep what it promises; the client comes back with its last event. */
  async #fail(error: unknown): Promise<void> {
    await this.#tell(error);
    await this.#frames.close(closeCodes.failed, "failed");
  }

  async #tell(error: unknown, id?: FrameId): Promise<void> {
    const { body } = this.#deps.report(error, this.#deps.kernel.newId("req"));
    await this.#send("error", id, body);
  }

  async #send(type: string, id: FrameId | undefined, rest: object = {}): Promise<void> {
    await this.#frames.send(id === undefined ? { type, ...rest } : { type, id, ...rest });
  }
}

/** After these the client must start anew: with another cursor, or with other credentials. */
function isLastWord(error: unknown): error is HarnessError {
  return error instanceof HarnessError && ["cursor_expired", "unauthenticated"].includes(error.code);
}
