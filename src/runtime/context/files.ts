/** The files of a run's workspace: what is read is recorded, what is written is a side effect with its hash. */

import { hash } from "node:crypto";
import type { FileEntry, WorkspacePlace } from "../../files/workspace-files.ts";
import { decided } from "../../kernel/core/decided.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { FileStepKind, StepSpan } from "../../kernel/core/events.ts";
import { getRecord } from "../../kernel/core/read.ts";
import { requireCapability } from "../../kernel/personas/persona-policy.ts";
import { requireStorage } from "../../kernel/quotas/room.ts";
import { asRefusal, placeOf } from "../../kernel/workspaces/files.ts";
import { fileLock } from "../../kernel/workspaces/write-workspace-file.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { AgentFiles, FileWritten } from "../agents/agent.ts";
import { AgentFailure } from "../run/failures.ts";
import { guarded } from "../run/promises.ts";
import { allowed, attemptStep, performStep } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";
import { performEffect } from "./effects.ts";

/** As much of a text as whoever approves a write, or takes up a proposal, is shown. */
const shownCharsMax = 64 * 1024;

export function filesOf(run: Run): AgentFiles {
  return guarded<AgentFiles>({
    async write(path, text) {
      const span = { ...spanOf(run, "file", path), name: `write ${path}` };
      await allowed(run, span, () => requireCapability(run.task, "files:write"));
      // Like everything that a run puts out, it is without the secrets that the run was given.
      const content = await run.redact((redactor) => redactor.text(text));
      const would = { path, sha256: hash("sha256", content, "hex"), bytes: Buffer.byteLength(content) };
      const { output } = await performEffect(
        run,
        span,
        { intent: { ...would, ...shown(content) }, simulate: would },
        () => attemptStep(() => named(() => write(run, path, content))),
      );
      const did = written(output);
      // The code that is run again must write what it wrote: the file is not written a second time.
      if (did.sha256 !== would.sha256) {
        await run.recording.differs(
          `${span.step} sha256:${did.sha256}`,
          `${span.step} sha256:${would.sha256}`,
        );
      }
      return did;
    },
    async read(path) {
      return String(await look(run, spanOf(run, "file_read", path), () => readText(run, path)));
    },
    async list(path = "") {
      return entriesIn(await look(run, spanOf(run, "file_list", path), () => list(run, path)));
    },
  });
}

function shown(content: string): JsonObject {
  if (content.length <= shownCharsMax) return { content };
  return { beginning: content.slice(0, shownCharsMax).toWellFormed() };
}

/** The path is written down, so it must not be a secret; and what is written down must be found again. */
function spanOf<K extends FileStepKind>(run: Run, kind: K, path: string): StepSpan & { kind: K } {
  const first = `${kind}:${path}:1`;
  if (run.redactor.text(first) !== first || run.redactor.text(path) !== path) {
    throw new AgentFailure("invalid_request", "The path looks like a secret; it would be in the log.");
  }
  return { step: run.key(`${kind}:${path}`), kind, name: path };
}

async function look(run: Run, span: StepSpan, read: () => Promise<unknown>): Promise<JsonValue> {
  await allowed(run, span, () => requireCapability(run.task, "files:read"));
  return await performStep(run, span, () => attemptStep(() => named(read)));
}

/** A refusal under its own name: the agent may handle it. */
async function named<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await asRefusal(act);
  } catch (error) {
    if (error instanceof HarnessError) throw new AgentFailure(error.code, error.message);
    throw error;
  }
}

async function write(
  run: Run,
  path: string,
  content: string,
): Promise<FileWritten & { before_sha256: string | null }> {
  const release = await run.kernel.locks.acquire(fileLock(run.task.workspace_id, path));
  try {
    await decided(run.kernel, run.caller, (unit) => requireStorage(unit, Buffer.byteLength(content)));
    return await run.kernel.files.write(await place(run), path, content);
  } finally {
    release();
  }
}

async function readText(run: Run, path: string): Promise<string> {
  const found = await run.kernel.files.read(await place(run), path);
  if (found.kind === "file") return found.content;
  throw new AgentFailure("invalid_request", `${path} is a directory; list it.`);
}

async function list(run: Run, path: string): Promise<FileEntry[]> {
  const found = await run.kernel.files.read(await place(run), path);
  if (found.kind === "directory") return found.entries;
  throw new AgentFailure("invalid_request", `${path} is a file; read it.`);
}

async function place({ kernel, caller, task }: Run): Promise<WorkspacePlace> {
  return placeOf(await getRecord(kernel, caller, "workspace", task.workspace_id));
}

/** What a write gave; what a replay was given in its place may be anything. */
function written(output: JsonValue): FileWritten {
  if (
    typeof output === "object" &&
    output !== null &&
    !Array.isArray(output) &&
    typeof output.path === "string" &&
    typeof output.sha256 === "string" &&
    typeof output.bytes === "number"
  ) {
    const { path, sha256, bytes } = output;
    return { path, sha256, bytes };
  }
  throw new AgentFailure("invalid_request", "What a write gives has a path, a sha256 and bytes.");
}

function entriesIn(output: JsonValue): FileEntry[] {
  if (!Array.isArray(output)) return [];
  return output.flatMap((entry): FileEntry[] => {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return [];
    const { name, kind, size } = entry;
    if (typeof name !== "string" || typeof size !== "number") return [];
    return kind === "file" || kind === "directory" ? [{ name, kind, size }] : [];
  });
}
