/**
 * Restate: its server and a service with two recorded steps. Plain JavaScript, because it is copied beside packages that the project does not
 * have, and run there.
 */

import { createServer } from "node:http2";
import { createRequire } from "node:module";
import { createEndpointHandler, service } from "@restatedev/restate-sdk";
import { fork, freePort, untilReady } from "./support.js";

const bench = service({
  name: "bench",
  handlers: {
    async steps(context) {
      const one = await context.run("step 1", () => ({ n: 1 }));
      const two = await context.run("step 2", () => ({ n: 2 }));
      return { done: one.n + two.n };
    },
  },
});

const endpoint = createServer(createEndpointHandler({ services: [bench] }));
endpoint.listen(0, "127.0.0.1");

const { arch, platform } = process;
const binary = createRequire(import.meta.url).resolve(
  `@restatedev/restate-server-${platform}-${arch}/bin/restate-server`,
);
const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
fork(binary, ["--listen-mode", "tcp", "--no-logo"], {
  RESTATE_BASE_DIR: process.env.PEER_DATA,
  RESTATE_DISABLE_TELEMETRY: "true",
  RESTATE_LOG_FILTER: "error",
  RESTATE_BIND_IP: "127.0.0.1",
  RESTATE_BIND_PORT: String(node),
  RESTATE_INGRESS__BIND_PORT: String(ingress),
  RESTATE_ADMIN__BIND_PORT: String(admin),
});
const json = { method: "POST", headers: { "content-type": "application/json" } };
const uri = `http://127.0.0.1:${endpoint.address().port}`;
await untilReady(() =>
  fetch(`http://127.0.0.1:${admin}/deployments`, { ...json, body: JSON.stringify({ uri }) }),
);
await untilReady(() => fetch(`http://127.0.0.1:${ingress}/bench/steps`, { ...json, body: "1" }));
console.log(`URL http://127.0.0.1:${ingress}/bench/steps`);
