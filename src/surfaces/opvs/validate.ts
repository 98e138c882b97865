/** What the definition says about messages, checked on those that come in. */

import {
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJson,
  getOption,
  hasOption,
  isFieldSet,
  type JsonValue,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { isFieldError } from "@bufbuild/protobuf/reflect";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../../proto/generated/google/api/field_behavior_pb.js";
import { InvalidParams, type Violation } from "./errors.ts";

/** Reads JSON as a message of this kind, in every spelling that ProtoJSON allows, fields that nobody knows ignored. */
export function readMessage<D extends DescMessage>(schema: D, json: JsonValue): MessageShape<D> {
  const unknown = unknownEnums(schema, json);
  try {
    const message = fromJson(schema, json, { ignoreUnknownFields: true });
    if (unknown.length === 0) return message;
  } catch (error) {
    const wrong = unreadable(schema, json);
    const found = wrong.length === 0 && unknown.length === 0 ? [violationOf(schema, json, error)] : wrong;
    const known = new Set(unknown.map(({ field }) => field));
    throw new InvalidParams([...unknown, ...found.filter(({ field }) => !known.has(field))]);
  }
  throw new InvalidParams(unknown);
}

/** The members that cannot be read, each looked at for itself, so that a client hears of all of them at once. */
function unreadable(schema: DescMessage, json: JsonValue): Violation[] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [];
  return Object.entries(json).flatMap(([name, value]): Violation[] => {
    const member = { [name]: value };
    try {
      fromJson(schema, member, { ignoreUnknownFields: true });
      return [];
    } catch (error) {
      return [violationOf(schema, member, error)];
    }
  });
}

/** What ignores unknown fields also ignores unknown names of enums, which would widen a filter to everything. */
function unknownEnums(schema: DescMessage, json: JsonValue): Violation[] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [];
  return schema.fields.flatMap((field): Violation[] => {
    if (field.fieldKind !== "enum") return [];
    const given = json[field.jsonName] ?? json[field.name];
    if (typeof given !== "string" || field.enum.values.some(({ name }) => name === given)) return [];
    return [{ field: field.jsonName, description: `is none of ${namesOf(field)}` }];
  });
}

/** The library names the field where it can; what it quotes of the input stays out. */
function violationOf(schema: DescMessage, json: JsonValue, error: unknown): Violation {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!isFieldError(cause)) return violationOfMessage(schema, json);
  const at = cause.field();
  const isOurs = /^(?:lf\.)?a2a\.v1\./.test(at.parent?.typeName ?? "");
  const [said = ""] = cause.message.split(/, got |\s?"/);
  return {
    field: isOurs ? camelCase(at.name) : "params",
    description: said === "" ? "cannot be read" : said.trim(),
  };
}

const timestamp = "google.protobuf.Timestamp";

/** A message that is not one is reported without its place: it is the field that has something else than an object, or no time. */
function violationOfMessage({ fields }: DescMessage, json: JsonValue): Violation {
  const given = Object(json);
  const wrong = fields.filter(({ message, jsonName, name }) => {
    const value: unknown = given[jsonName] ?? given[name];
    if (message === undefined || value === undefined || value === null) return false;
    return message.typeName === timestamp
      ? !isTime(value)
      : typeof value !== "object" || Array.isArray(value);
  });
  const [field] = wrong.length === 1 ? wrong : [];
  const description =
    field?.message?.typeName === timestamp
      ? "is a time such as 2026-01-05T08:00:00.000Z"
      : "has something else than an object";
  return { field: field?.jsonName ?? "params", description };
}

function isTime(value: unknown): boolean {
  try {
    return typeof value === "string" && fromJson(TimestampSchema, value) !== null;
  } catch {
    return false;
  }
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Throws with everything that is missing or out of range. */
export function requireValid<D extends DescMessage>(schema: D, message: MessageShape<D>): void {
  const found: Violation[] = [];
  check(schema, message, "", found);
  if (found.length > 0) throw new InvalidParams(found);
}

type Check = (message: Message, path: string, found: Violation[]) => void;

/** What there is to look at in a message: worked out once for each kind, since most fields can hold anything. */
const plans = new WeakMap<DescMessage, readonly Check[]>();

function check(schema: DescMessage, message: Message, path: string, found: Violation[]): void {
  let plan = plans.get(schema);
  if (plan === undefined) {
    plan = [...schema.fields.flatMap(checksOf), ...schema.oneofs.map(requireOne)];
    plans.set(schema, plan);
  }
  for (const step of plan) step(message, path, found);
}

function checksOf(field: DescField): Check[] {
  const inside = checkInside(field);
  return [...(isRequired(field) ? [requireSet(field)] : []), ...(inside === null ? [] : [inside])];
}

function requireSet(field: DescField): Check {
  const description = field.fieldKind === "list" ? "needs at least one item" : "is required";
  return (message, path, found) => {
    if (!isFieldSet(message, field)) found.push({ field: at(path, field), description });
  };
}

function requireOne(oneof: DescOneof): Check {
  const names = oneof.fields.map(({ jsonName }) => jsonName).join(", ");
  return (message, path, found) => {
    if (oneof.fields.some((field) => isFieldSet(message, field))) return;
    found.push({ field: path === "" ? oneof.name : path, description: `needs exactly one of ${names}` });
  };
}

/** Null for fields that can hold anything. */
function checkInside(field: DescField): Check | null {
  if (field.fieldKind === "enum") {
    const numbers: ReadonlySet<unknown> = new Set(field.enum.values.map(({ number }) => number));
    const description = `is none of ${namesOf(field)}`;
    return (message, path, found) => {
      const value = memberOf(message, field);
      if (value !== undefined && !numbers.has(value)) found.push({ field: at(path, field), description });
    };
  }
  const inner = field.message;
  if (inner === undefined || isWellKnown(inner)) return null;
  return (message, path, found) => {
    const value = memberOf(message, field);
    if (field.fieldKind === "message") {
      if (value !== undefined) check(inner, value as Message, at(path, field), found);
    } else if (field.fieldKind === "list") {
      const items = value as Message[];
      for (const [index, item] of items.entries()) check(inner, item, `${at(path, field)}[${index}]`, found);
    }
  };
}

function at(path: string, { jsonName }: DescField): string {
  return path === "" ? jsonName : `${path}.${jsonName}`;
}

/** Generated messages are plain objects whose members are named as the descriptors say. */
function memberOf(message: Message, { oneof, localName }: DescField): unknown {
  const members = message as Message & Record<string, unknown>;
  if (oneof === undefined) return members[localName];
  const chosen: { case?: string; value?: unknown } = Object(members[oneof.localName]);
  return chosen.case === localName ? chosen.value : undefined;
}

function isRequired(field: DescField): boolean {
  return (
    hasOption(field, field_behavior) && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED)
  );
}

/** Free JSON and times: read already, and nothing in them is required. */
function isWellKnown({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}

function namesOf(field: DescField & { fieldKind: "enum" }): string {
  return field.enum.values
    .slice(1)
    .map(({ name }) => name)
    .join(", ");
}
