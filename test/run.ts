/**
 * `npm test`: runs all test files, several at once, in a few processes that are used again for the next file.
 *
 *   npm test -- [--shard 1/4] [--jobs 3] [--seed 7] [--verbose] [path …]
 */

import { type ChildProcess, fork } from "node:child_process";
import { globSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs, styleText } from "node:util";
import { freshBundle } from "../build/fresh.ts";
import { type Failure, type FromWorker, root, type ToWorker } from "./runner/protocol.ts";
import { scratchDirectory } from "./runner/scratch.ts";

/** Begun first, so that none of them is the last that everybody waits for. */
const slowest = [
  "test/cli.e2e.test.ts",
  "test/harn/replay.e2e.test.ts",
  "test/package.e2e.test.ts",
  "test/runtime.e2e.test.ts",
  "test/docs.e2e.test.ts",
  "test/operations.e2e.test.ts",
  "test/redaction.e2e.test.ts",
  "test/crash.e2e.test.ts",
];

/** A worker that begins and ends no test for so long hangs, and what it started with it. */
const silenceMsMax = process.env.BRIDLE_TEST_THOROUGH === "1" ? 910_000 : 120_000;

const { values: options, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: {
    shard: { type: "string", default: "1/1" },
    jobs: { type: "string", default: String(availableParallelism() + 3) },
    seed: { type: "string", default: process.env.BRIDLE_TEST_SEED ?? "1" },
    verbose: { type: "boolean", default: false },
  },
});

/** What tests print is shown when one of their file fails; the end of it. */
const outputCharsMax = 20_000;

const total = { passed: 0, failed: 0, skipped: 0 };
const failures: Failure[] = [];

function refuse(problem: string): never {
  process.stderr.write(`npm test: ${problem}\n`);
  process.exit(2);
}

function filesToRun(): string[] {
  const all = globSync("{src,test,examples}/**/*.test.ts", { cwd: root })
    .filter((file) => paths.length === 0 || paths.some((path) => file.startsWith(path.replace(/^\.\//, ""))))
    .sort((a, b) => priority(a) - priority(b));
  const [, index, count] = /^([1-9]\d*)\/([1-9]\d*)$/.exec(options.shard) ?? [];
  if (index === undefined || Number(index) > Number(count)) {
    refuse(`--shard takes the number of a part and how many there are, as 1/4; not ${options.shard}`);
  }
  return all.filter((_, n) => n % Number(count) === Number(index) - 1);
}

/** Stories take longer than the tests of a module, and long files longer than short ones. */
function priority(file: string): number {
  const place = slowest.indexOf(file);
  if (place >= 0) return place - slowest.length;
  const { size } = statSync(join(root, file));
  return 1 / size + (file.startsWith("src/") ? 1 : 0);
}

/** Takes files from the list until there are none, in a process that is replaced when it dies. */
async function work(files: string[]): Promise<void> {
  let worker: ChildProcess | null = null;
  for (let file = files.shift(); file !== undefined; file = files.shift()) {
    if (needsOwnProcess(file)) {
      const own = await startWorker();
      if (await runFile(own, file)) endWorker(own);
      continue;
    }
    worker ??= await startWorker();
    if (!(await runFile(worker, file))) worker = null;
  }
  if (worker !== null) endWorker(worker);
}

/** What it tests is what a process has loaded. */
function needsOwnProcess(file: string): boolean {
  return file.endsWith(".alone.test.ts");
}

function endWorker(worker: ChildProcess): void {
  worker.send({ end: true } satisfies ToWorker);
}

const scratch = scratchDirectory();

/** Threads are given the same, wherever the process is by then. */
function moduleUrl(name: string): string {
  return pathToFileURL(join(root, "test/runner", name)).href;
}

async function startWorker(): Promise<ChildProcess> {
  const worker = fork(join(root, "test/runner/worker.ts"), {
    cwd: root,
    silent: true,
    // Killed as a group, with all that its tests have started.
    detached: true,
    execArgv: [
      `--test-reporter=${moduleUrl("reporter.ts")}`,
      "--test-reporter-destination=/dev/null",
      `--import=${moduleUrl("registration.ts")}`,
      `--import=${moduleUrl("seed.ts")}`,
    ],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: join(root, "node_modules/.cache/tests"),
      BRIDLE_TEST_SEED: options.seed,
      TMPDIR: scratch,
    },
  });
  process.once("exit", () => killGroup(worker));
  await new Promise((resolve) => worker.once("message", resolve));
  return worker;
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Resolves to whether the worker can be used again. */
function runFile(worker: ChildProcess, file: string): Promise<boolean> {
  const startedAt = performance.now();
  const count = { passed: 0, skipped: 0 };
  const failed: Failure[] = [];
  let current = "";
  let output = "";
  const listen = (text: Buffer) => {
    output = (output + text).slice(-outputCharsMax);
  };
  worker.stdout?.on("data", listen);
  worker.stderr?.on("data", listen);
  return new Promise((resolve) => {
    let silence = setTimeout(hang, silenceMsMax);
    function end(isUsable: boolean, cpuSeconds = 0): void {
      clearTimeout(silence);
      worker.removeAllListeners("message").removeAllListeners("exit");
      worker.stdout?.off("data", listen);
      worker.stderr?.off("data", listen);
      total.passed += count.passed;
      total.skipped += count.skipped;
      total.failed += failed.length;
      failures.push(...failed);
      const seconds = (performance.now() - startedAt) / 1000;
      const mark = failed.length === 0 ? styleText("green", "✔") : styleText("red", "✖");
      const times = `${seconds.toFixed(1)} s, CPU ${cpuSeconds.toFixed(1)} s`;
      console.log(`${mark} ${file} ${styleText("dim", `${count.passed} passed, ${times}`)}`);
      for (const { name } of failed) console.log(`    ${styleText("red", "✖")} ${name}`);
      if (failed.length > 0 || options.verbose) process.stdout.write(output);
      resolve(isUsable);
    }
    function lose(reason: string, name = current): void {
      failed.push({ name, at: file, reason });
      killGroup(worker);
      end(false);
    }
    function hang(): void {
      lose(`Nothing happened for ${silenceMsMax / 1000} s.`);
    }
    worker.on("message", (message: FromWorker) => {
      clearTimeout(silence);
      silence = setTimeout(hang, silenceMsMax);
      if (message.type === "started") current = message.name;
      if (message.type === "passed") {
        count[message.isSkipped ? "skipped" : "passed"] += 1;
        if (options.verbose) console.log(`  ✔ ${message.name} (${message.seconds.toFixed(2)} s)`);
      }
      if (message.type === "failed") failed.push(message.failure);
      if (message.type === "uncaught") lose(`Nobody caught this error:\n${message.reason}`, file);
      if (message.type === "diagnostic" && options.verbose) console.log(`    ℹ ${message.message}`);
      if (message.type === "done") {
        if (count.passed + count.skipped + failed.length === 0) {
          failed.push({ name: file, at: file, reason: "The file has no tests." });
        }
        end(true, message.cpuSeconds);
      }
    });
    worker.once("exit", (code, signal) => lose(`The process of the test ended with ${code ?? signal}.`));
    worker.send({ file } satisfies ToWorker);
  });
}

const startedAt = performance.now();
await freshBundle();
const files = filesToRun();
if (files.length === 0) refuse(`no test file has a path that begins with ${paths.join(" or ")}`);
console.log(`${files.length} files, ${options.jobs} at once; seed ${options.seed} (set another with --seed)`);
await Promise.all(Array.from({ length: Number(options.jobs) }, () => work(files)));
for (const { name, at, reason } of failures) {
  console.log(`\n${styleText("red", "✖")} ${name}\n  at ${at}\n  ${reason.replaceAll("\n", "\n  ")}`);
}
const { passed, failed, skipped } = total;
console.log(`\n${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 ? 0 : 1;
