/** A tar archive (POSIX.1-2001, pax) of the files of a directory, written and read as a stream, so that common tools can read it too. */

import { createReadStream } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { filesIn } from "./copy-files.ts";

const block = 512;
/** The largest size that fits into the old header; the pax header has the real one. */
const sizeMax = 8 ** 11 - 1;

export async function* tarOf(root: string): AsyncGenerator<Uint8Array> {
  for await (const { path, size, mode } of filesIn(root, "", () => true)) {
    const extended = Buffer.from(paxRecord("path", path) + paxRecord("size", String(size)));
    yield headerOf({ name: "pax", size: extended.length, mode: 0o600, type: "x" });
    yield padded(extended);
    yield headerOf({ name: path, size, mode: mode & 0o777, type: "0" });
    yield* createReadStream(join(root, path));
    yield Buffer.alloc(paddingOf(size));
  }
  yield Buffer.alloc(2 * block);
}

/** Writes the files of an archive below a directory, each on disk when this resolves. Refuses anything that is not a plain file below it. */
export async function extractTar(archive: AsyncIterable<Uint8Array>, root: string): Promise<number> {
  const source = new ByteSource(archive);
  let files = 0;
  let extended = new Map<string, string>();
  for (;;) {
    const header = await source.read(block);
    if (header.every((byte) => byte === 0)) break;
    const { name, size: shortSize, mode, type } = readHeader(header);
    if (type === "x") {
      extended = readPax((await source.read(shortSize)).toString("utf8"));
      await source.read(paddingOf(shortSize));
      continue;
    }
    if (type !== "0") throw new Error(`The archive has an entry of the unknown type ${type}.`);
    const size = Number(extended.get("size") ?? shortSize);
    await writeFileFrom(source, join(root, plainPath(extended.get("path") ?? name)), size, mode);
    await source.read(paddingOf(size));
    extended = new Map();
    files += 1;
  }
  // To the end: what decrypts it knows only there that nothing was cut off.
  await source.drain();
  return files;
}

async function writeFileFrom(source: ByteSource, file: string, size: number, mode: number): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await using handle = await open(file, "wx", mode & 0o700);
  for await (const chunk of source.take(size)) await handle.writeFile(chunk);
  await handle.sync();
}

function plainPath(path: string): string {
  const names = path.split("/");
  if (names.every((name) => name !== "" && name !== "." && name !== ".." && !/[\\\0]/.test(name)))
    return path;
  throw new Error(`The archive has a path that leads elsewhere: ${JSON.stringify(path)}.`);
}

interface Header {
  name: string;
  size: number;
  mode: number;
  type: string;
}

function headerOf({ name, size, mode, type }: Header): Buffer {
  const header = Buffer.alloc(block);
  // May cut a character in half: readers take the name of the pax header.
  Buffer.from(name).copy(header, 0, 0, 100);
  const octal = (value: number, at: number, digits: number) =>
    header.write(value.toString(8).padStart(digits, "0"), at, "latin1");
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(Math.min(size, sizeMax), 124, 11);
  octal(0, 136, 11);
  header.write(type, 156, "latin1");
  header.write("ustar\0" + "00", 257, "latin1");
  octal(checksumOf(header), 148, 6);
  header.write("\0 ", 154, "latin1");
  return header;
}

function readHeader(header: Buffer): Header {
  const text = (from: number, end: number) => header.toString("utf8", from, end).replace(/\0.*$/s, "").trim();
  const octal = (from: number, end: number) => Number.parseInt(text(from, end) || "0", 8);
  if (octal(148, 156) !== checksumOf(header))
    throw new Error("The archive is damaged: a header has a wrong checksum.");
  return { name: text(0, 100), size: octal(124, 136), mode: octal(100, 108), type: text(156, 157) || "0" };
}

/** With the field of the checksum itself as spaces. */
function checksumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0);
}

/** A record says its own length, digits of that included. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (length !== rest + String(length).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function readPax(text: string): Map<string, string> {
  const records = new Map<string, string>();
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    const length = Number.parseInt(rest.toString("utf8", 0, 20), 10);
    if (!(length > 0 && length <= rest.length))
      throw new Error("The archive is damaged: a name cannot be read.");
    const [, key = "", value = ""] = /^\d+ ([^=]+)=(.*)\n$/s.exec(rest.toString("utf8", 0, length)) ?? [];
    records.set(key, value);
    rest = rest.subarray(length);
  }
  return records;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(paddingOf(bytes.length))]);
}

function paddingOf(size: number): number {
  return (block - (size % block)) % block;
}

/** Pieces of exactly the length that is asked for. */
class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async read(size: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.take(size)) parts.push(part);
    return Buffer.concat(parts);
  }

  async *take(size: number): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0; ) {
      if (this.#rest.length === 0) {
        const next = await this.#chunks.next();
        if (next.done === true) throw new Error("The archive ends too early.");
        this.#rest = next.value;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  async drain(): Promise<void> {
    while ((await this.#chunks.next()).done !== true);
  }
}
