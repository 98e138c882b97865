/** Runs the blocks of a page from top to bottom, as a reader would: in one shell, in a folder of its own. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { type Block, blocksOf, isActed, matches, normalized, root } from "./docs.ts";
import { reservedPort } from "./ports.ts";
import { environment, main, temporaryDirectory } from "./server.ts";

/** Longer than any page takes, on a busy machine too. */
const patienceMs = 240_000;

export interface World {
  /** Where the page finds a server, or where it starts its own. */
  url: string;
  /** What stands for addresses on this machine that the page names. */
  instead?: Record<string, string>;
  env: Record<string, string>;
  /** The data directory of a server that runs already; the reader's folder is where it was started. */
  data?: string;
}

/** What is executed together, and what it prints. */
interface Act {
  first: Block;
  script: string;
  /** The text below it that shows its output, and the lines that comments say. */
  shown: string | null;
  said: string[];
}

/** The page's blocks as steps. Scripts in TypeScript with nothing in between are one process. */
function actsOf(page: string): Act[] {
  const acts: Act[] = [];
  let last: Block | null = null;
  for (const block of blocksOf(page)) {
    const act = acts.at(-1);
    if (block.words.has("output")) {
      assert.ok(act !== undefined && act.shown === null, `${page}:${block.line}: nothing is run before it.`);
      act.shown = block.text;
      last = null;
    } else if (isActed(block)) {
      const isSameProgram = last !== null && isScript(last) && isScript(block);
      if (isSameProgram && act !== undefined) act.script += script(block, isSameProgram);
      else acts.push({ first: block, script: script(block), shown: null, said: saidIn(block) });
      last = block;
    }
  }
  return acts.map((act) => (isScript(act.first) ? { ...act, script: `${act.script}node main.mts\n` } : act));
}

function isScript({ language, words }: Block): boolean {
  return language === "ts" && words.has("run");
}

function saidIn({ language, words, text }: Block): string[] {
  if (language !== "sh" || !words.has("run")) return [];
  return [...text.matchAll(/ # → (.*)$/gm)].map(([, line = ""]) => line.trim());
}

function script(block: Block, isGoingOn = false): string {
  const { file, language, line, text, words } = block;
  if (file !== null) return `mkdir -p ${dirname(file)}\n${written(file, text)}`;
  if (language === "ts") {
    const name = `line-${line}.mts`;
    return `${written(name, text)}echo 'await import("./${name}");' >${isGoingOn ? ">" : ""}main.mts\n`;
  }
  assert.equal(language, "sh", `${block.page}:${line}: only sh and ts can be run.`);
  return words.has("background") ? text.trim() : text;
}

function written(file: string, text: string): string {
  return `cat >${file} <<'END_OF_BLOCK'\n${text}END_OF_BLOCK\n`;
}

const waitUntilReady = `
until_ready() {
  for _ in $(seq 600); do
    if grep -q 'is ready' "$1"; then return 0; fi
    sleep 0.2
  done
  echo "It did not get ready: $(cat "$1")" >&2
  return 1
}
`;

const dialogue = join(root, "test/support/dialogue.ts");

/** A dialogue is compared while it is played; all others when they have ended. */
function played({ first, script, shown }: Act, n: number): string {
  assert.ok(shown !== null, `${first.page}:${first.line}: what is on the screen is not shown.`);
  return `${written(`dialogue-${n}.txt`, shown)}node ${dialogue} dialogue-${n}.txt ${script}`;
}

/** Each step writes what it prints to a file with its number; the last of these shows how far it came. */
function wholeScript(acts: readonly Act[], printed: string): string {
  const steps = acts.map((act, n) => {
    const { first } = act;
    const out = join(printed, String(n));
    const script = first.words.has("dialogue") ? played(act, n) : act.script;
    if (first.words.has("background")) return `{ ${script}\n} >${out} 2>&1 &\nuntil_ready ${out}\n`;
    return `{\n${script}\n} >${out}\n`;
  });
  return `set -euo pipefail\n${waitUntilReady}${steps.join("")}`;
}

/** Programs that a reader has: ours as if it were installed, and an npm that has nothing left to fetch. */
async function programs(folder: string): Promise<string> {
  const bin = join(folder, "bin");
  await mkdir(bin);
  const scripts = {
    // Packing takes half a minute; what it makes is tested with the package.
    bridle: `if [ "$1" = init ]; then set -- "$@" --link; fi
exec "${process.execPath}" "${main}" "$@"`,
    npx: 'exec "$@"',
    npm: `case "$*" in
  install*|ci*) exit 0;;
  start) exec bridle serve;;
  "run -s bridle -- "*) shift 4; exec bridle "$@";;
esac
PATH="\${PATH#*:}:\${PATH%%:*}"
exec npm "$@"`,
  };
  for (const [name, text] of Object.entries(scripts)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
  return bin;
}

async function makeFolder(folder: string, world: World): Promise<string> {
  const here = join(folder, "here");
  await mkdir(join(here, "node_modules/@types"), { recursive: true });
  await symlink(root, join(here, "node_modules/bridle"));
  for (const name of ["@a2a-js", "typescript", "@types/node"]) {
    await symlink(join(root, "node_modules", name), join(here, "node_modules", name));
  }
  if (world.data !== undefined) await symlink(world.data, join(here, ".bridle"));
  return here;
}

/** The same for a page that starts servers, on ports that nobody has: up to two, and a model that it takes for one on this machine. */
export async function runPageWithServers(page: string, modelUrl: string): Promise<void> {
  const port = await reservedPort();
  const other = await reservedPort();
  await runPage(page, {
    url: `http://127.0.0.1:${port}`,
    instead: { "8081": other, "http://127.0.0.1:11434": modelUrl },
    env: { BRIDLE_PORT: port, BRIDLE_GRPC_PORT: "0", BRIDLE_LOG_LEVEL: "warn" },
  });
}

/** Runs a page and compares what it prints with what it says that it prints. */
export async function runPage(page: string, world: World): Promise<void> {
  await using place = await temporaryDirectory();
  const here = await makeFolder(place.path, world);
  const printed = join(place.path, "printed");
  await mkdir(printed);
  const PATH = [await programs(place.path), dirname(process.execPath), process.env.PATH].join(delimiter);
  const acts = actsOf(page);
  let text = wholeScript(acts, printed).replaceAll("http://127.0.0.1:8080", world.url);
  for (const [name, other] of Object.entries(world.instead ?? {})) text = text.replaceAll(name, other);
  const { LANG } = process.env;
  const { NODE_COMPILE_CACHE, NODE_OPTIONS } = environment;
  const env = {
    PATH,
    LANG,
    NODE_COMPILE_CACHE,
    NODE_OPTIONS,
    HOME: place.path,
    BRIDLE_URL: world.url,
    ...world.env,
  };
  // A group of its own, so that what it leaves running can be ended.
  const shell = spawn("bash", ["-c", text], {
    cwd: here,
    env,
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const patience = setTimeout(() => endGroup(shell.pid), patienceMs);
  const complaints: string[] = [];
  shell.stderr.setEncoding("utf8").on("data", (chunk: string) => complaints.push(chunk));
  const [code] = await once(shell, "exit");
  clearTimeout(patience);
  endGroup(shell.pid);
  const outputs = await Promise.all(acts.map((_, n) => readIfThere(join(printed, String(n)))));
  const last = acts[outputs.findLastIndex((output) => output !== null)];
  const trouble = `${page}:${last?.first.line}: ${outputs.findLast((output) => output !== null)}\n${complaints.join("")}`;
  assert.equal(code, 0, trouble);
  for (const [n, act] of acts.entries()) compare(act, outputs[n] ?? "");
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // All of them have ended.
  }
}

async function readIfThere(file: string): Promise<string | null> {
  return await readFile(file, "utf8").catch(() => null);
}

function compare({ first, shown, said }: Act, output: string): void {
  const where = `${first.page}:${first.line}`;
  const lines = output.split("\n").map((line) => line.trim());
  for (const line of said) {
    const at = lines.indexOf(line);
    assert.notEqual(at, -1, `${where} does not print ${JSON.stringify(line)}, but:\n${output}`);
    lines.splice(0, at + 1);
  }
  if (shown === null || first.words.has("dialogue")) return;
  // So that the difference is shown.
  if (!matches(shown, output))
    assert.equal(normalized(output), normalized(shown), `${where} prints something else`);
}
