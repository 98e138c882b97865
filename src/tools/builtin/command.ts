/** `command.run`: a program of the operator's choice, in the workspace. Off unless the operator makes it with `commandTool`. */

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { isAbsolute, join } from "node:path";
import { Type } from "typebox";
import { pathCharsMax } from "../../files/safe-path.ts";
import { toolMsDefault } from "../attempt.ts";
import { defineTool } from "../define.ts";
import type { Risk, ToolDefinition } from "../tool.ts";
import { CommandRefused, type Confinement, runRestricted } from "./restricted-process.ts";

export interface CommandOptions extends Partial<Omit<Confinement, "cpuSecondsMax">> {
  /** Bare names, looked up in `path`. Whatever these programs can do, whoever calls the tool can do. */
  programs: readonly string[];
  /** `command.run` unless said. */
  name?: string;
  timeoutMs?: number;
  /** `dangerous` unless said. */
  risk?: Risk;
}

const defaults = {
  isolation: "namespaces",
  hidden: [],
  network: false,
  path: ["/usr/local/bin", "/usr/bin", "/bin"],
  env: {},
  outputBytesMax: 64 * 1024,
  fileBytesMax: 1024 ** 3,
  memoryBytesMax: null,
} as const satisfies Partial<Confinement>;

const programPattern = /^[A-Za-z0-9_][\w.+-]{0,63}$/;

const Output = Type.Object({
  exit_code: Type.Integer({ description: "128 and the number of the signal when one ended it." }),
  stdout: Type.String(),
  stdout_truncated: Type.Boolean(),
  stderr: Type.String(),
  stderr_truncated: Type.Boolean(),
});

export function commandTool(options: CommandOptions): ToolDefinition {
  const { programs, name = "command.run", timeoutMs = toolMsDefault, risk = "dangerous", ...rest } = options;
  const cpuSecondsMax = Math.ceil(timeoutMs / 1000) * availableParallelism();
  const confinement: Confinement = { ...defaults, ...rest, cpuSecondsMax };
  assertOptions(programs, confinement);
  return defineTool({
    name,
    description: `Runs one of these programs in the workspace, without a shell: ${programs.join(", ")}.`,
    input: Type.Object({
      program: Type.Enum([...programs]),
      args: Type.Optional(
        Type.Array(Type.String({ maxLength: 8192, pattern: "^[^\\u0000]*$" }), { maxItems: 256 }),
      ),
      cwd: Type.Optional(
        Type.String({
          maxLength: pathCharsMax,
          description: "A folder of the workspace; the workspace itself when absent.",
        }),
      ),
    }),
    output: Output,
    effect: "irreversible",
    risk,
    timeoutMs,
    isOptIn: true,
    capabilities: ["files:read", "files:write"],
    async run({ program, args = [], cwd = "" }, { files, place, signal }) {
      const located = await files.locate(await place(), cwd);
      const file = await find(program, confinement.path);
      return await runRestricted([file, ...args], located, confinement, signal);
    },
  });
}

function assertOptions(programs: readonly string[], confinement: Confinement): void {
  const { isolation, hidden, network, path, outputBytesMax, fileBytesMax, memoryBytesMax } = confinement;
  const misnamed = programs.find((program) => !programPattern.test(program));
  if (misnamed !== undefined) {
    throw new TypeError(`A program is named without its folder; found ${JSON.stringify(misnamed)}.`);
  }
  if (programs.length === 0) throw new TypeError("A tool that runs programs needs at least one program.");
  if (path.length === 0 || path.some((directory) => !isAbsolute(directory) || directory.includes(":"))) {
    throw new TypeError("The path of programs is a list of absolute directories.");
  }
  if (isolation !== "namespaces" && isolation !== "process") {
    throw new TypeError("The isolation of programs is namespaces or process.");
  }
  if (isolation === "process" && !network) {
    throw new TypeError(
      "Only namespaces keep a program from the network: say network: true, or leave isolation as it is.",
    );
  }
  if (hidden.some((directory) => !isAbsolute(directory)) || (isolation === "process" && hidden.length > 0)) {
    throw new TypeError("What is hidden is a list of absolute directories, and needs namespaces.");
  }
  for (const bytes of [outputBytesMax, fileBytesMax, memoryBytesMax ?? 1]) {
    if (!Number.isSafeInteger(bytes) || bytes < 1) {
      throw new TypeError("A limit of bytes is a whole number from 1 on.");
    }
  }
}

async function find(program: string, path: readonly string[]): Promise<string> {
  for (const directory of path) {
    const file = join(directory, program);
    if (await isExecutable(file)) return file;
  }
  throw new CommandRefused(`The program ${program} is not installed here.`);
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
