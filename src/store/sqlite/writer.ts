/**
 * The writer thread: the only connection that writes. It lives on a thread of its own so that waiting for the disk
 * never stops the event loop that answers requests.
 *
 * A group of batches is one transaction, so one fsync pays for all of them; each batch still succeeds or fails
 * alone. The answer is posted only after COMMIT returned, which with synchronous=FULL means: on disk.
 */

import { flushCompileCache } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { BatchRows } from "../batch-rows.ts";
import { DatabaseWriter, messageOf } from "./database-writer.ts";
import { WriterFenced } from "./epoch.ts";
import type { Request, Response, WriterOptions } from "./protocol.ts";
import { joined, type RowsPage } from "./row-pages.ts";

const { file, epoch }: WriterOptions = workerData;
const writer = new DatabaseWriter(file, epoch);

function answer(response: Response): void {
  parentPort?.postMessage(response);
}

/** What the writer does beside commits; it may be tried again when it failed. */
function attempt(act: () => Response): Response {
  try {
    return act();
  } catch (error) {
    if (error instanceof WriterFenced) throw error;
    return { type: "failed", reason: messageOf(error) };
  }
}

/** Of a large batch: what has arrived ahead of its commit. */
let pages: RowsPage[] = [];

function commit(batches: BatchRows[]): Response {
  const arrived = pages;
  pages = [];
  const whole = arrived.length === 0 ? batches : batches.map((rest) => joined(rest, arrived));
  return { type: "committed", results: writer.commit(whole) };
}

function respond(request: Exclude<Request, { type: "page" }>): Response {
  switch (request.type) {
    case "commit":
      return commit(request.batches);
    case "forget_once":
      return attempt(() => ({ type: "forgotten", count: writer.forgetOnce(request.before) }));
    case "drop_blobs":
      return attempt(() => ({
        type: "dropped",
        ...writer.dropBlobs(request.sha256s, request.scannedThrough),
      }));
    case "scrub":
      return attempt(() => {
        writer.scrub();
        return { type: "scrubbed" };
      });
    case "probe":
      return { type: "probed", fault: writer.probe() };
    case "close":
      writer.close();
      return { type: "closed" };
  }
}

parentPort?.on("message", (request: Request) => {
  try {
    if (request.type === "page") {
      pages.push(request.page);
      return;
    }
    answer(respond(request));
    if (request.type === "close") parentPort?.close();
  } catch (error) {
    if (!(error instanceof WriterFenced)) throw error;
    answer({ type: "fenced", reason: error.message });
    parentPort?.close();
  }
});

// Not left to the end, which may come without warning.
flushCompileCache();
