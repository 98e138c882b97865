/**
 * How many values a gRPC message holds, counted on the wire before it is parsed, as for JSON bodies: 4 MiB of empty values would
 * hold the event loop for a second. Where messages are is told by their types, so texts and bytes are passed over.
 */

import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { ConnectError } from "@connectrpc/connect";
import { countedBytesMin, hasTooManyValues, valuesMax } from "../../../kernel/core/json-values.ts";

/** A member of a Struct is four fields: its entry, its name, its value, and what kind of value it is. */
const fieldsMax = 4 * valuesMax;
/** A byte of flags and the length of the message. */
const headBytes = 5;
const isCompressedFlag = 1;

export interface Counted {
  input: DescMessage;
  isJson: boolean;
  /** Longer messages are not read at all. */
  bytesMax: number;
  /** What a message with too many values is refused with. */
  refusal(): ConnectError;
}

const unzip = promisify(gunzip);

/** What is behind the one message of a call is told as an empty one more, with which the call is refused. */
const oneMore = new Uint8Array(headBytes);

/** The message of a call, as it came, once it is known that it can be parsed. */
export async function* countedBody(
  body: AsyncIterable<Uint8Array>,
  counted: Counted,
): AsyncGenerator<Uint8Array> {
  const bytesMax = headBytes + counted.bytesMax;
  let held: Uint8Array[] = [];
  let bytes = 0;
  let end: number | null = null;
  for await (const chunk of body) {
    bytes += chunk.length;
    // It is refused by its length alone, and nothing of it is kept.
    if (end !== null && end > bytesMax) yield chunk;
    else if (bytes - chunk.length <= (end ?? bytesMax)) held.push(chunk);
    if (end !== null || bytes < headBytes) continue;
    held = [Buffer.concat(held)];
    end = headBytes + lengthIn(held[0] ?? chunk);
    if (end > bytesMax) yield* held;
  }
  if (end !== null && end > bytesMax) return;
  const whole = Buffer.concat(held);
  const message = whole.subarray(0, end ?? bytes);
  if (end !== null && bytes >= end && (await isTooMuch(message, counted))) throw counted.refusal();
  yield message;
  if (bytes > message.length) yield oneMore;
}

function lengthIn(head: Uint8Array): number {
  return Buffer.from(head.buffer, head.byteOffset, head.length).readUInt32BE(1);
}

async function isTooMuch(enveloped: Uint8Array, { input, isJson, bytesMax }: Counted): Promise<boolean> {
  const message = await messageIn(enveloped, bytesMax);
  if (message.length < countedBytesMin) return false;
  return isJson ? hasTooManyValues(message) : hasTooManyFields(message, input);
}

/** Nothing when it cannot be decompressed, which whoever parses it says better. */
async function messageIn(enveloped: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  const message = enveloped.subarray(headBytes);
  const isCompressed = ((enveloped[0] ?? 0) & isCompressedFlag) !== 0;
  if (!isCompressed) return message;
  return await unzip(message, { maxOutputLength: bytesMax }).catch(() => new Uint8Array());
}

/** The fields of a message that are messages themselves, by their numbers. */
type Shape = Map<number, Shape>;

const shapes = new WeakMap<DescMessage, Shape>();
const mapValueNumber = 2;

function shapeOf(desc: DescMessage): Shape {
  const known = shapes.get(desc);
  if (known !== undefined) return known;
  const shape: Shape = new Map();
  // Before its fields: a type can be a part of itself.
  shapes.set(desc, shape);
  for (const field of desc.fields) {
    const inner = shapeIn(field);
    if (inner !== null) shape.set(field.number, inner);
  }
  return shape;
}

function shapeIn(field: DescField): Shape | null {
  if (field.fieldKind === "map") {
    return new Map(field.message === undefined ? [] : [[mapValueNumber, shapeOf(field.message)]]);
  }
  return field.message === undefined ? null : shapeOf(field.message);
}

/** Reads what the parser reads, in the same order; where that fails, the parser fails, after as many fields. */
export function hasTooManyFields(message: Uint8Array, desc: DescMessage): boolean {
  const reader = new BinaryReader(message);
  const open: { end: number; shape: Shape }[] = [{ end: message.length, shape: shapeOf(desc) }];
  let fields = 0;
  try {
    for (let inside = open.at(-1); inside !== undefined; inside = open.at(-1)) {
      if (reader.pos >= inside.end) {
        open.pop();
        continue;
      }
      const [number, type] = reader.tag();
      fields += 1;
      if (fields > fieldsMax) return true;
      const shape = type === WireType.LengthDelimited ? inside.shape.get(number) : undefined;
      if (shape === undefined) reader.skip(type, number);
      else open.push({ end: reader.uint32() + reader.pos, shape });
    }
  } catch {
    return false;
  }
  return false;
}
