/** Artifacts whose content a request gives in place of values. */

import { nextSlice } from "../../slices.ts";
import type { JsonValue } from "../../store/port.ts";
import { readArtifact } from "../artifacts/read-artifact.ts";
import { HarnessError } from "../core/errors.ts";
import { hasTooManyValues, valuesMax } from "../core/json-values.ts";
import type { Unit } from "../core/unit.ts";
import type { ArtifactRecord } from "../kinds/artifact.ts";

/** What artifacts may add to a plan, all together: as much as a request may hold. */
const artifactBytesMax = 4 * 1024 * 1024;

/** The values that are given as artifacts, read at once: reading them one by one would plan anew for each. */
export function artifactValues(unit: Unit, given: Iterable<string>): ReadonlyMap<string, JsonValue> {
  const ids = new Set(given);
  if (ids.size === 0) return new Map();
  const { deps, caller } = unit;
  return unit.awaited("artifacts", async () => {
    const values = new Map<string, JsonValue>();
    let bytesLeft = artifactBytesMax;
    for (const id of ids) {
      const { artifact, bytes } = await readArtifact({ store: deps.store }, caller, id, bytesLeft);
      bytesLeft -= bytes.length;
      values.set(id, valueIn(artifact, bytes));
      await nextSlice();
    }
    return values;
  });
}

function valueIn({ id, mime_type }: ArtifactRecord, bytes: Uint8Array): JsonValue {
  const text = Buffer.from(bytes).toString("utf8");
  if (!/[/+]json\b/.test(mime_type)) return text;
  if (hasTooManyValues(bytes)) {
    throw new HarnessError("payload_too_large", `Artifact ${id} has more than ${valuesMax} values.`, {
      param: "artifact_id",
    });
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new HarnessError("invalid_request", `Artifact ${id} says that it is JSON, and is not.`, {
      param: "artifact_id",
    });
  }
}
