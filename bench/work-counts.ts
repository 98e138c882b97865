/**
 * Loaded into a server with `--import`: answers every message on the IPC channel with the promises that the main thread made so far, and the calls
 * and characters of its JSON.stringify.
 */

import { createHook } from "node:async_hooks";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  let promises = 0;
  let jsonCalls = 0;
  let jsonCharacters = 0;
  createHook({
    init: (_id, type) => {
      if (type === "PROMISE") promises += 1;
    },
  }).enable();
  JSON.stringify = new Proxy(JSON.stringify, {
    apply: (stringify, self, args) => {
      const text: unknown = Reflect.apply(stringify, self, args);
      jsonCalls += 1;
      if (typeof text === "string") jsonCharacters += text.length;
      return text;
    },
  });
  process.on("message", () => process.send?.([promises, jsonCalls, jsonCharacters]));
  // The server alone decides how long the process lives.
  process.channel?.unref();
}
