/** Reading a log that somebody sends: after it is clear that they may, line by line, and not more than fits. */

import { createHash, type Hash } from "node:crypto";
import type { Caller } from "../../../policy/caller.ts";
import { requireScope } from "../../access/authorize.ts";
import { HarnessError } from "../../core/errors.ts";
import type { Release } from "../../core/locks.ts";
import type { KernelDeps } from "../../core/unit.ts";
import { type LogBundle, readLogBundle } from "./bundle.ts";
import { refused } from "./refused.ts";

/** The largest log that is taken over, and its longest line, which is parsed, decoded and hashed at once: the content of an artifact. */
const bytesMax = 256 * 1024 * 1024;
const lineCharsMax = 8 * 1024 * 1024;

/** Reads a log as it arrives, when the one before of the tenant is done: all of it is in memory until it is on disk. */
export async function receiveLog(
  { locks }: KernelDeps,
  caller: Caller,
  source: AsyncIterable<Uint8Array>,
): Promise<{ bundle: LogBundle; sha256: string; release: Release }> {
  requireScope(caller, "admin");
  // Who sends slowly keeps nobody waiting but their own tenant.
  const release = await locks.acquire(`import:${caller.tenantId}`);
  try {
    const hash = createHash("sha256");
    const bundle = await readLogBundle(linesOf(source, hash));
    return { bundle, sha256: hash.digest("hex"), release };
  } catch (error) {
    release();
    throw error;
  }
}

function tooLarge(): HarnessError {
  return new HarnessError(
    "payload_too_large",
    `A log has at most ${bytesMax} bytes here, and ${lineCharsMax} characters on a line.`,
    { details: { bytes_max: bytesMax, line_chars_max: lineCharsMax } },
  );
}

async function* linesOf(source: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (bytes?: Uint8Array) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw refused("It is not UTF-8.");
    }
  };
  /** A long line comes in many pieces, which are put together once. */
  let begun: string[] = [];
  let [bytes, chars] = [0, 0];
  for await (const piece of source) {
    bytes += piece.length;
    hash.update(piece);
    const [first = "", ...rest] = decode(piece).split("\n");
    begun.push(first);
    chars += first.length;
    if (bytes > bytesMax || chars > lineCharsMax) throw tooLarge();
    const last = rest.pop();
    if (last === undefined) continue;
    yield begun.join("");
    yield* rest;
    begun = [last];
    chars = last.length;
  }
  yield begun.join("") + decode();
}
