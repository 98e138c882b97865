/** The network between processes and those outside: messages take time, are lost, and arrive twice. Connections end with their process. */

import type { Outbound, OutboundAnswer, OutboundRequest } from "../../src/policy/outbound.ts";
import { OutboundFailed } from "../../src/policy/outbound.ts";
import type { Machine, Owner } from "./machine.ts";

/** The one who asked does not know what became of it. */
export class ConnectionLost extends Error {
  override name = "ConnectionLost";
}

/** How long somebody waits for an answer that was lost on its way. */
const patienceMs = 2000;
const usualMs = 1;
const mostMs = 60;
/** Of the messages, at all times. */
const lostShare = 0.01;
const doubledShare = 0.02;

/** Takes a notification; gives the status that it answers with. */
export type Receive = (path: string, body: string) => number;

export class Network {
  readonly #machine: Machine;
  /** Until when nothing comes through. */
  partitionedUntil = 0;
  isHealthy = false;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  get #isLost(): boolean {
    if (this.isHealthy) return false;
    return this.#machine.now < this.partitionedUntil || this.#machine.random() < lostShare;
  }

  get #delay(): number {
    return this.#machine.latency(usualMs, mostMs);
  }

  /** Somebody outside asks a process. The request may be carried out twice, and the answer be lost. */
  ask<T>(process: Owner, act: () => Promise<T>): Promise<T> {
    const machine = this.#machine;
    const from = machine.owner;
    return new Promise((resolve, reject) => {
      const lose = () => void machine.after(this.#delay, () => reject(new ConnectionLost("cut")), from);
      process.onDeath(lose);
      machine.after(patienceMs, () => reject(new ConnectionLost("no answer")), from);
      const answer = (then: () => void) => {
        if (!this.#isLost) machine.after(this.#delay, then, from);
      };
      const carryOut = () => {
        act().then(
          (value) => answer(() => resolve(value)),
          (error: unknown) => answer(() => reject(error)),
        );
      };
      if (!this.#isLost) machine.after(this.#delay, carryOut, process);
      if (!this.isHealthy && machine.random() < doubledShare) machine.after(this.#delay, carryOut, process);
    });
  }

  /** What a process reaches outside. */
  outbound(outside: Owner, receive: Receive): Outbound {
    const check = (url: string | URL) => new URL(url);
    const request = (url: string | URL, asked: OutboundRequest = {}) =>
      this.#deliver(outside, receive, new URL(url), asked);
    const fetch = () => Promise.reject(new OutboundFailed("Nobody answers there."));
    return { check, request, fetch, fetchWithin: () => fetch };
  }

  #deliver(outside: Owner, receive: Receive, url: URL, asked: OutboundRequest): Promise<OutboundAnswer> {
    const machine = this.#machine;
    const sender = machine.owner;
    const { signal, body } = asked;
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal?.reason);
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort);
      machine.after(patienceMs, () => reject(new OutboundFailed("It did not answer in time.")));
      const arrive = () => {
        if (signal?.aborted) return;
        const status = receive(url.pathname, typeof body === "string" ? body : "");
        const answer = { status, headers: new Headers(), body: nothing(), discard() {} };
        if (!this.#isLost) machine.after(this.#delay, () => resolve(answer), sender);
      };
      if (!this.#isLost) machine.after(this.#delay, arrive, outside);
    });
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
