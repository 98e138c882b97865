/** The thread that searches long texts for secrets. */

import { parentPort } from "node:worker_threads";
import { type SearchedText, searchHere } from "../policy/redact/search-budget.ts";

export interface ToRedaction {
  id: number;
  texts: readonly SearchedText[];
}

export interface FromRedaction {
  id: number;
  found: string[];
}

parentPort?.on("message", async ({ id, texts }: ToRedaction) => {
  const answer: FromRedaction = { id, found: await searchHere(texts) };
  parentPort?.postMessage(answer);
});
