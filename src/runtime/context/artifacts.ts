/** Artifacts that a run leaves behind: whole, or in chunks that others can follow while they are written. */

import { sha256Hex } from "../../kernel/core/content.ts";
import type { Unit } from "../../kernel/core/unit.ts";
import type { ArtifactRecord } from "../../kernel/kinds/artifact.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import type { ArtifactContent, ArtifactInput, ArtifactWriter } from "../agents/agent.ts";
import { AgentFailure } from "../run/failures.ts";
import { jsonCopy } from "../run/json.ts";
import { guarded } from "../run/promises.ts";
import type { Run } from "../run/run.ts";

export async function writeArtifact(run: Run, artifact: ArtifactInput & ArtifactContent): Promise<string> {
  const step = run.key("artifact");
  const recorded = await run.recording.recall(step);
  const known = recorded?.ended?.event === "artifact.created" ? recorded.ended.payload.artifact : null;
  if (known !== null && !run.recording.isReplay) return known.id;
  if ("url" in artifact) return await linkArtifact(run, step, artifact, known);
  const { bytes, mimeType } =
    known === null
      ? await run.redact((redactor) => encode(artifact, redactor))
      : encode(artifact, run.redactor);
  const sha256 = sha256Hex(bytes);
  if (known !== null && (await isMadeAgain(run, step, known.sha256, sha256))) return known.id;
  return await keepArtifact(run, step, { mimeType, ...artifact }, { bytes, sha256 });
}

/** Content that is elsewhere. */
async function linkArtifact(
  run: Run,
  step: string,
  { url, ...artifact }: ArtifactInput & { url: string },
  known: ArtifactRecord | null,
): Promise<string> {
  if (!/^[a-z][a-z0-9+.-]*:\S+$/i.test(url)) {
    throw new AgentFailure("invalid_artifact", `The url of artifact ${artifact.name} is not an address.`);
  }
  const uri = run.redactor.text(url);
  if (known !== null && (await isMadeAgain(run, step, known.uri, uri))) return known.id;
  const described = { mimeType: "application/octet-stream", ...artifact };
  return await recordArtifact(run, step, described, (made) => ({ ...made, uri, complete: true }));
}

async function isMadeAgain(run: Run, step: string, recorded: string | null, made: string): Promise<boolean> {
  if (recorded === made) {
    await run.recording.repeat(step);
    return true;
  }
  await run.recording.differs(`${step} sha256:${recorded}`, `${step} sha256:${made}`);
  return false;
}

async function keepArtifact(
  run: Run,
  step: string,
  artifact: ArtifactInput & { mimeType: string },
  { bytes, sha256 }: { bytes: Uint8Array; sha256: string },
): Promise<string> {
  return await recordArtifact(run, step, artifact, (made, unit) => {
    unit.keepBlob({ sha256, bytes });
    return { ...made, sha256, blob: sha256, bytes: bytes.length, complete: true };
  });
}

async function recordArtifact(
  run: Run,
  step: string,
  artifact: ArtifactInput & { mimeType: string },
  completed: (made: ArtifactRecord, unit: Unit) => ArtifactRecord,
): Promise<string> {
  // A replay that goes on after a crash has written it before.
  const id = run.recording.artifactId(step) ?? run.kernel.newId("artifact");
  await run.recording.note((unit, task) => {
    const made = newArtifact(unit, task, artifact, id);
    // An equal replay has made it before: the same name, the same content.
    const existing = run.recording.isReplay ? unit.find("artifact", made.id) : undefined;
    if (existing !== undefined) {
      unit.repeat(task, "artifact.created", { artifact: existing, step });
      return task;
    }
    const whole = completed(made, unit);
    unit.emit(whole, "artifact.created", { artifact: whole, step });
    return task;
  });
  return id;
}

export async function openArtifact(run: Run, artifact: ArtifactInput): Promise<ArtifactWriter> {
  const step = run.key("artifact");
  const recorded = await run.recording.recall(step);
  const opened = recorded?.ended?.event === "artifact.created" ? recorded.ended.payload.artifact : null;
  if (run.recording.isReplay) return replayWriter(run, artifact, step, opened);
  const id = opened?.id ?? run.kernel.newId("artifact");
  if (opened === null) {
    await run.recording.note((unit, task) => {
      const record = newArtifact(unit, task, { mimeType: "text/plain", ...artifact }, id);
      unit.emit(record, "artifact.created", { artifact: record, step });
      return task;
    });
  }
  return chunkWriter(run, { id, visibility: artifact.visibility ?? "public" }, step);
}

/** Chunks go to the log one by one; the last event puts the whole under its hash. */
function chunkWriter(
  run: Run,
  artifact: Pick<ArtifactRecord, "id" | "visibility">,
  step: string,
): ArtifactWriter {
  const written: string[] = [];
  let index = 0;
  let closed = false;

  async function append(chunk: string, last: boolean): Promise<void> {
    if (closed) throw new AgentFailure("artifact_closed", `Artifact ${artifact.id} is closed already.`);
    closed = last;
    const text = run.redactor.text(chunk);
    written.push(text);
    const key = chunkKey(step, index + 1);
    const at = index++;
    if ((await run.recording.recall(key)) !== undefined) return;
    const whole = last ? await run.redact((redactor) => wholeOf(redactor, written)) : null;
    const completed = whole === null ? null : { sha256: whole.sha256, bytes: whole.bytes.length };
    await run.recording.note((unit, task) => {
      const current = unit.require("artifact", artifact.id);
      if (whole !== null) unit.keepBlob(whole);
      const { visibility } = artifact;
      unit.emit(current, "artifact.updated", {
        index: at,
        artifact_id: artifact.id,
        chunk: unit.seal(text),
        completed,
        visibility,
        step: key,
      });
      return task;
    });
  }

  return guarded<ArtifactWriter>({
    id: artifact.id,
    write: (chunk) => append(chunk, false),
    close: () => append("", true),
  });
}

/** A replay cannot add to its source's artifact: it gathers the content, and knows at the end whether it is the same. */
function replayWriter(
  run: Run,
  artifact: ArtifactInput,
  step: string,
  recorded: ArtifactRecord | null,
): ArtifactWriter {
  const chunks: string[] = [];
  let recordedHash: string | null = null;
  // Its name is given before its content is known. Where that may differ, it is the replay's own from the start.
  const known = run.recording.isExact ? recorded : null;

  async function append(chunk: string): Promise<void> {
    chunks.push(run.redactor.text(chunk));
    const entry = await run.recording.recall(chunkKey(step, chunks.length));
    if (entry?.ended?.event === "artifact.updated")
      recordedHash = entry.ended.payload.completed?.sha256 ?? null;
  }

  return guarded<ArtifactWriter>({
    id: known?.id ?? run.recording.artifactId(step) ?? "",
    write: append,
    async close() {
      await append("");
      const { bytes, sha256 } = wholeOf(run.redactor, chunks);
      if (known === null || !(await isMadeAgain(run, step, recordedHash, sha256))) {
        await keepArtifact(run, step, { mimeType: "text/plain", ...artifact }, { bytes, sha256 });
        return;
      }
      for (const index of chunks.keys()) await run.recording.repeat(chunkKey(step, index + 1));
    },
  });
}

function chunkKey(step: string, number: number): string {
  return `${step}:chunk:${number}`;
}

/** The pieces together; what only now shows itself as a secret is taken out of the whole. */
function wholeOf(redactor: Redactor, chunks: readonly string[]): { sha256: string; bytes: Uint8Array } {
  const bytes = Buffer.from(redactor.text(chunks.join("")));
  return { sha256: sha256Hex(bytes), bytes };
}

type OwnContent = Exclude<ArtifactContent, { url: string }>;

function encode(
  artifact: ArtifactInput & OwnContent,
  redactor: Redactor,
): { bytes: Uint8Array; mimeType: string } {
  if ("text" in artifact) return { bytes: Buffer.from(redactor.text(artifact.text)), mimeType: "text/plain" };
  if ("json" in artifact) {
    const json = JSON.stringify(redactor.value(artifact.json));
    return { bytes: Buffer.from(json), mimeType: "application/json" };
  }
  return { bytes: Uint8Array.from(artifact.bytes), mimeType: "application/octet-stream" };
}

function newArtifact(
  unit: Unit,
  task: TaskRecord,
  artifact: ArtifactInput & { mimeType: string },
  id: string,
): ArtifactRecord {
  const envelope = { ...unit.envelope("artifact", "artifact"), id };
  return {
    ...envelope,
    metadata: jsonCopy(artifact.metadata ?? {}),
    workspace_id: task.workspace_id,
    session_id: task.session_id,
    task_id: task.id,
    ...(task.branch_id === null ? {} : { branch_id: task.branch_id }),
    kind: artifact.kind ?? "file",
    name: artifact.name,
    mime_type: artifact.mimeType,
    uri: `/v1/artifacts/${envelope.id}/content`,
    visibility: artifact.visibility ?? "public",
    sha256: null,
    bytes: null,
    blob: null,
    complete: false,
    in_receipt: true,
    ...(artifact.description === undefined ? {} : { description: artifact.description }),
    ...(artifact.extensions === undefined ? {} : { extensions: [...artifact.extensions] }),
    ...(artifact.asFile === true ? { is_file: true as const } : {}),
  };
}
