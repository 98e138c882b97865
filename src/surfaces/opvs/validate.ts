/** What the definition says about messages, checked on those that come in. */

import {
  type DescField,
  type DescMessage,
  fromJson,
  getOption,
  hasOption,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FieldBehavior, field_behavior } from "../../../proto/generated/google/api/field_behavior_pb.js";
import { InvalidParams, type Violation } from "./errors.ts";

/** Reads JSON as a message of this kind: any spelling that ProtoJSON allows, fields that nobody knows ignored. */
export function readMessage<D extends DescMessage>(schema: D, json: JsonValue): MessageShape<D> {
  const unknown = unknownEnums(schema, json);
  if (unknown.length > 0) throw new InvalidParams(unknown);
  try {
    return fromJson(schema, json, { ignoreUnknownFields: true });
  } catch (error) {
    throw new InvalidParams([violationOf(error, () => unreadable(schema, json))]);
  }
}

/** The first member that cannot be read even by itself, where the library does not say which. */
function unreadable(schema: DescMessage, json: JsonValue): string {
  const members = Object.entries(Object(json)) as [string, JsonValue][];
  const found = members.find(([name, value]) => {
    try {
      fromJson(schema, { [name]: value }, { ignoreUnknownFields: true });
      return false;
    } catch {
      return true;
    }
  });
  return found?.[0] ?? "params";
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

/** The library says what is wrong in words; what it quotes of the input stays out. */
function violationOf(error: unknown, member: () => string): Violation {
  const message = error instanceof Error ? error.message : "";
  const [, path = "", problem = ""] =
    /(?:field|oneof|message) ([\w.]+) from JSON: (.*)$/s.exec(message) ?? [];
  const name = path.split(".").at(-1) ?? "";
  const field = /^(lf\.)?a2a\.v1\./.test(path) && !/^[A-Z]/.test(name) ? camelCase(name) : member();
  const [said = ""] = problem.split(/, got |\s?"/);
  return { field, description: said === "" ? "cannot be read" : said.trim() };
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Throws with everything that is missing or out of range. */
export function requireValid<D extends DescMessage>(schema: D, message: MessageShape<D>): void {
  const violations = violationsIn(reflect(schema, message), "");
  if (violations.length > 0) throw new InvalidParams(violations);
}

function violationsIn(message: ReflectMessage, path: string): Violation[] {
  const found: Violation[] = [];
  for (const field of message.fields) found.push(...violationsOfField(message, field, path));
  for (const oneof of message.oneofs) {
    if (message.oneofCase(oneof) !== undefined) continue;
    const names = oneof.fields.map(({ jsonName }) => jsonName).join(", ");
    found.push({ field: path === "" ? oneof.name : path, description: `needs exactly one of ${names}` });
  }
  return found;
}

function violationsOfField(message: ReflectMessage, field: DescField, path: string): Violation[] {
  const at = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
  const isMissing = isRequired(field) && !message.isSet(field);
  if (isMissing) {
    return [
      { field: at, description: field.fieldKind === "list" ? "needs at least one item" : "is required" },
    ];
  }
  if (!message.isSet(field)) return [];
  switch (field.fieldKind) {
    case "enum": {
      const value = message.get(field);
      return field.enum.values.some(({ number }) => number === value)
        ? []
        : [{ field: at, description: `is none of ${namesOf(field)}` }];
    }
    case "message":
      return isWellKnown(field.message) ? [] : violationsIn(message.get(field), at);
    case "list": {
      if (field.listKind !== "message") return [];
      const items = [...message.get(field)];
      return items.flatMap((item, index) => violationsIn(item as ReflectMessage, `${at}[${index}]`));
    }
    default:
      return [];
  }
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
