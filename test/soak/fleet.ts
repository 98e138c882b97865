/** The server of a soak: a real process on one address, its data on a small disk where there can be one, and what happens to it. */

import { spawnSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reservedPort } from "../support/ports.ts";
import type { TestPostgres } from "../support/postgres.ts";
import { startProcess, type TestProcess } from "../support/server.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

/** Room for a soak's log, and soon full. */
const diskMb = 256;
const agentsModule = join(import.meta.dirname, "agents.ts");

export interface FleetOptions {
  outsideUrl: string;
  postgres: TestPostgres | null;
}

export class Fleet implements AsyncDisposable {
  readonly #options: FleetOptions;
  readonly directory: string;
  /** Whether the data is on a disk of its own, which can be filled. */
  readonly hasOwnDisk: boolean;
  readonly data: string;
  /** Where clients connect; connections can be cut there. */
  readonly proxy: TcpProxy;
  readonly #env: Record<string, string>;
  readonly #flags: string[];
  readonly grpcUrl: string;
  #process: TestProcess | null = null;
  starts = 0;
  peakMb = 0;
  peakDescriptors = 0;

  private constructor(
    options: FleetOptions,
    directory: string,
    { hasOwnDisk, proxy, env, flags, grpcUrl }: Made,
  ) {
    this.#options = options;
    this.directory = directory;
    this.hasOwnDisk = hasOwnDisk;
    this.data = join(directory, "disk", "data");
    this.proxy = proxy;
    this.#env = env;
    this.#flags = flags;
    this.grpcUrl = grpcUrl;
  }

  static async open(options: FleetOptions): Promise<Fleet> {
    const directory = await mkdtemp(join(tmpdir(), "bridle-soak-"));
    const disk = join(directory, "disk");
    await mkdir(disk);
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${diskMb}m`, "tmpfs", disk]);
    const [port, grpcPort] = [await reservedPort(), await reservedPort()];
    const proxy = await startTcpProxy(`http://127.0.0.1:${port}`);
    const url = await options.postgres?.newDatabase();
    const env = {
      SOAK_OUTSIDE: options.outsideUrl,
      BRIDLE_GRPC_PORT: grpcPort,
      ...(url === undefined ? {} : { BRIDLE_DATABASE_URL: url }),
    };
    const fleet = new Fleet(options, directory, {
      hasOwnDisk: mounted.status === 0,
      proxy,
      env,
      flags: ["--port", port, "--agents", agentsModule, "--disk-floor", "1MB", "--rate-limit", "off"],
      grpcUrl: `http://127.0.0.1:${grpcPort}`,
    });
    await fleet.start();
    return fleet;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Until it is there: what killed it may be what it meets at its start. */
  async start(): Promise<void> {
    for (let failures = 0; this.#process === null; failures++) {
      this.starts += 1;
      try {
        const args = ["--data", this.data, ...this.#flags];
        this.#process = await startProcess({ args, data: this.data, env: this.#env });
      } catch (error) {
        if (failures >= failuresMax) throw error;
      }
    }
  }

  async kill(): Promise<void> {
    this.measure();
    await this.#process?.kill();
    this.#process = null;
  }

  async stop(): Promise<number | null> {
    const code = (await this.#process?.stop()) ?? null;
    this.#process = null;
    return code;
  }

  /** It may have stopped by itself, as it should after some faults of the disk. */
  async revive(): Promise<void> {
    const ended = this.#process?.process;
    if (ended === undefined || (ended.exitCode === null && ended.signalCode === null)) return;
    this.#process = null;
    await this.start();
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#process?.process.kill(name);
  }

  fillDisk(): void {
    const file = openSync(join(this.directory, "disk", "ballast"), "w");
    const block = Buffer.alloc(1024 * 1024);
    try {
      for (let mb = 0; mb < diskMb; mb++) writeSync(file, block);
    } catch {
      // Full.
    } finally {
      closeSync(file);
    }
  }

  freeDisk(): void {
    rmSync(join(this.directory, "disk", "ballast"), { force: true });
  }

  get postgres(): TestPostgres | null {
    return this.#options.postgres;
  }

  measure(): void {
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
      const kb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
      this.peakMb = Math.max(this.peakMb, Math.round(kb / 1024));
      this.peakDescriptors = Math.max(this.peakDescriptors, readdirSync(`/proc/${this.pid}/fd`).length);
    } catch {
      // It has just ended, or this system has no /proc.
    }
  }

  /** The data where it stays when the disk is gone. */
  async keep(): Promise<string> {
    await this.kill();
    const kept = await mkdtemp(join(tmpdir(), "bridle-soak-failed-"));
    await cp(this.data, kept, { recursive: true });
    return kept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGCONT");
    await this.kill();
    await this.proxy[Symbol.asyncDispose]();
    if (this.hasOwnDisk) spawnSync("umount", [join(this.directory, "disk")]);
    await rm(this.directory, { recursive: true, force: true });
  }
}

interface Made {
  hasOwnDisk: boolean;
  proxy: TcpProxy;
  env: Record<string, string>;
  flags: string[];
  grpcUrl: string;
}

/** A server that does not start so often never will. */
const failuresMax = 10;
