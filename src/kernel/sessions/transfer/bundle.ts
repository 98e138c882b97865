/**
 * The log of a session or a task as a file that stands alone: JSON lines, one thing a line.
 *
 *   {"format":"bridle-log/1", …}   what it is of, and from whom
 *   {"blob":{"sha256","base64"}}   content, before the first event that speaks of it; large content in several lines, all but the
 *                                  last with "more":true
 *   {"event":{…}}                  events in log order, as they were recorded
 *   {"end":{"events":N}}           so that a file which was cut off is recognized
 */

import { createHash, type Hash } from "node:crypto";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/schema";
import { lazy } from "../../../lazy.ts";
import { atOnce, inSlices, nextSlice } from "../../../slices.ts";
import type { Blob, NewEvent } from "../../../store/port.ts";
import { HarnessError } from "../../core/errors.ts";
import { asKernelEvent, type KernelEvent } from "../../core/events.ts";
import { countedBytesMin, hasTooManyValues, valuesMax } from "../../core/json-values.ts";
import type { ShellTurn } from "../../kinds/shell-link.ts";
import type { StepResult } from "../../kinds/task.ts";

export const logFormat = "bridle-log/1";

/** A file with a member that we do not know says something that we would ignore. */
const strict = { additionalProperties: false };

export const LogHeader = Type.Object(
  {
    format: Type.Literal(logFormat),
    tenant_id: Type.String(),
    session_id: Type.String(),
    task_id: Type.Union([Type.String(), Type.Null()]),
    workspace: Type.Object({ id: Type.String(), name: Type.String(), root: Type.String() }, strict),
  },
  strict,
);
export type LogHeader = Static<typeof LogHeader>;

const Nullable = Type.Union([Type.String(), Type.Null()]);
const LogEvent = Type.Object(
  {
    event: Type.String({ minLength: 1 }),
    resource: Type.Object({ object: Type.String(), id: Type.String() }, strict),
    tenant_id: Type.String(),
    workspace_id: Nullable,
    session_id: Nullable,
    task_id: Nullable,
    actor: Nullable,
    created_at: Type.String({ format: "date-time" }),
    payload: Type.Object({}),
    replay: Type.Optional(Type.Object({})),
  },
  strict,
);

const checkHeader = lazy(() => Compile(LogHeader));
const checkEvent = lazy(() => Compile(Type.Object({ event: LogEvent })));
/** Content, or a piece of it: `more` says that the next line goes on with it. */
const BlobPiece = Type.Object({
  sha256: Type.String(),
  base64: Type.String(),
  more: Type.Optional(Type.Literal(true)),
});
const checkBlob = lazy(() => Compile(Type.Object({ blob: BlobPiece })));
const checkEnd = lazy(() => Compile(Type.Object({ end: Type.Object({ events: Type.Integer() }) })));

export interface LogBundle {
  header: LogHeader;
  events: NewEvent[];
  blobs: Blob[];
}

export function eventLine(event: NewEvent): string {
  const { resource, tenantId, workspaceId, sessionId, taskId, actor, createdAt, payload, replay } = event;
  const line: Static<typeof LogEvent> = {
    event: event.event,
    resource,
    tenant_id: tenantId,
    workspace_id: workspaceId,
    session_id: sessionId,
    task_id: taskId,
    actor,
    created_at: createdAt,
    payload,
    ...(replay === undefined ? {} : { replay }),
  };
  return JSON.stringify({ event: line });
}

/** In pieces, so that whoever reads them never has to parse a long line. */
const pieceBytes = 3 * 1024 * 1024;

export function* blobLines({ sha256, bytes }: Blob): Generator<string> {
  for (let start = 0; start === 0 || start < bytes.length; start += pieceBytes) {
    const base64 = Buffer.from(bytes.subarray(start, start + pieceBytes)).toString("base64");
    const piece: Static<typeof BlobPiece> = { sha256, base64 };
    if (start + pieceBytes < bytes.length) piece.more = true;
    yield JSON.stringify({ blob: piece });
  }
}

/** Reads a bundle; whatever is wrong with it is said with the number of the line. */
export function parseLogBundle(text: string): LogBundle {
  const reader = new BundleReader();
  for (const line of text.split("\n")) reader.add(line)?.();
  return atOnce(reader.end());
}

/** The same, of lines that arrive one after the other. Others get their turn in between. */
export async function readLogBundle(lines: AsyncIterable<string>): Promise<LogBundle> {
  const reader = new BundleReader();
  for await (const line of lines) {
    const decode = reader.add(line);
    await nextSlice();
    decode?.();
  }
  return await inSlices(reader.end());
}

class BundleReader {
  #number = 0;
  #bundle: Omit<LogBundle, "blobs"> | null = null;
  readonly #contents: { sha256: string; pieces: Uint8Array[] }[] = [];
  /** Content of which a piece is still to come. */
  #begun: { sha256: string; hash: Hash; pieces: Uint8Array[] } | null = null;
  #isEnded = false;

  /** Gives back what is left to do, where it takes long: decoding content and checking its hash. */
  add(line: string): (() => void) | undefined {
    if (line.trim() === "") return undefined;
    this.#number += 1;
    const number = this.#number;
    const item = parseLine(line, number);
    if (this.#bundle === null) {
      if (!checkHeader().Check(item)) throw bad(1, `it is not the beginning of a ${logFormat} file`);
      this.#bundle = { header: item, events: [] };
      return undefined;
    }
    const { events } = this.#bundle;
    if (this.#isEnded) throw bad(number, "the file goes on after its end");
    if (checkBlob().Check(item)) return () => this.#addPiece(item.blob, number);
    if (this.#begun !== null) throw bad(number, `the content ${this.#begun.sha256} is cut off before it`);
    if (checkEvent().Check(item)) events.push(toEvent(item.event));
    else if (checkEnd().Check(item)) this.#isEnded = assertCount(item.end.events, events.length, number);
    else throw bad(number, "it is neither an event, nor content, nor the end");
    return undefined;
  }

  #addPiece({ sha256, base64, more }: Static<typeof BlobPiece>, number: number): void {
    const content = this.#begun ?? { sha256, hash: createHash("sha256"), pieces: [] };
    if (content.sha256 !== sha256) throw bad(number, `the content ${content.sha256} is cut off before it`);
    const bytes = Buffer.from(base64, "base64");
    content.hash.update(bytes);
    content.pieces.push(bytes);
    this.#begun = more === true ? content : null;
    if (more === true) return;
    if (content.hash.digest("hex") !== sha256)
      throw bad(number, `the content is not what its hash ${sha256} says`);
    this.#contents.push({ sha256, pieces: content.pieces });
  }

  *end(): Generator<undefined, LogBundle> {
    if (this.#bundle === null) throw bad(1, `it is not the beginning of a ${logFormat} file`);
    if (!this.#isEnded) throw bad(this.#number, "the file is cut off: its end is missing");
    const blobs: Blob[] = [];
    for (const { sha256, pieces } of this.#contents) blobs.push({ sha256, bytes: yield* joined(pieces) });
    return { ...this.#bundle, blobs };
  }
}

function* joined(pieces: readonly Uint8Array[]): Generator<undefined, Uint8Array> {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) return only;
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
    yield;
  }
  return bytes;
}

function parseLine(line: string, number: number): unknown {
  if (line.length >= countedBytesMin && hasTooManyValues(Buffer.from(line)))
    throw bad(number, `it has more than ${valuesMax} values (members of objects and items of arrays)`);
  try {
    return JSON.parse(line);
  } catch {
    throw bad(number, "it is not JSON");
  }
}

function toEvent(line: Static<typeof LogEvent>): NewEvent {
  const { event, resource, tenant_id, workspace_id, session_id, task_id, actor, created_at, payload } = line;
  return {
    event,
    resource,
    tenantId: tenant_id,
    workspaceId: workspace_id,
    sessionId: session_id,
    taskId: task_id,
    actor,
    createdAt: created_at,
    payload,
    ...(line.replay === undefined ? {} : { replay: line.replay }),
  };
}

function assertCount(said: number, found: number, number: number): true {
  if (said !== found) throw bad(number, `there should be ${said} events, there are ${found}`);
  return true;
}

function bad(line: number, problem: string): HarnessError {
  return new HarnessError("invalid_request", `Line ${line} of the log file: ${problem}.`, {
    details: { line },
  });
}

/** Content that an event speaks of, and how long it says that it is. */
interface SpokenOf {
  blob: string;
  bytes?: unknown;
}

/** The content that an event speaks of, where the kernel put it: never what merely looks like it. */
export function contentIn(event: NewEvent): SpokenOf[] {
  return contentsOf(asKernelEvent(event)).filter(
    (content): content is SpokenOf =>
      typeof content === "object" &&
      content !== null &&
      "blob" in content &&
      typeof content.blob === "string",
  );
}

export function blobsOf(event: NewEvent): string[] {
  return contentIn(event).map(({ blob }) => blob);
}

function environmentOf({ environment }: ShellTurn): unknown {
  return environment !== null && environment.tier !== "secret" ? environment.state : null;
}

function outputIn(result: StepResult): unknown {
  return "output" in result ? result.output : null;
}

function fileOf({ blob, bytes }: { blob?: string | null | undefined; bytes?: number | null }): object {
  return { blob, ...(bytes == null ? {} : { bytes }) };
}

function contentsOf(event: KernelEvent): unknown[] {
  switch (event.event) {
    case "user.message":
    case "agent.message":
    case "vendor.bridle.message":
      return [event.payload.message.parts];
    case "vendor.bridle.harp_session.told":
      return [event.payload.content];
    case "task.submitted": {
      const { input, replay } = event.payload.task;
      return ["payload" in input ? input.payload : null, replay?.substitutions];
    }
    case "artifact.created":
      return event.payload.artifact.is_upload === true ? [] : [fileOf(event.payload.artifact)];
    case "artifact.updated": {
      const { chunk, completed } = event.payload;
      return [
        chunk,
        completed?.is_erased === true ? null : fileOf({ ...completed, blob: completed?.sha256 }),
      ];
    }
    case "span.started":
      return [
        event.payload.host_call?.input,
        event.payload.tool_call?.input,
        ...(event.payload.model_call?.input ?? []).map((piece) =>
          "content" in piece ? piece.content : null,
        ),
      ];
    case "span.updated":
      return [event.payload.directive, event.payload.delta?.text];
    case "vendor.bridle.step.late_result":
      return [outputIn(event.payload.result)];
    case "vendor.bridle.shell_link.created":
      return [environmentOf(event.payload.shell_link)];
    case "vendor.bridle.shell_link.turn_taken":
      return [environmentOf(event.payload.turn)];
    case "vendor.bridle.signal.received":
      return [event.payload.payload];
    case "vendor.bridle.step.attempt_failed":
      return [event.payload.stack];
    case "span.failed":
      return [event.payload.tool_call?.input, event.payload.stack];
    case "span.completed":
      return [outputIn(event.payload.result), event.payload.tool_call?.input];
    case "receipt.issued":
    case "vendor.bridle.receipt.imported":
      return [event.payload.receipt];
    default:
      return [];
  }
}
