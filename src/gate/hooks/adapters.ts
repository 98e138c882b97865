/** The coding tools whose hooks the gate can be. */

import type { HookAdapter } from "./adapter.ts";
import { claudeCode } from "./claude-code.ts";
import { copilot } from "./copilot.ts";
import { cursor } from "./cursor.ts";
import { geminiCli } from "./gemini-cli.ts";
import { windsurf } from "./windsurf.ts";

export const adapters: readonly HookAdapter[] = [claudeCode, cursor, copilot, windsurf, geminiCli];
export const adapterNames = adapters.map(({ name }) => name);

export function adapterNamed(name: string): HookAdapter {
  const found = adapters.find((adapter) => adapter.name === name);
  if (found === undefined) throw new Error(`${name} is none of ${adapterNames.join(", ")}.`);
  return found;
}
