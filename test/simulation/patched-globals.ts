/**
 * Puts a simulated machine in the place of what this process has of time and chance: timers, clocks, random bytes. Modules that
 * imported these from Node.js get the simulated ones as well. Web cryptography is computed on other threads; it ends in the order in
 * which it was begun, and no step begins before it has ended.
 */

import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers";
import promises from "node:timers/promises";
import type { Machine } from "./machine.ts";

const realTurn = globalThis.setImmediate;
/** Before anything is replaced. */
export const realNow = performance.now.bind(performance);

/** Where simulated time comes from now. */
let machine: Machine | null = null;
let computing = 0;
let lastComputed: Promise<unknown> = Promise.resolve();

/** Resolves when all microtasks of a step have run, and what they let other threads compute. */
export async function settled(): Promise<void> {
  do {
    await new Promise<void>((resolve) => void realTurn(resolve));
  } while (computing > 0);
}

/** Until it is disposed of, this process lives in the machine's time. */
export function liveIn(simulated: Machine): Disposable {
  const undo: (() => void)[] = [];
  const put = (target: object, name: string, value: unknown) => {
    const own = Object.getOwnPropertyDescriptor(target, name);
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
    undo.push(() =>
      own === undefined ? Reflect.deleteProperty(target, name) : Object.defineProperty(target, name, own),
    );
  };
  machine = simulated;
  putTimers(simulated, put);
  putClocks(simulated, put);
  putChance(simulated, put);
  putWebCryptography(put);
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]() {
      for (const restore of undo.reverse()) restore();
      machine = null;
      syncBuiltinESMExports();
    },
  };
}

type Put = (target: object, name: string, value: unknown) => void;

/** As much of Node's Timeout and Immediate as anybody uses. */
class SimulatedTimer {
  stop: () => void = () => {};
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  hasRef() {
    return true;
  }
  [Symbol.dispose]() {
    this.stop();
  }
}

function putTimers(simulated: Machine, put: Put): void {
  type Callback = (...args: unknown[]) => void;
  const setTimeout = (callback: Callback, ms = 1, ...args: unknown[]) => {
    const timer = new SimulatedTimer();
    timer.stop = simulated.after(Math.max(1, ms), () => callback(...args));
    return timer;
  };
  const setInterval = (callback: Callback, ms = 1, ...args: unknown[]) => {
    const timer = new SimulatedTimer();
    const again = () => {
      timer.stop = simulated.after(Math.max(1, ms), () => {
        again();
        callback(...args);
      });
    };
    again();
    return timer;
  };
  const setImmediate = (callback: Callback, ...args: unknown[]) => {
    const timer = new SimulatedTimer();
    timer.stop = simulated.turn(() => callback(...args));
    return timer;
  };
  const clear = (timer: unknown) => {
    if (timer instanceof SimulatedTimer) timer.stop();
  };
  const all = { setTimeout, setInterval, setImmediate };
  for (const target of [globalThis, timers]) {
    for (const [name, value] of Object.entries(all)) {
      put(target, name, value);
      put(target, name.replace("set", "clear"), clear);
    }
  }
  put(promises, "setTimeout", async (ms = 1, value?: unknown) => {
    await simulated.pause(Math.max(1, ms));
    return value;
  });
  put(promises, "setImmediate", async (value?: unknown) => {
    await new Promise<void>((resolve) => void simulated.turn(resolve));
    return value;
  });
  put(AbortSignal, "timeout", (ms: number) => {
    const controller = new AbortController();
    simulated.after(ms, () => controller.abort(new DOMException("The operation timed out", "TimeoutError")));
    return controller.signal;
  });
}

function putClocks(simulated: Machine, put: Put): void {
  const RealDate = Date;
  class SimulatedDate extends RealDate {
    constructor(...args: [] | [number | string | Date]) {
      const [at = simulated.wall()] = args;
      super(at);
    }
    static override now(): number {
      return simulated.wall();
    }
  }
  put(globalThis, "Date", SimulatedDate);
  put(performance, "now", () => simulated.now);
}

function putChance(simulated: Machine, put: Put): void {
  const fill = (bytes: ArrayBufferView) => {
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let i = 0; i < view.length; i++) view[i] = simulated.below(256);
    return bytes;
  };
  const randomUUID = () => {
    const hex = Buffer.from(fill(new Uint8Array(16)).buffer as ArrayBuffer).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  put(Math, "random", simulated.random);
  put(crypto, "randomFillSync", fill);
  put(crypto, "randomBytes", (size: number) => Buffer.from(fill(Buffer.alloc(size)).buffer));
  put(crypto, "randomUUID", randomUUID);
  put(crypto, "randomInt", (...[a, b]: [number, number?]) =>
    b === undefined ? simulated.below(a) : a + simulated.below(b - a),
  );
  put(globalThis.crypto, "getRandomValues", fill);
  put(globalThis.crypto, "randomUUID", randomUUID);
}

function putWebCryptography(put: Put): void {
  const { subtle } = globalThis.crypto;
  const names = [
    ...["decrypt", "deriveBits", "deriveKey", "digest", "encrypt", "exportKey", "generateKey"],
    ...["importKey", "sign", "unwrapKey", "verify", "wrapKey"],
  ];
  for (const name of names) {
    const real: unknown = Reflect.get(subtle, name);
    if (typeof real !== "function") continue;
    put(subtle, name, (...args: unknown[]) => {
      const before = lastComputed;
      computing += 1;
      const computed = (async () => {
        await before;
        try {
          return await Reflect.apply(real, subtle, args);
        } finally {
          computing -= 1;
        }
      })();
      lastComputed = computed.catch(() => {});
      return computed;
    });
  }
}

/** Whether somebody lives in simulated time now. */
export function isSimulated(): boolean {
  return machine !== null;
}
