/** Questions of tasks as the flat forms that clients of other protocols can show: fields of texts, numbers and choices. */

/** A JSON Schema. */
type Schema = Record<string, unknown>;
export type FormField = Schema & { type: string };

export interface QuestionForm {
  properties: Record<string, FormField>;
  required: string[];
}

/** The one field of a form for a question that asks for no object. */
const onlyField = "answer";
const fieldTypes: ReadonlySet<string> = new Set(["string", "number", "integer", "boolean"]);

/** Null for a question that asks for more than such a form has. */
export function questionForm(schema: Schema | null): QuestionForm | null {
  const properties: Record<string, FormField> = {};
  for (const [name, field] of Object.entries(fieldsOf(schema))) {
    const flat = flatField(field);
    if (flat === null) return null;
    properties[name] = flat;
  }
  return { properties, required: asksForObject(schema) ? namesIn(schema.required) : [onlyField] };
}

/** What a form that was filled in says to the question; nothing when it does not. */
export function answerIn(schema: Schema | null, content: Record<string, unknown>): unknown {
  return asksForObject(schema) ? content : content[onlyField];
}

function asksForObject(schema: Schema | null): schema is Schema {
  return schema?.type === "object";
}

function fieldsOf(schema: Schema | null): Schema {
  if (!asksForObject(schema)) return { [onlyField]: schema ?? { type: "string", title: "Answer" } };
  return isObject(schema.properties) ? schema.properties : {};
}

/** A choice of constants is said as the values that there are. */
function flatField(field: unknown): FormField | null {
  if (!isObject(field)) return null;
  const { anyOf, enum: given, type, ...rest } = field;
  const choices = Array.isArray(given) ? given : Array.isArray(anyOf) ? anyOf.map(constantIn) : null;
  if (choices === null) return typeof type === "string" && fieldTypes.has(type) ? { ...field, type } : null;
  return choices.every((choice) => typeof choice === "string")
    ? { ...rest, type: "string", enum: choices }
    : null;
}

function constantIn(schema: unknown): unknown {
  return isObject(schema) ? (schema.const ?? null) : null;
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
