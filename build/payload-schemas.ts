/**
 * What the payload of every event looks like, as JSON Schema, from the types in `src/kernel/core/events.ts`. What comes from outside
 * as a log is checked against it, with no member more than the types name. Written by `npm run docs`.
 */

import { fileURLToPath } from "node:url";
import { API, type Checker, type Type, TypeFlags } from "typescript/unstable/sync";

const root = fileURLToPath(new URL("../", import.meta.url));

type Schema = Record<string, unknown>;

export function payloadSchemas(): string {
  const api = new API({ cwd: root });
  try {
    const snapshot = api.updateSnapshot({ openProjects: ["tsconfig.json"] });
    const [project] = snapshot.getProjects();
    if (project === undefined) throw new Error("tsconfig.json was not found");
    const { checker, program } = project;
    const writer = new SchemaWriter(checker);
    const schemaOf = (path: string, name: string) => {
      const file = `${root}src/kernel/${path}`;
      const text = program.getSourceFile(file)?.text ?? "";
      const symbol = checker.getSymbolAtPosition(
        file,
        text.indexOf(`interface ${name} `) + "interface ".length,
      );
      if (symbol === undefined) throw new Error(`${name} was not found`);
      return writer.schemaOf(checker.getDeclaredTypeOfSymbol(symbol));
    };
    const payloads = schemaOf("core/events.ts", "EventPayloads");
    const mark = schemaOf("kinds/replay.ts", "ReplayMark");
    return `${JSON.stringify({ payloads, mark, $defs: writer.definitions })}\n`;
  } finally {
    api.close();
  }
}

class SchemaWriter {
  readonly definitions: Record<string, Schema> = {};
  readonly #names = new Map<number, string>();
  readonly #checker: Checker;

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  schemaOf(type: Type): Schema {
    if (type.flags & (TypeFlags.Any | TypeFlags.Unknown)) return {};
    if (type.flags & TypeFlags.Never) return { not: {} };
    if (type.flags & TypeFlags.Null) return { type: "null" };
    if (type.isStringLiteralType() || type.isNumberLiteralType()) return { const: type.value };
    if (type.isBooleanLiteralType()) return { const: this.#checker.typeToString(type) === "true" };
    if (type.flags & TypeFlags.StringLike) return { type: "string" };
    if (type.flags & TypeFlags.NumberLike) return { type: "number" };
    if (type.flags & TypeFlags.BooleanLike) return { type: "boolean" };
    if (type.isUnionType()) return this.#named(type, () => this.#union(type.getTypes()));
    if (this.#checker.isArrayType(type)) return this.#array(type);
    if (type.isObjectType() || type.isIntersectionType()) return this.#named(type, () => this.#object(type));
    throw new Error(`There is no schema for ${this.#checker.typeToString(type)}`);
  }

  /** Types that are met again, above all inside of themselves, are referred to. */
  #named(type: Type, write: () => Schema): Schema {
    const known = this.#names.get(type.id);
    if (known !== undefined) return { $ref: `#/$defs/${known}` };
    const name = `t${this.#names.size}`;
    this.#names.set(type.id, name);
    this.definitions[name] = {};
    this.definitions[name] = write();
    return { $ref: `#/$defs/${name}` };
  }

  #union(types: readonly Type[]): Schema {
    const there = types.filter(({ flags }) => !(flags & TypeFlags.Undefined));
    const schemas = there.map((type) => this.schemaOf(type));
    return schemas.length === 1 ? (schemas[0] ?? {}) : { anyOf: schemas };
  }

  #array(type: Type): Schema {
    const [item] = this.#checker.getIndexInfosOfType(type);
    return { type: "array", items: item === undefined ? {} : this.schemaOf(item.valueType) };
  }

  #object(type: Type): Schema {
    const [index] = this.#checker.getIndexInfosOfType(type);
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    for (const symbol of this.#checker.getPropertiesOfType(type)) {
      const member = this.#checker.getTypeOfSymbol(symbol);
      if (member === undefined) continue;
      const types = member.isUnionType() ? member.getTypes() : [member];
      if (types.some(({ flags }) => flags & TypeFlags.Undefined)) {
        if (types.length > 1) properties[symbol.name] = this.#union(types);
      } else {
        properties[symbol.name] = this.schemaOf(member);
        required.push(symbol.name);
      }
    }
    return {
      type: "object",
      properties,
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: index === undefined ? false : this.schemaOf(index.valueType),
    };
  }
}
