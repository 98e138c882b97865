/** A JSON Schema as fields of a form, and what was filled in as JSON again. The server checks what is sent. */

export interface Field {
  /** Where the value is; empty for an answer that is one value. */
  path: readonly string[];
  title: string;
  description: string | null;
  type: "text" | "long" | "number" | "integer" | "boolean" | "choice" | "lines" | "json" | "group";
  choices: readonly string[];
  isRequired: boolean;
  isNullable: boolean;
  limits: { minLength?: number; maxLength?: number; min?: number; max?: number };
  /** Of a group. */
  fields: readonly Field[];
}

export interface Form {
  fields: readonly Field[];
  /** Whether the fields are members of an object. */
  isObject: boolean;
}

type Schema = Record<string, unknown>;

export function formFor(schema: Schema | null): Form {
  if (schema === null) return { isObject: false, fields: [{ ...fieldFor([], {}, true), type: "long" }] };
  const { properties, type } = schema;
  if (type !== "object" || !isSchema(properties))
    return { isObject: false, fields: [fieldFor([], schema, true)] };
  return { isObject: true, fields: membersOf([], schema) };
}

function membersOf(path: readonly string[], schema: Schema): Field[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(Object(schema.properties)).map(([name, member]) =>
    fieldFor([...path, name], isSchema(member) ? member : {}, required.includes(name)),
  );
}

function fieldFor(path: readonly string[], given: Schema, isRequired: boolean): Field {
  const { schema, isNullable } = withoutNull(given);
  const limit = (key: string) => (typeof schema[key] === "number" ? schema[key] : undefined);
  const choices = choicesIn(schema);
  const limits = {
    minLength: limit("minLength"),
    maxLength: limit("maxLength"),
    min: limit("minimum"),
    max: limit("maximum"),
  };
  const type = choices.length > 0 ? "choice" : typeOf(schema, path.length);
  const name = path.at(-1) ?? "";
  return {
    path,
    title: typeof schema.title === "string" ? schema.title : name.replaceAll("_", " "),
    description: typeof schema.description === "string" ? schema.description : null,
    type,
    choices,
    isRequired,
    isNullable,
    limits: Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)),
    fields: type === "group" ? membersOf(path, schema) : [],
  };
}

/** Something or null is that something, which may be left out. */
function withoutNull(schema: Schema): { schema: Schema; isNullable: boolean } {
  const { anyOf } = schema;
  if (!Array.isArray(anyOf)) return { schema, isNullable: false };
  const others = anyOf.filter((one) => !(isSchema(one) && one.type === "null"));
  const [only] = others;
  const isNullable = others.length < anyOf.length;
  return isNullable && others.length === 1 && isSchema(only)
    ? { schema: only, isNullable }
    : { schema, isNullable };
}

function choicesIn({ enum: values, anyOf }: Schema): string[] {
  const constants = Array.isArray(anyOf) ? anyOf.map((one) => (isSchema(one) ? one.const : undefined)) : [];
  const all: unknown[] = Array.isArray(values) ? values : constants;
  return all.length > 0 && all.every((value) => typeof value === "string") ? all : [];
}

/** Above this a text has room for several lines. */
const lineCharsMax = 200;
/** What lies deeper is JSON. */
const depthMax = 1;

function typeOf({ type, maxLength, items, properties }: Schema, depth: number): Field["type"] {
  if (type === "number" || type === "integer" || type === "boolean") return type;
  if (type === "array" && isSchema(items) && items.type === "string") return "lines";
  if (type === "object" && isSchema(properties) && depth === depthMax) return "group";
  if (type !== "string") return "json";
  return typeof maxLength === "number" && maxLength <= lineCharsMax ? "text" : "long";
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function nameOf({ path }: Field): string {
  return `field:${path.join("/")}`;
}

/** Throws an error that says which field is not JSON. */
export function readForm({ fields, isObject }: Form, data: FormData): unknown {
  if (isObject) return readMembers(fields, data);
  const [field] = fields;
  return field === undefined ? undefined : readField(field, data);
}

function readMembers(fields: readonly Field[], data: FormData): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = readField(field, data);
      return value === undefined ? [] : [[field.path.at(-1) ?? "", value] as const];
    }),
  );
}

function readField(field: Field, data: FormData): unknown {
  const { type, title, isRequired } = field;
  if (type === "group") {
    const members = readMembers(field.fields, data);
    // A box that is not checked says nothing of a group that is left out.
    const isFilled = Object.values(members).some((value) => value !== false);
    return isFilled || isRequired ? members : undefined;
  }
  const given = data.get(nameOf(field));
  const raw = typeof given === "string" ? given : "";
  if (type === "boolean") return raw === "on";
  if (raw === "" && !isRequired) return undefined;
  if (type === "number" || type === "integer") return Number(raw);
  if (type === "lines") return linesIn(raw);
  if (type !== "json") return raw;
  try {
    return JSON.parse(raw);
  } catch {
    throw new Error(
      `"${title || "The answer"}" must be JSON, for example {"name": "Ada"} or "a text in quotes".`,
    );
  }
}

function linesIn(raw: string): string[] {
  return raw
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** As it stands in the field at first. */
export function filledIn({ type, path }: Field, values: unknown): string {
  let value: unknown = values;
  for (const name of path) value = isSchema(value) ? value[name] : undefined;
  if (value === undefined || value === null) return "";
  if (type === "lines" && Array.isArray(value)) return value.join("\n");
  return type === "json" ? JSON.stringify(value, null, 2) : String(value);
}

/** What a request has to say so that `before` becomes `after`; a field that was emptied gets the empty value of its kind. */
export function changedFields(
  { fields }: Form,
  before: Schema,
  after: Schema,
): { name: string; was: unknown; is: unknown }[] {
  return fields.flatMap((field) => {
    const name = field.path.at(-1) ?? "";
    const [was, is] = [before[name], after[name]];
    if (isSame(was, is) || (isNothing(was) && isNothing(is))) return [];
    return [{ name, was, is: is === undefined ? emptyOf(field, was) : withEmptied(field, was, is) }];
  });
}

/** A list in a group that was emptied stays there as an empty one: no list at all may allow more. */
function withEmptied({ fields }: Field, was: unknown, is: unknown): unknown {
  if (!isSchema(was) || !isSchema(is)) return is;
  const emptied = fields.flatMap(({ path }) => {
    const name = path.at(-1) ?? "";
    return Array.isArray(was[name]) && is[name] === undefined ? [[name, []] as const] : [];
  });
  return { ...is, ...Object.fromEntries(emptied) };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

/** Members in the order of their names: a form has another order than the server. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isSchema(value)) return value;
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  return Object.fromEntries(names.sort().map((name) => [name, sorted(value[name])]));
}

/** An empty list is something: it allows nothing, where no list allows everything. */
function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  return isSchema(value) && Object.values(value).every(isNothing);
}

function emptyOf({ type, isNullable }: Field, was: unknown): unknown {
  if (isNullable) return null;
  if (type === "lines" || Array.isArray(was)) return [];
  if (type === "boolean") return false;
  return type === "group" || type === "json" ? {} : "";
}
