/** Whether something that a caller calls a JSON Schema is one. It is checked as data; nothing of it is ever carried out. */

import { Check, Errors, Meta } from "typebox/schema";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { HarnessError } from "./errors.ts";

const draft = Meta["https://json-schema.org/draft/2020-12/schema"];
/** A schema that says more belongs into a document of its own. */
const schemaBytesMax = 64 * 1024;

export function assertJsonSchema(schema: JsonObject, param: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > schemaBytesMax) {
    throw new HarnessError(
      "payload_too_large",
      `${param} has ${bytes} bytes, of ${schemaBytesMax} that it may have.`,
      {
        param,
      },
    );
  }
  if (!Check(draft, schema)) {
    const [, [problem]] = Errors(draft, schema);
    const where = problem === undefined ? "" : ` at ${problem.instancePath || "/"}: ${problem.message}`;
    throw invalid(param, `${param} is not a JSON Schema of the draft 2020-12${where}.`);
  }
  for (const ref of refsIn(schema)) {
    if (!leadsSomewhere(schema, ref))
      throw invalid(
        param,
        `${param} refers to ${JSON.stringify(ref)}; a reference must lead to a place inside the schema.`,
      );
  }
}

function refsIn(value: JsonValue): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "$ref" && typeof inner === "string" ? [inner] : refsIn(inner),
  );
}

/** RFC 6901, inside the one document. */
function leadsSomewhere(schema: JsonObject, ref: string): boolean {
  if (!/^#(?:\/|$)/.test(ref)) return false;
  let at: JsonValue | undefined = schema;
  for (const step of ref.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return false;
    at = Array.isArray(at) ? at[Number(name)] : at[name];
  }
  return at !== undefined;
}

function invalid(param: string, message: string): HarnessError {
  return new HarnessError("invalid_request", message, { param });
}
