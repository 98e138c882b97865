/** Checks the payloads of events that come from outside: each has the members that its kind names, and no other. */

import schemas from "./payload-schemas.json" with { type: "json" };

/** As `build/payload-schemas.ts` makes it. */
interface Schema {
  $ref?: string;
  const?: unknown;
  not?: object;
  type?: string;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
}

const definitions: Record<string, Schema> = schemas.$defs;
const payloads = resolve(schemas.payloads).properties ?? {};

/** All kinds of events that there are. */
export const eventKinds: readonly string[] = Object.keys(payloads);

/** Where in the payload something is that its kind does not have, or lacks; null when all of it is as it should be. */
export function wrongIn(event: string, payload: unknown): string | null {
  const schema = Object.hasOwn(payloads, event) ? payloads[event] : undefined;
  return schema === undefined ? "" : wrongAt("", schema, payload);
}

/** The same for what an event of a replay says of itself. */
export function wrongInMark(mark: unknown): string | null {
  return mark === undefined ? null : wrongAt("/replay", schemas.mark, mark);
}

function resolve(schema: Schema): Schema {
  const name = schema.$ref?.slice("#/$defs/".length);
  return name === undefined ? schema : (definitions[name] ?? {});
}

/** The path of the first member that does not fit, empty for the value itself. */
function wrongAt(path: string, given: Schema, value: unknown): string | null {
  const schema = resolve(given);
  if (schema.anyOf !== undefined) {
    return schema.anyOf.some((choice) => wrongAt(path, choice, value) === null) ? null : path;
  }
  if ("const" in schema) return value === schema.const ? null : path;
  if (schema.not !== undefined) return path;
  switch (schema.type) {
    case undefined:
      return null;
    case "null":
      return value === null ? null : path;
    case "array":
      return Array.isArray(value) ? firstWrong(path, Object.entries(value), () => schema.items ?? {}) : path;
    case "object":
      return isObject(value) ? wrongInObject(path, schema, value) : path;
    default:
      return typeof value === schema.type ? null : path;
  }
}

function wrongInObject(path: string, schema: Schema, value: Record<string, unknown>): string | null {
  const { properties = {}, required = [], additionalProperties = {} } = schema;
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${path}/${missing}`;
  const schemaOf = (name: string) =>
    Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
  return firstWrong(path, Object.entries(value), (name) => schemaOf(name) ?? false);
}

function firstWrong(
  path: string,
  members: [string, unknown][],
  schemaOf: (name: string) => Schema | boolean,
): string | null {
  for (const [name, member] of members) {
    const schema = schemaOf(name);
    const wrong =
      typeof schema === "boolean" ? `${path}/${name}` : wrongAt(`${path}/${name}`, schema, member);
    if (wrong !== null) return wrong;
  }
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
