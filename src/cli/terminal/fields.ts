/** Answers to questions that want more than a text: made of what a person types, as the question's schema says. */

import type { Json, JsonObject } from "../../sdk/shell/index.ts";

export interface Field {
  name: string;
  type: "string" | "number" | "integer" | "boolean";
  choices: string[] | undefined;
  description: string | undefined;
  isRequired: boolean;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of a flat object, which can be asked one by one; null for any other form. */
export function fieldsOf(schema: JsonObject | undefined): Field[] | null {
  if (schema === undefined || schema.type !== "object" || !isObject(schema.properties)) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(schema.properties).map(([name, property]) =>
    fieldOf(name, property, required.includes(name)),
  );
  return fields.length === 0 || fields.includes(null) ? null : fields.filter((field) => field !== null);
}

function fieldOf(name: string, property: Json, isRequired: boolean): Field | null {
  if (!isObject(property)) return null;
  const { type, description } = property;
  const choices = choicesOf(property);
  const known = (["string", "number", "integer", "boolean"] as const).find((one) => one === type);
  if (known === undefined && choices === undefined) return null;
  return {
    name,
    type: known ?? "string",
    choices,
    description: typeof description === "string" ? description : undefined,
    isRequired,
  };
}

/** Texts to choose from, as an enum or as constants. */
function choicesOf({ enum: listed, anyOf }: JsonObject): string[] | undefined {
  const values = Array.isArray(listed)
    ? listed
    : Array.isArray(anyOf)
      ? anyOf.map((item) => (isObject(item) ? (item.const ?? null) : null))
      : [];
  const texts = values.filter((value) => typeof value === "string");
  return texts.length > 0 && texts.length === values.length ? texts : undefined;
}

/** The value that was typed for a field; null when it is not one. */
export function typedValue({ type, choices }: Field, text: string): Json | null {
  if (choices !== undefined) return choices.includes(text) ? text : null;
  if (type === "string") return text;
  if (type === "boolean") {
    if (/^(y|yes|true)$/i.test(text)) return true;
    return /^(n|no|false)$/i.test(text) ? false : null;
  }
  const number = Number(text);
  const isFit = text.trim() !== "" && Number.isFinite(number);
  return isFit && (type === "number" || Number.isInteger(number)) ? number : null;
}

/** What one line says about an answer with a schema, or null if it does not say enough. */
export function answerIn(line: string, schema: JsonObject): Json | null {
  const json = jsonIn(line);
  if (isObject(json)) return json;
  const fields = fieldsOf(schema);
  const [only] = fields ?? [];
  if (fields === null) return json ?? (schema.type === "string" ? line : null);
  if (only === undefined || fields.length > 1) return null;
  const value = typedValue(only, line);
  return value === null ? null : { [only.name]: value };
}

function jsonIn(line: string): Json | undefined {
  try {
    // What JSON.parse gives is JSON by definition.
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
}

/** How a field is asked for. */
export function promptFor({ name, type, choices, isRequired }: Field): string {
  const form =
    choices?.join("/") ?? { string: "", number: "number", integer: "number", boolean: "y/n" }[type];
  return `${name}${form === "" ? "" : ` (${form})`}${isRequired ? "" : ", or nothing"}:`;
}

/** What an answer has to be, in a line; null where any text will do. */
export function hintFor(schema: JsonObject): string | null {
  const fields = fieldsOf(schema);
  if (fields === null) return schema.type === "string" ? null : "The answer has to be JSON.";
  const [first, ...rest] = fields.map((field) => promptFor(field).slice(0, -1));
  if (rest.length === 0) return first ?? null;
  return `Enter asks for each part: ${[first, ...rest].join("; ")}. JSON does too.`;
}
