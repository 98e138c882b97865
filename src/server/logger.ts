/** Log lines on standard error, without anything in them that looks like a secret: as JSON, or for a person who watches. */

import { type DestinationStream, type Logger, pino } from "pino";
import { escapeControls } from "../cli/terminal/text.ts";
import { Redactor } from "../policy/redact/redact.ts";

export function createLogger(
  level: string,
  secrets: readonly string[] = [],
  destination: DestinationStream = pino.destination(2),
): Logger {
  const redactor = new Redactor(secrets);
  return pino({ level, hooks: { streamWrite: (line) => redactor.text(line) } }, destination);
}

/** The same in short lines: `12:30:05 warn  Tasks wait for an agent version that is not loaded  agent=deployer@1.0.0`. */
export function createReadableLogger(level: string, secrets: readonly string[] = []): Logger {
  const redactor = new Redactor(secrets);
  const write = (line: string) => process.stderr.write(readable(redactor.text(line)));
  return pino({ level, base: null }, { write });
}

interface LogLine {
  level: number;
  time: number;
  msg?: string;
  err?: { message?: string; stack?: string };
}

function readable(json: string): string {
  const { level, time, msg = "", err, ...about }: LogLine = JSON.parse(json);
  const at = new Date(time).toTimeString().slice(0, 8);
  const facts = Object.entries(about).map(([name, value]) => {
    return `  ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
  const failure = err === undefined ? "" : `\n${err.stack ?? err.message ?? ""}`.replaceAll("\n", "\n    ");
  // What is quoted in it may come from anybody, and a terminal would obey it.
  return escapeControls(
    `${at} ${(pino.levels.labels[level] ?? "").padEnd(5)} ${msg}${facts.join("")}${failure}\n`,
  );
}
