/**
 * Content in the database: small content in one row, what arrives in pieces in parts of one size, each with its checksum. An upload
 * has a row of its own while it arrives and while a commit is going to speak of it; content that an upload wants is not dropped.
 */

import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Dropped } from "../batch-rows.ts";
import { checkedBlob, checkedChunks } from "../checked-blob.ts";
import { heldBlob } from "../held-blob.ts";
import type { Row } from "../log-rows.ts";
import { BlobTooLarge, type OpenBlob, type Position, type StagedBlob, StoreDamaged } from "../port.ts";
import { rowsOf } from "./connect.ts";
import * as sql from "./content-statements.ts";
import type { ReadPool } from "./read-pool.ts";
import { lockHead } from "./write-statements.ts";

const where = "The database";
const partBytes = 256 * 1024;

interface Content {
  bytes: number;
  /** What is small. */
  whole: Uint8Array | null;
  upload: string | null;
}

export class Contents {
  readonly #pool: ReadPool;

  constructor(pool: ReadPool) {
    this.#pool = pool;
  }

  async blob(tenantId: string, sha256: string): Promise<Uint8Array | undefined> {
    const content = await this.#find(tenantId, sha256);
    if (content === undefined) return undefined;
    if (content.whole !== null) return checkedBlob(content.whole, sha256, where);
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#parts(content, sha256, 0, content.bytes)) chunks.push(chunk);
    return checkedBlob(Buffer.concat(chunks), sha256, where);
  }

  async open(tenantId: string, sha256: string): Promise<OpenBlob | undefined> {
    const content = await this.#find(tenantId, sha256);
    if (content === undefined) return undefined;
    if (content.whole !== null) return heldBlob(checkedBlob(content.whole, sha256, where));
    const { bytes } = content;
    return {
      bytes,
      read: async (start, end) => {
        const parts = this.#parts(content, sha256, start, end);
        return start === 0 && end === bytes ? checkedChunks(parts, sha256, where) : parts;
      },
      async close() {},
    };
  }

  /** For those who copy everything. */
  async *ofAnybody(sha256: string): AsyncGenerator<Uint8Array> {
    const [row] = await this.#pool.read(null, sql.contentOfAnybody(sha256));
    if (row === undefined) throw new StoreDamaged(where, { sha256 });
    const content = contentIn(row);
    if (content.whole !== null) yield checkedBlob(content.whole, sha256, where);
    else yield* checkedChunks(this.#parts(content, sha256, 0, content.bytes), sha256, where);
  }

  async stage(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<StagedBlob> {
    const upload = randomBytes(16).toString("hex");
    try {
      await this.#pool.change(sql.beginUpload(upload));
      const { sha256, bytes } = await this.#receive(upload, source, bytesMax);
      return {
        sha256,
        bytes,
        keep: () => this.#keep(upload, sha256, bytes),
        discard: () => this.#discard(upload),
      };
    } catch (error) {
      // What cannot be removed now is removed when the store is opened.
      await this.#discard(upload).catch(() => {});
      throw error;
    }
  }

  /** What was committed since the caller looked may speak of a blob again: that one stays. */
  async drop(sha256s: readonly string[], scannedThrough: Position): Promise<Dropped> {
    return await this.#pool.transaction(async (client) => {
      await client.query(lockHead);
      const spokenOf = rowsOf(await client.query(sql.mentioned(sha256s, scannedThrough)));
      const kept = spokenOf.map(({ sha256 }) => String(sha256));
      const going = sha256s.filter((sha256) => !kept.includes(sha256));
      await client.query(sql.lockContent(going));
      const dropped = rowsOf(await client.query(sql.dropUnwanted(going)));
      await client.query(sql.dropOwners(dropped.map(({ sha256 }) => String(sha256))));
      await client.query(sql.dropParts(dropped.flatMap(({ upload }) => upload ?? [])));
      return {
        kept,
        count: dropped.length,
        bytes: dropped.reduce((sum, { bytes }) => sum + Number(bytes), 0),
      };
    });
  }

  /** What uploads that ended with their process have left. */
  async sweep(): Promise<void> {
    await this.#pool.change(sql.dropOldUploads);
    await this.#pool.change(sql.dropLostParts);
  }

  async #find(tenantId: string, sha256: string): Promise<Content | undefined> {
    const [row] = await this.#pool.read(tenantId, sql.contentOf(tenantId, sha256));
    return row === undefined ? undefined : contentIn(row);
  }

  async *#parts({ upload }: Content, sha256: string, start: number, end: number): AsyncGenerator<Uint8Array> {
    for (let at = start; at < end; ) {
      const number = Math.floor(at / partBytes);
      const [row] = await this.#pool.read(null, sql.partOf(upload ?? "", number));
      const content = checkedPart(row, sha256);
      const offset = number * partBytes;
      yield content.subarray(at - offset, Math.min(end - offset, content.length));
      at = offset + partBytes;
    }
  }

  async #receive(upload: string, source: AsyncIterable<Uint8Array>, bytesMax: number) {
    const sum = createHash("sha256");
    let bytes = 0;
    let number = 0;
    let held: Buffer[] = [];
    let heldBytes = 0;
    const write = async (part: Buffer) => {
      await this.#pool.change(sql.addPart(upload, number, crc32(part), part));
      number += 1;
    };
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new BlobTooLarge(`More than ${bytesMax} bytes arrived`);
      sum.update(chunk);
      held.push(Buffer.from(chunk));
      heldBytes += chunk.length;
      if (heldBytes < partBytes) continue;
      let whole = Buffer.concat(held);
      for (; whole.length >= partBytes; whole = whole.subarray(partBytes))
        await write(whole.subarray(0, partBytes));
      [held, heldBytes] = [[whole], whole.length];
    }
    if (heldBytes > 0) await write(Buffer.concat(held));
    return { sha256: sum.digest("hex"), bytes };
  }

  /** Content that is there already stays as it is; then the parts of this upload are not needed. */
  async #keep(upload: string, sha256: string, bytes: number): Promise<void> {
    await this.#pool.transaction(async (client) => {
      await client.query(sql.wantContent(upload, sha256));
      const [row] = rowsOf(await client.query(sql.addContent(sha256, bytes, upload)));
      if (row?.upload !== upload) await client.query(sql.dropParts([upload]));
    });
  }

  async #discard(upload: string): Promise<void> {
    await this.#pool.change(sql.endUpload(upload));
    await this.#pool.change(sql.dropPartsOfNone(upload));
  }
}

function contentIn(row: Row): Content {
  const whole = row.content instanceof Uint8Array ? row.content : null;
  return { bytes: Number(row.bytes), whole, upload: row.upload === null ? null : String(row.upload) };
}

function checkedPart(row: Row | undefined, sha256: string): Uint8Array {
  const content = row?.content;
  if (!(content instanceof Uint8Array) || crc32(content) !== Number(row?.checksum))
    throw new StoreDamaged(where, { sha256 });
  return content;
}
