/** What is promised about attempts, retries and errors of steps. */

import { type Requirement, section } from "./requirements.ts";

export const retryRequirements: readonly Requirement[] = [
  ...section("Bridle", "Messages of commands", {
    "MSG-1": "An error of the operating system about a file is a sentence that names the file.",
    "MSG-2": "bridle help has every command, also those in commands.",
    "MSG-3": "Where a task is named, last is the one that was submitted last.",
    "MSG-4": "A server that was stopped leaves no server.pid.",
    "MSG-5":
      "HEAD is answered wherever GET has an end, and /healthz and /readyz are other names of /health and /ready.",
  }),
  ...section("Bridle", "Signals and branches", {
    "SIG-1": "ctx.waitFor waits for a signal out of memory, across restarts.",
    "SIG-2":
      "Signals of a name are given in their order of arrival, each once, also those that came early; a repeated request sends none.",
    "SIG-3": "A wait ends with its time.",
    "SIG-4": "The payload of a signal is checked by the schema of the wait.",
    "SIG-5": "Signals that nobody can wait for are refused.",
    "SIG-6": "A replay gives the signals that were given.",
    "SIG-7":
      "ctx.map and ctx.parallel run branches side by side, at most so many at a time, with results in order.",
    "SIG-8":
      "ctx.spawnAll runs child tasks, at most so many at a time, with results in order, failed ones too.",
  }),
  ...section("Bridle", "Standard Schema", {
    "SCH-1": "Schemas of zod, valibot and ArkType are taken wherever TypeBox is, and types follow from them.",
    "SCH-2": "Code is given what the schema makes of a value; the log keeps what was sent.",
    "SCH-3": "An answer that only the code of a schema refuses is asked for again, with the reason.",
    "SCH-4": "A schema that cannot be converted to JSON Schema is refused where it is given.",
  }),
  ...section("Bridle", "What a task did", {
    "VIS-1":
      "task show and task watch have what steps were given and gave, questions beside their answers and actions beside their approvals.",
    "VIS-2":
      "task logs --verbose has prompts, answers, inputs, outputs and stacks, cut; --full has all of them; both only what the key may see.",
    "VIS-3": "bridle dev prints a line for each start, step, retry, question and end of a task.",
  }),
  ...section("Bridle", "Retrying tasks", {
    "TRY-1":
      "A retry of a failed task is a new task that keeps the recorded results up to the failed step and runs the rest.",
    "TRY-2": "from_step names the step from which on everything is done again.",
    "TRY-3":
      "What was open when the task ended is asked for again, and so is an approval that nothing was done under.",
    "TRY-4": "A call that cannot be undone is repeated only if the request names it.",
    "TRY-5":
      "Steps of a retry have the idempotency keys of the first task, and its agent sees the same task id.",
    "TRY-6":
      "Only tasks that failed or were canceled are retried, not replays and imports, and once per idempotency key.",
    "TRY-7":
      "The receipt of a retry lists what it did itself; the log of a retry can be replayed and checked.",
  }),
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
