/** Log lines on standard error, as JSON, without anything in them that looks like a secret. */

import { type Logger, pino } from "pino";
import { Redactor } from "./policy/redact/redact.ts";

export function createLogger(level: string, secrets: readonly string[] = []): Logger {
  const redactor = new Redactor(secrets);
  return pino({ level, hooks: { streamWrite: (line) => redactor.text(line) } }, pino.destination(2));
}
