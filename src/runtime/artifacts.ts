/** Artifacts that a run leaves behind: whole, or in chunks that others can follow while they are written. */

import { createHash } from "node:crypto";
import { sha256Hex } from "../kernel/content.ts";
import type { ArtifactRecord } from "../kernel/resources/artifact.ts";
import type { TaskRecord } from "../kernel/resources/task.ts";
import type { Unit } from "../kernel/unit.ts";
import type { ArtifactContent, ArtifactInput, ArtifactWriter } from "./agent.ts";
import { AgentFailure } from "./failures.ts";
import { jsonCopy } from "./json.ts";
import { guarded } from "./promises.ts";
import type { Run } from "./run.ts";

export async function writeArtifact(run: Run, artifact: ArtifactInput & ArtifactContent): Promise<string> {
  const step = run.key("artifact");
  const recorded = await run.recall(step);
  if (recorded?.ended?.event === "artifact.created") return recorded.ended.payload.artifact.id;
  const { bytes, mimeType } = encode(artifact);
  const sha256 = sha256Hex(bytes);
  const written = { id: "" };
  await run.note((unit, task) => {
    unit.keepBlob({ sha256, bytes });
    const record = newArtifact(unit, task, { mimeType, ...artifact });
    const whole = { ...record, sha256, blob: sha256, bytes: bytes.length, complete: true };
    unit.emit(whole, "artifact.created", { artifact: whole, step });
    written.id = whole.id;
    return task;
  });
  await run.flush();
  return written.id;
}

export async function openArtifact(run: Run, artifact: ArtifactInput): Promise<ArtifactWriter> {
  const step = run.key("artifact");
  const recorded = await run.recall(step);
  const opened = {
    record: recorded?.ended?.event === "artifact.created" ? recorded.ended.payload.artifact : null,
  };
  if (opened.record === null) {
    await run.note((unit, task) => {
      const record = newArtifact(unit, task, { mimeType: "text/plain", ...artifact });
      unit.emit(record, "artifact.created", { artifact: record, step });
      opened.record = record;
      return task;
    });
    await run.flush();
  }
  if (opened.record === null) throw new Error("An artifact was noted but not made");
  return chunkWriter(run, opened.record, step);
}

/** Chunks go to the log one by one; the last event puts the whole under its hash. */
function chunkWriter(run: Run, artifact: ArtifactRecord, step: string): ArtifactWriter {
  const hash = createHash("sha256");
  const written: Buffer[] = [];
  let index = 0;
  let closed = false;

  async function append(chunk: string, last: boolean): Promise<void> {
    if (closed) throw new AgentFailure("artifact_closed", `Artifact ${artifact.id} is closed already.`);
    closed = last;
    const bytes = Buffer.from(chunk);
    hash.update(bytes);
    written.push(bytes);
    const key = `${step}:chunk:${index + 1}`;
    const at = index++;
    if ((await run.recall(key)) !== undefined) return;
    const completed = last ? { sha256: hash.digest("hex"), bytes: lengthOf(written) } : null;
    await run.note(async (unit, task) => {
      const current = await unit.require("artifact", artifact.id);
      if (completed !== null) unit.keepBlob({ sha256: completed.sha256, bytes: Buffer.concat(written) });
      const { visibility } = artifact;
      unit.emit(current, "artifact.updated", {
        index: at,
        chunk: unit.seal(chunk),
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
    async close() {
      await append("", true);
      await run.flush();
    },
  });
}

function lengthOf(buffers: readonly Buffer[]): number {
  return buffers.reduce((sum, buffer) => sum + buffer.length, 0);
}

function encode(artifact: ArtifactInput & ArtifactContent): { bytes: Uint8Array; mimeType: string } {
  if ("text" in artifact) return { bytes: Buffer.from(artifact.text), mimeType: "text/plain" };
  if ("json" in artifact) {
    return { bytes: Buffer.from(JSON.stringify(artifact.json)), mimeType: "application/json" };
  }
  return { bytes: Uint8Array.from(artifact.bytes), mimeType: "application/octet-stream" };
}

function newArtifact(
  unit: Unit,
  task: TaskRecord,
  artifact: ArtifactInput & { mimeType: string },
): ArtifactRecord {
  const envelope = unit.envelope("artifact", "artifact");
  return {
    ...envelope,
    metadata: jsonCopy(artifact.metadata ?? {}),
    workspace_id: task.workspace_id,
    session_id: task.session_id,
    task_id: task.id,
    kind: artifact.kind ?? "file",
    name: artifact.name,
    mime_type: artifact.mimeType,
    uri: `/v1/artifacts/${envelope.id}/content`,
    visibility: artifact.visibility ?? "public",
    sha256: null,
    bytes: null,
    blob: null,
    complete: false,
  };
}
