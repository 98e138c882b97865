/** `bridle witness`: follows the chain of receipts of a server, signs its heads, and raises an alarm when history is rewritten. */

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { readPrivateFile, writePrivateFile } from "../../policy/private-file.ts";
import { loadSigningKey } from "../../policy/signing-key.ts";
import { parseCheckpoint, parseNote } from "../../receipts/checkpoint.ts";
import { publicKeysIn } from "../../receipts/public-keys.ts";
import { HistoryRewritten, witness } from "../../receipts/witness.ts";
import { pause } from "../../web/pause.ts";
import { Remote, type RemoteSettings } from "../remote.ts";
import { httpUrl, wholeNumber } from "../settings/option-parsers.ts";
import { type JsonSettings, show, withJson } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";

interface WitnessSettings extends JsonSettings {
  key?: string;
  workspace: string;
  state: string;
  name: string;
  every: number;
  once?: true;
}

const everySecondsDefault = 60;
const everySecondsMax = 86_400;

export function addWitnessCommand(program: Command): void {
  withJson(
    program
      .command("witness")
      .description(
        "Follow the chain of receipts of a server and sign its heads. Exit code 1 when its history was rewritten.",
      )
      .argument("<url>", "the server", httpUrl)
      .addOption(
        new Option("--key <key>", "an API key with receipts:read; better set in the environment").env(
          "BRIDLE_KEY",
        ),
      )
      .option("--workspace <id>", "whose chain", "workspace_default")
      .option(
        "--state <directory>",
        "where the witness's key and what it has seen are kept",
        "./.bridle-witness",
      )
      .option("--name <name>", "what the witness signs as", checkedName, "bridle-witness")
      .option("--every <seconds>", "how often it looks", wholeNumber(1, everySecondsMax), everySecondsDefault)
      .option("--once", "look once and end"),
  ).action(async (url: string, settings: WitnessSettings) => {
    await follow(url, settings);
  });
}

/** As signed notes have names of keys. */
function checkedName(name: string): string {
  if (/^[^\s+\p{Cc}]{1,200}$/u.test(name)) return name;
  throw new InvalidArgumentError("A name has no spaces, control characters or plus signs.");
}

async function follow(url: string, settings: WitnessSettings): Promise<void> {
  mkdirSync(settings.state, { recursive: true, mode: 0o700 });
  while (true) {
    try {
      await look(url, settings);
    } catch (error) {
      if (error instanceof HistoryRewritten) return raise(error, settings);
      if (settings.once) throw error;
      // The server may be away; what it says when it is back goes on from what is kept.
      process.stderr.write(`${oneLine(error instanceof Error ? error.message : String(error))}\n`);
    }
    if (settings.once) return;
    await pause(settings.every * 1000);
  }
}

async function look(url: string, settings: WitnessSettings): Promise<void> {
  const { key, workspace, state, name } = settings;
  const remote = new Remote({
    url,
    data: state,
    ...(key === undefined ? {} : { key }),
  } satisfies RemoteSettings);
  const path = `/v1/workspaces/${encodeURIComponent(workspace)}/checkpoint`;
  const keys = publicKeysIn(await remote.json("GET", "/.well-known/jwks.json"));
  const file = join(state, `${fileName(remote.url, workspace)}.checkpoint`);
  const note = await witness(
    { name, key: loadSigningKey(join(state, "witness.key")) },
    readPrivateFile(file),
    {
      note: await remote.text(path),
      keys: keys ?? [],
      async prove(from, to) {
        const proof = await remote.json<{ path: string[] }>(
          "GET",
          `${path}/consistency?from=${from}&to=${to}`,
        );
        return proof.path;
      },
    },
    Math.floor(Date.now() / 1000),
  );
  writePrivateFile(file, note);
  const seen = parseCheckpoint(parseNote(note)?.text ?? "");
  show(
    settings,
    { ...seen, file, note },
    () => `${seen?.size} receipts, root ${seen?.root}: signed, in ${file}\n`,
  );
}

/** One for each chain that is followed. */
function fileName(url: string, workspace: string): string {
  return createHash("sha256").update(`${url}\n${workspace}`).digest("hex").slice(0, 16);
}

/** Both signed notes are the evidence, and are kept for good. */
function raise({ message, before, now }: HistoryRewritten, settings: WitnessSettings): void {
  const evidence = join(settings.state, `rewritten-${new Date().toISOString().replaceAll(":", "")}`);
  writeFileSync(`${evidence}.before`, before, { mode: 0o600 });
  writeFileSync(`${evidence}.now`, now, { mode: 0o600 });
  show(settings, { alarm: message, before, now, evidence }, () => {
    return `ALARM: ${oneLine(message)}\nThe two checkpoints are in ${evidence}.before and .now.\n`;
  });
  process.exitCode = 1;
}
