/**
 * Plays a dialogue at a terminal: `node dialogue.ts TRANSCRIPT COMMAND…`. The transcript is what a page shows of the screen. What
 * stands behind a prompt is typed once the prompt is there; everything else has to be seen, in this order; `…` is anything.
 */

import { readFileSync } from "node:fs";
import { normalized, patternOf } from "./docs.ts";
import { commandInTerminal, ctrl } from "./terminal.ts";

/** The prompts of `bridle shell` and of the approver's commands, with what is typed behind them. */
const prompt = /^((?:answer)?> |.*\[(?:y|yes)\/N\] |.* to sign: )(.*)$/;

const [transcript = "", ...command] = process.argv.slice(2);
const lines = normalized(readFileSync(transcript, "utf8")).split("\n");
await using terminal = commandInTerminal(command, { env: { ...process.env, BRIDLE_API_KEY: undefined } });
for (const line of lines.map((each) => each.trim()).filter((each) => each !== "" && each !== "…")) {
  const [, question, typed = ""] = prompt.exec(line) ?? [];
  if (question === undefined) await terminal.sees(new RegExp(patternOf(line)));
  else await terminal.answer(question, typed);
}
// Whoever is through presses Ctrl-D, unless the command ends by itself.
terminal.press(ctrl.d);
process.exitCode = (await terminal.ended()) ?? 1;
