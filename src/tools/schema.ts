/**
 * Schemas of authors: TypeBox, or any Standard Schema (https://standardschema.dev: zod, valibot, ArkType). A Standard Schema checks values with
 * its own code; models, forms and other agents are given the JSON Schema that it describes itself with.
 */

import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/schema";
import type { JsonObject } from "../store/port.ts";

export interface StandardSchema<Output = unknown, Input = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
    /** https://standardschema.dev/json-schema: zod from 4.2, ArkType from 2.1.28, valibot through a wrapper. */
    readonly jsonSchema?:
      | { input(options: { readonly target: "draft-2020-12" }): Record<string, unknown> }
      | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type Schema = TSchema | StandardSchema;

/** What code is given of a value that was checked: with defaults filled in and transformed, where the schema does so. */
export type ValueOf<S> =
  S extends StandardSchema<infer Output> ? Output : S extends TSchema ? Static<S> : never;

/** What is sent to be checked. */
export type GivenOf<S> =
  S extends StandardSchema<unknown, infer Input> ? Input : S extends TSchema ? Static<S> : never;

export interface SchemaProblem {
  /** A JSON pointer. */
  path: string;
  message: string;
}

export function isStandardSchema(schema: object): schema is StandardSchema {
  return "~standard" in schema;
}

export type Checked = { value: unknown } | { problems: readonly SchemaProblem[] };

/** A promise only where the schema's own code is asynchronous. The messages hold no values as far as its library keeps to that. */
export function checkValue(schema: object, value: unknown): Checked | Promise<Checked> {
  if (isStandardSchema(schema)) {
    const result = schema["~standard"].validate(value);
    return result instanceof Promise ? result.then(checkedBy) : checkedBy(result);
  }
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  if (validator.Check(value)) return { value };
  const [, problems] = validator.Errors(value);
  return { problems: problems.map(({ instancePath, message }) => ({ path: instancePath, message })) };
}

function checkedBy(result: StandardResult<unknown>): Checked {
  return result.issues === undefined ? { value: result.value } : { problems: result.issues.map(problemOf) };
}

const validators = new WeakMap<object, Validator>();

function problemOf({ message, path = [] }: StandardIssue): SchemaProblem {
  const steps = path.map((step) => `/${String(typeof step === "object" ? step.key : step)}`);
  return { path: steps.join(""), message };
}

/** As many problems as a message lists. */
const problemsMax = 3;

/** `args[0] must be string; it must have …; and 2 more`, without values. */
export function listProblems(problems: readonly SchemaProblem[]): string {
  const said = [...new Set(problems.map(({ path, message }) => `${nameOf(path)} ${message}`))];
  const more = said.length - problemsMax;
  return said.slice(0, problemsMax).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/** `/args/0` becomes `args[0]`. */
function nameOf(path: string): string {
  if (path === "") return "it";
  const steps = path.slice(1).split("/");
  return steps
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join("")
    .replace(/^\./, "");
}

const described = new WeakMap<object, JsonObject>();

/** Throws a `TypeError` for a Standard Schema that cannot say what it is in JSON Schema. */
export function jsonSchemaOf(schema: object): JsonObject;
export function jsonSchemaOf(schema: object | undefined): JsonObject | null;
export function jsonSchemaOf(schema: object | undefined): JsonObject | null {
  if (schema === undefined) return null;
  // A TypeBox schema is JSON Schema; going through JSON drops what is not.
  if (!isStandardSchema(schema)) return JSON.parse(JSON.stringify(schema));
  const known = described.get(schema) ?? describe(schema);
  described.set(schema, known);
  return known;
}

function describe({ "~standard": { vendor, jsonSchema } }: StandardSchema): JsonObject {
  if (jsonSchema === undefined) {
    const advice =
      vendor === "valibot"
        ? "wrap it: toStandardJsonSchema(schema) of @valibot/to-json-schema"
        : "use a version of the library that implements Standard JSON Schema (zod 4.2, ArkType 2.1.28, or later)";
    throw new TypeError(
      `This ${vendor} schema cannot be converted to JSON Schema, which models and clients need: ${advice}.`,
    );
  }
  try {
    const { $schema: _draft, ...schema } = jsonSchema.input({ target: "draft-2020-12" });
    return JSON.parse(JSON.stringify(schema));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TypeError(`This ${vendor} schema cannot be converted to JSON Schema: ${reason}`);
  }
}
