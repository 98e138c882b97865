/** Checking what comes over a wire against its schema, and saying in one sentence what is wrong with it. */

import type { Static, TSchema } from "typebox";
import { Settings } from "typebox/system";
import { HarnessError } from "../kernel/core/errors.ts";
import { compiledOf, narrow } from "./narrow.ts";

interface Problem {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  params: object;
  message: string;
}

/** How a persona names a model. */
export const modelNamePattern = "^[^/\\s]+/\\S+$";

/** What patterns mean, for those who would have to read them otherwise. */
const meanings = new Map([
  [modelNamePattern, "must name a model as provider/model, such as anthropic/claude-sonnet-5-5"],
]);

export type Check<S extends TSchema> = (value: unknown) => Static<S>;

/** A function that gives the value back as what the schema says it is, or throws `invalid_request` naming the field. */
export function checker<S extends TSchema>(schema: S): Check<S> {
  // A union reports the problems of all its variants; those of the one that was meant must be among them.
  Settings.Set({ maxErrors: 200 });
  return (value) => {
    if (compiledOf(schema).Check(value)) return value as Static<S>;
    throw explain(problemsWith(schema, value));
  };
}

function problemsWith(schema: TSchema, value: unknown): Problem[] {
  const { path, ...part } = narrow(schema, value);
  const [, found] = compiledOf(part.schema).Errors(part.value);
  // What is wrong can be behind the beginning that was described.
  const problems = found.length > 0 ? found : compiledOf(part.schema).Errors(valueAt(value, path))[1];
  return problems.map((problem) => ({ ...problem, instancePath: `${path}${problem.instancePath}` }));
}

function valueAt(value: unknown, path: string): unknown {
  return path
    .split("/")
    .slice(1)
    .reduce((at: unknown, name) => Object(at)[name], value);
}

/** Query strings are text; where the schema wants a whole number, a whole number is read. */
export function readQuery(schema: TSchema, query: unknown): Record<string, unknown> {
  const properties: Record<string, { type?: string }> =
    "properties" in schema ? Object(schema.properties) : {};
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(Object(query))) {
    const wantsNumber = properties[name]?.type === "integer";
    read[name] =
      wantsNumber && typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  }
  return read;
}

function explain(problems: Problem[]): HarnessError {
  const problem = mostTelling(problems);
  const missing =
    "requiredProperties" in problem.params ? [problem.params.requiredProperties].flat()[0] : undefined;
  const param = pathOf(problem.instancePath, missing);
  if (missing !== undefined) return invalid(`Missing required field: ${param}`, param);
  const where = param === "" ? "The body" : param;
  return invalid(`${where} ${expectation(problem, problems)}.`, param);
}

function invalid(message: string, param: string): HarnessError {
  return new HarnessError("invalid_request", message, param === "" ? {} : { param });
}

function expectation({ keyword, params, message, instancePath }: Problem, problems: Problem[]): string {
  if ("allowedValues" in params) return `must be one of ${[params.allowedValues].flat().join(", ")}`;
  const here = problems.filter((other) => other.instancePath === instancePath);
  if (keyword === "const") return `must be one of ${here.flatMap(allowedValue).join(", ")}`;
  // What a schema says `false` to: a field where only those that it names may be.
  if (keyword === "boolean") return "is not a field that is known here";
  if (keyword === "type") return `must be ${here.flatMap(allowedType).join(" or ")}`;
  if (keyword === "pattern" && "pattern" in params) return meanings.get(String(params.pattern)) ?? message;
  return message;
}

function allowedValue({ params }: Problem): unknown[] {
  return "allowedValue" in params ? [params.allowedValue] : [];
}

function allowedType({ params }: Problem): unknown[] {
  return "type" in params ? [params.type].flat() : [];
}

/**
 * Of the problems with a union the telling ones are those of the variant that was meant: the one whose discriminator
 * (a constant) fits. If no variant's does, the discriminator itself is the problem.
 */
function mostTelling(problems: Problem[]): Problem {
  const [first] = problems;
  if (first === undefined) throw new Error("A value was refused without a reason");
  const union = problems.findLast((problem) => problem.keyword === "anyOf");
  if (union === undefined) return first;
  const variants = new Map<string, Problem[]>();
  for (const problem of problems) {
    const variant = variantOf(problem, union);
    if (variant !== null) variants.set(variant, [...(variants.get(variant) ?? []), problem]);
  }
  const meant = [...variants.values()].find((group) => !group.some(({ keyword }) => keyword === "const"));
  if (meant !== undefined) return mostTelling(meant);
  return problems.find(({ keyword }) => keyword === "const") ?? first;
}

function variantOf(problem: Problem, union: Problem): string | null {
  const prefix = `${union.schemaPath}/anyOf/`;
  if (!problem.schemaPath.startsWith(prefix)) return null;
  return problem.schemaPath.slice(prefix.length).split("/")[0] ?? null;
}

/** `/input/parts/0` and `text` become `input.parts[0].text`. */
function pathOf(instancePath: string, field: unknown): string {
  const steps = instancePath
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (typeof field === "string") steps.push(field);
  return steps
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join("")
    .replace(/^\./, "");
}
