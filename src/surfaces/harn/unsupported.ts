/** Members that the protocol has and this server does not serve: named in the schema, and refused when somebody sends them. */

import { type TSchema, Type } from "typebox";
import { HarnessError } from "../../kernel/core/errors.ts";

const mark = "x-unsupported";

/** `instead` says what to use. Nothing, empty lists and empty objects ask for nothing, and are accepted. */
export function Unsupported(instead: string) {
  return Type.Optional(
    Type.Unknown({
      [mark]: instead,
      description: `Not supported: anything but an empty value is refused. ${instead}`,
    }),
  );
}

/** A check of request bodies; null for a schema without such members. */
export function refusalOfUnsupported(schema: TSchema): ((body: unknown) => void) | null {
  const properties: Record<string, Record<string, unknown>> = "properties" in schema
    ? Object(schema.properties)
    : {};
  const refused = Object.entries(properties).flatMap(([name, { [mark]: instead }]) =>
    typeof instead === "string" ? [{ name, instead }] : [],
  );
  if (refused.length === 0) return null;
  return (body) => {
    const found = refused.find(({ name }) => isSaid(Object(body)[name]));
    if (found === undefined) return;
    const { name, instead } = found;
    throw new HarnessError("policy_violation", `${name} is not supported here. ${instead}`, {
      param: name,
      details: { rule: "not_supported" },
    });
  };
}

function isSaid(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}
