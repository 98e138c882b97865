/** Whether something that a caller calls a JSON Schema is one. It is checked as data; nothing of it is ever carried out. */

import { Compile, Meta } from "typebox/schema";
import { lazy } from "../../lazy.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { HarnessError } from "./errors.ts";

const draft = lazy(() => Compile(Meta["https://json-schema.org/draft/2020-12/schema"]));
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
  if (!draft().Check(schema)) {
    const wrong = wrongIn(schema, "") ?? { part: {}, path: "" };
    const [, [problem]] = draft().Errors(beginningOf(wrong.part));
    const where = `${wrong.path}${problem?.instancePath ?? ""}` || "/";
    const what = problem === undefined ? "" : `: ${problem.message}`;
    throw invalid(param, `${param} is not a JSON Schema of the draft 2020-12 at ${where}${what}.`);
  }
  for (const ref of refsIn(schema)) {
    if (!leadsSomewhere(schema, ref))
      throw invalid(
        param,
        `${param} refers to ${JSON.stringify(ref)}; a reference must lead to a place inside the schema.`,
      );
  }
}

/** Members of a schema that are a schema, and those that are a list of them or have one for each name. */
const single: ReadonlySet<string> = new Set(
  "items contains additionalProperties propertyNames not if then else unevaluatedItems unevaluatedProperties".split(
    " ",
  ),
);
const several: ReadonlySet<string> = new Set(
  "allOf anyOf oneOf prefixItems properties patternProperties dependentSchemas $defs".split(" "),
);

interface WrongPart {
  /** Without the schemas in it, which are right. */
  part: JsonObject;
  path: string;
}

/** The first schema in it that is wrong. Each is looked at alone, since describing a large one takes long. */
function wrongIn(schema: JsonObject, path: string): WrongPart | null {
  const part: [string, JsonValue][] = [];
  for (const [name, value] of Object.entries(schema)) {
    const at = `${path}/${name}`;
    if (single.has(name) && isObject(value)) {
      const wrong = wrongIn(value, at);
      if (wrong !== null) return wrong;
      part.push([name, true]);
    } else if (several.has(name) && typeof value === "object" && value !== null) {
      for (const [key, each] of Object.entries(value)) {
        const step = key.replaceAll("~", "~0").replaceAll("/", "~1");
        const wrong = isObject(each) ? wrongIn(each, `${at}/${step}`) : null;
        if (wrong !== null) return wrong;
      }
      part.push([name, withoutObjects(value)]);
    } else part.push([name, value]);
  }
  const own = Object.fromEntries(part);
  return draft().Check(own) ? null : { part: own, path };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function withoutObjects(value: JsonObject | JsonValue[]): JsonValue {
  if (Array.isArray(value)) return value.map((each) => isObject(each) || each);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, isObject(each) || each]));
}

/** As much as is described. */
const describedMax = 20;

function beginningOf(part: JsonObject): JsonObject {
  const cut = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.slice(0, describedMax);
    if (isObject(value)) return Object.fromEntries(Object.entries(value).slice(0, describedMax));
    return value;
  };
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, cut(value)]));
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
