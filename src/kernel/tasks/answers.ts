/** What counts as an answer to a question: the JSON or the text of a message, checked against the asked-for schema. */

import { Errors } from "typebox/schema";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { HarnessError } from "../core/errors.ts";
import { type Part, textOf } from "../kinds/message.ts";

/** The value a run is given. Without a schema it is the text; with one it is JSON, or text where a string is asked for. */
export function answerOf(parts: readonly Part[], schema: JsonObject | null): JsonValue {
  const json = parts.find((part) => part.type === "json");
  const text = textOf(parts);
  if (schema === null) return json === undefined ? text : json.value;
  const answer = json === undefined ? (schema.type === "string" ? text : parseJson(text)) : json.value;
  const [, [problem]] = Errors(schema, answer);
  if (problem !== undefined) {
    throw new HarnessError(
      "invalid_request",
      `The answer does not fit what was asked for: ${problem.message}.`,
      {
        param: `message.parts${problem.instancePath}`,
        details: { schema },
      },
    );
  }
  return answer;
}

function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    throw new HarnessError("invalid_request", "The answer must be JSON, in a json part or as text.", {
      param: "message.parts",
    });
  }
}
