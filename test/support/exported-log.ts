/** Logs of sessions as files: taken from a server, changed, and given to another. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Answer, Client, Json } from "./client.ts";

export function importInto(client: Client, text: string): Promise<Answer> {
  return client.call("/v1/sessions/import", { raw: text, headers: { "content-type": "application/jsonl" } });
}

/** A file of JSON lines as the server gives it. */
export async function download(client: Client, path: string): Promise<string> {
  const response = await fetch(client.url + path, { headers: client.headers() });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text;
}

export function exportOf(client: Client, sessionId: string): Promise<string> {
  return download(client, `/v1/sessions/${sessionId}/export`);
}

/** One line of a log file, read. */
type Line = Json;

/** A log file that can be changed line by line; the number of events at its end stays true unless told otherwise. */
export class Log {
  lines: Line[];

  constructor(text: string) {
    this.lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  get header(): Json {
    return this.lines[0];
  }

  get events(): Json[] {
    return this.lines.flatMap((line) => (line.event === undefined ? [] : [line.event]));
  }

  /** The first event of a kind for which something holds. */
  event(kind: string, holds: (payload: Json) => boolean = () => true): Json {
    const found = this.events.find(({ event, payload }) => event === kind && holds(payload));
    assert.ok(found !== undefined, `there is ${kind}`);
    return found;
  }

  step(key: string): Json {
    return this.events.find(({ payload }) => payload.step === key && payload.result !== undefined).payload;
  }

  blob(sha256: string): Json {
    return this.lines.find(({ blob }) => blob?.sha256 === sha256).blob;
  }

  remove(event: Json): void {
    this.lines = this.lines.filter((line) => line.event !== event);
  }

  insertAfter(event: Json, added: Json): void {
    const index = this.lines.findIndex((line) => line.event === event);
    this.lines.splice(index + 1, 0, { event: added });
  }

  /** Content together with its hash, wherever the hash stands. */
  replaceBlob(sha256: string, bytes: Buffer): void {
    const blob = this.blob(sha256);
    blob.base64 = bytes.toString("base64");
    this.lines = JSON.parse(JSON.stringify(this.lines).replaceAll(sha256, sha256Of(bytes)));
  }

  text(): string {
    const end = this.lines.find((line) => line.end !== undefined);
    if (end !== undefined) end.end.events = this.events.length;
    return `${this.lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
  }
}

export function sha256Of(data: Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}
