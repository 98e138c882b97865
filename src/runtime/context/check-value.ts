/** A value from outside against the author's schema: of TypeBox, or any Standard Schema. */

import { Errors } from "typebox/schema";
import type { JsonValue } from "../../store/port.ts";
import { isStandardSchema } from "../agents/standard-schema.ts";

export async function checkValue(
  schema: object,
  value: JsonValue,
): Promise<{ value: unknown } | { problem: string }> {
  if (isStandardSchema(schema)) {
    const result = await schema["~standard"].validate(value);
    return result.issues === undefined
      ? { value: result.value }
      : { problem: result.issues.map(({ message }) => message).join("; ") };
  }
  const [, [problem]] = Errors(schema, value);
  if (problem === undefined) return { value };
  return { problem: `${problem.instancePath || "it"} ${problem.message}.` };
}
