/** What the main thread and the writer thread say to each other. Payloads travel as JSON text, made once (`batch-rows.ts`). */

import type { BatchResult, BatchRows, Dropped } from "../batch-rows.ts";
import type { Position } from "../port.ts";
import type { RowsPage } from "./row-pages.ts";

export interface WriterOptions {
  file: string;
  /** The epoch that this process has taken; null if it could not be written yet. */
  epoch: number | null;
}

export type Request =
  | { type: "commit"; batches: BatchRows[] }
  /** Some rows of the batch, a large one, that is next to be committed. It is not answered. */
  | { type: "page"; page: RowsPage }
  | { type: "forget_once"; before: number }
  | { type: "drop_blobs"; sha256s: string[]; scannedThrough: Position }
  | { type: "scrub" }
  | { type: "probe" }
  | { type: "close" };

export type Response =
  | { type: "committed"; results: BatchResult[] }
  | { type: "forgotten"; count: number }
  | ({ type: "dropped" } & Dropped)
  | { type: "scrubbed" }
  | { type: "probed"; fault: string | null }
  | { type: "failed"; reason: string }
  /** This process must not write any more. */
  | { type: "fenced"; reason: string }
  | { type: "closed" };
