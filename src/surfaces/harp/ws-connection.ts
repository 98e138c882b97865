/**
 * One WebSocket of one enforcer or approver. Each frame is checked and answered as the same request by REST would be; what
 * is wrong with one is said, and the connection stays.
 */

import type { ErrorEnvelope, Hello as HelloFrame } from "../../harp/core/wire.ts";
import type { Channel } from "../../harp/gateway/channels.ts";
import type { Principal, Role } from "../../harp/gateway/principal.ts";
import { refusal } from "../../harp/gateway/refusals.ts";
import type { StillAllowed } from "../../kernel/access/still-allowed.ts";
import type { FrameSocket } from "../frame-socket.ts";
import { closeCodes } from "../websocket.ts";
import { harpChecker } from "./check.ts";
import { refusalsTo, type ToRefusal } from "./errors.ts";
import { readAck, readArtifact, readDecision, readJson, requestIdIn } from "./read.ts";
import { Hello } from "./schemas.ts";
import type { HarpOptions } from "./surface.ts";

export interface Peer {
  role: Role;
  id: string;
  principal: Principal;
  isStillAllowed: StillAllowed;
}

const checkHello = harpChecker(Hello);

/** What each may submit; everything else that there is, is for others. */
const submissions: Record<Role, readonly string[]> = {
  enforcer: ["artifact.submit", "ack.submit", "hello"],
  approver: ["decision.submit", "ack.submit", "hello"],
};

export class WsConnection {
  readonly #options: HarpOptions;
  readonly #peer: Peer;
  readonly #frames: FrameSocket;
  readonly #toRefusal: ToRefusal;
  readonly #opened = Promise.withResolvers<Channel>();
  #channel: Channel | null = null;

  constructor(options: HarpOptions, peer: Peer, frames: FrameSocket) {
    this.#options = options;
    this.#peer = peer;
    this.#frames = frames;
    this.#toRefusal = refusalsTo(options.logger);
  }

  async open(): Promise<void> {
    const { gateway } = this.#options;
    const { principal, role, id } = this.#peer;
    const frames = this.#frames;
    frames.onText((text) => this.#take(text));
    const channel = await gateway.connect(
      principal,
      { role, id },
      {
        transport: "websocket",
        send: (message) => frames.send(message),
        end: () => void frames.close(closeCodes.done, "closed"),
      },
    );
    this.#channel = channel;
    this.#opened.resolve(channel);
    frames.gone.addEventListener("abort", () => channel.close(), { once: true });
    if (frames.gone.aborted) channel.close();
  }

  heard(): void {
    if (this.#channel !== null) this.#options.gateway.alive(this.#channel);
  }

  async #take(text: string): Promise<void> {
    this.heard();
    let frame: unknown;
    try {
      frame = readJson(text);
      this.#options.limits.call(this.#peer.principal);
      const reply = await this.#answer(frame);
      if (reply !== null) await this.#frames.send(inReplyTo(frame, reply));
    } catch (error) {
      await this.#refuse(error, frame);
    }
  }

  async #answer(frame: unknown): Promise<object | null> {
    const { gateway } = this.#options;
    const { principal, role, isStillAllowed } = this.#peer;
    // A key that was revoked meanwhile submits nothing any more.
    if (!(await isStillAllowed())) {
      throw refusal("Unauthenticated", "The credentials of this connection are no longer valid.");
    }
    const msgType = typeOf(frame);
    if (!submissions[role].includes(msgType)) {
      const isKnown = Object.values(submissions).flat().includes(msgType);
      throw isKnown
        ? refusal("Forbidden", `A frame of this type is not for an ${role}.`)
        : refusal("ValidationError", "There is no frame of this type.", { param: "msgType" });
    }
    const nowMs = gateway.deps.now();
    switch (msgType) {
      case "artifact.submit": {
        const envelope = readArtifact(frame, nowMs);
        this.#requireSelf(envelope.sender.enforcerId);
        return await gateway.submitArtifact(principal, envelope);
      }
      case "decision.submit": {
        const envelope = readDecision(frame, nowMs);
        this.#requireSelf(envelope.sender.approverId);
        return await gateway.submitDecision(principal, envelope);
      }
      case "ack.submit": {
        const envelope = readAck(frame, nowMs);
        this.#requireSelf(role === "enforcer" ? envelope.sender.enforcerId : envelope.sender.approverId);
        return await gateway.acknowledge(principal, envelope);
      }
      default: {
        const { capabilities = {}, workspaceName, enforcerLabel } = checkHello(frame);
        const hello: Omit<HelloFrame, "msgType"> = {
          capabilities,
          ...(workspaceName === undefined ? {} : { workspaceName }),
          ...(enforcerLabel === undefined ? {} : { enforcerLabel }),
        };
        gateway.introduce(await this.#opened.promise, hello);
        return null;
      }
    }
  }

  /** Who opened the connection speaks on it, also when its credentials would do for others. */
  #requireSelf(sender: string | undefined): void {
    if (sender === this.#peer.id) return;
    throw refusal("Forbidden", `This connection is that of another ${this.#peer.role}.`);
  }

  async #refuse(error: unknown, frame: unknown): Promise<void> {
    const refused = this.#toRefusal(error, this.#options.kernel.newId("req"));
    const envelope: ErrorEnvelope = this.#options.gateway.envelopes.error(refused, requestIdIn(frame));
    await this.#frames.send(inReplyTo(frame, envelope));
    if (refused.code === "Unauthenticated") await this.#frames.close(closeCodes.refused, refused.code);
  }
}

function typeOf(frame: unknown): string {
  const { msgType }: { msgType?: unknown } = Object(frame);
  return typeof msgType === "string" ? msgType : "";
}

/** Names the frame that it answers, if that had a name. */
function inReplyTo<Reply extends object>(frame: unknown, reply: Reply): Reply {
  const { msgId }: { msgId?: unknown } = Object(frame);
  return typeof msgId === "string" && msgId.length <= 128 ? { ...reply, trace: { inReplyTo: msgId } } : reply;
}
