/** What is promised about attempts, retries and errors of steps. */

import { type Requirement, section } from "./requirements.ts";

export const retryRequirements: readonly Requirement[] = [
  ...section("Bridle", "Retries", {
    "RTY-1":
      "A step that throws is tried again after a growing delay; the agent gets the result of the last attempt only.",
    "RTY-2":
      "Every failed attempt that is repeated is an event with its number, its error and the time of the next one.",
    "RTY-3": "A crash between two attempts does not reset their count, nor shorten the delay.",
    "RTY-4": "A long delay is spent out of memory, and the task says what it waits for.",
    "RTY-5":
      "What cannot pass is not repeated: NonRetryableError, named failures, HTTP status 4xx, and what retryIf refuses.",
    "RTY-6": "The Retry-After of an error is respected.",
    "RTY-7": "An attempt that takes longer than timeoutMs is given up and repeated like one that throws.",
    "RTY-8":
      "Tools that only read are repeated by default; others only when they say so, and irreversible ones never.",
    "RTY-9": "An approved effect that has retries uses its approval once for all attempts.",
    "RTY-10": "A replay of a task with failed attempts tells them again and runs none.",
    "RTY-11":
      "A tool that fails several times in a row is not called for a while; one call is let through after it.",
    "RTY-12": "Wrong retry options are refused before anything runs.",
    "RTY-13":
      "Where code threw, with its causes, is in the log of the server and, for callers with events:read_internal, on the failed step.",
  }),
];
