/** A form from a JSON Schema: fields for what is flat, JSON for all else. The server checks what is sent. */

import { useId } from "react";

export interface Field {
  /** Empty for an answer that is one value. */
  name: string;
  title: string;
  description: string | null;
  type: "text" | "long" | "number" | "integer" | "boolean" | "choice" | "json";
  choices: readonly string[];
  isRequired: boolean;
  limits: { minLength?: number; maxLength?: number; min?: number; max?: number };
}

export interface Form {
  fields: readonly Field[];
  /** Whether the fields are members of an object. */
  isObject: boolean;
}

type Schema = Record<string, unknown>;

export function formFor(schema: Schema | null): Form {
  if (schema === null) return { isObject: false, fields: [{ ...fieldFor("", {}, true), type: "long" }] };
  const { properties, type } = schema;
  if (type !== "object" || !isSchema(properties))
    return { isObject: false, fields: [fieldFor("", schema, true)] };
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(properties).map(([name, member]) =>
    fieldFor(name, isSchema(member) ? member : {}, required.includes(name)),
  );
  return { isObject: true, fields };
}

function fieldFor(name: string, schema: Schema, isRequired: boolean): Field {
  const limit = (key: string) => (typeof schema[key] === "number" ? schema[key] : undefined);
  const choices = choicesIn(schema);
  const limits = {
    minLength: limit("minLength"),
    maxLength: limit("maxLength"),
    min: limit("minimum"),
    max: limit("maximum"),
  };
  return {
    name,
    title: typeof schema.title === "string" ? schema.title : name.replaceAll("_", " "),
    description: typeof schema.description === "string" ? schema.description : null,
    type: choices.length > 0 ? "choice" : typeOf(schema),
    choices,
    isRequired,
    limits: Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)),
  };
}

function choicesIn({ enum: values, anyOf }: Schema): string[] {
  const constants = Array.isArray(anyOf) ? anyOf.map((one) => (isSchema(one) ? one.const : undefined)) : [];
  const all: unknown[] = Array.isArray(values) ? values : constants;
  return all.length > 0 && all.every((value) => typeof value === "string") ? all : [];
}

/** Above this a text has room for several lines. */
const lineCharsMax = 200;

function typeOf({ type, maxLength }: Schema): Field["type"] {
  if (type === "number" || type === "integer" || type === "boolean") return type;
  if (type !== "string") return "json";
  return typeof maxLength === "number" && maxLength <= lineCharsMax ? "text" : "long";
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Throws an error that says which field is not JSON. */
export function readForm({ fields, isObject }: Form, data: FormData): unknown {
  const values = fields.flatMap((field) => {
    const raw = data.get(`field:${field.name}`);
    const value = readField(field, typeof raw === "string" ? raw : "");
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return isObject ? Object.fromEntries(values) : values[0]?.[1];
}

function readField({ type, title, isRequired }: Field, raw: string): unknown {
  if (type === "boolean") return raw === "on";
  if (raw === "" && !isRequired) return undefined;
  if (type === "number" || type === "integer") return Number(raw);
  if (type !== "json") return raw;
  try {
    return JSON.parse(raw);
  } catch {
    throw new Error(
      `"${title || "The answer"}" must be JSON, for example {"name": "Ada"} or "a text in quotes".`,
    );
  }
}

export function SchemaFields({ form, label }: { form: Form; label: string }) {
  return form.fields.map((field) => (
    <FieldView key={field.name} field={field} label={field.title || label} />
  ));
}

function FieldView({ field, label }: { field: Field; label: string }) {
  const id = useId();
  const helpId = `${id}-help`;
  const { description } = field;
  const common = {
    id,
    name: `field:${field.name}`,
    ...(description === null ? {} : { "aria-describedby": helpId }),
  };
  return (
    <div className={field.type === "boolean" ? "field field--check" : "field"}>
      <label htmlFor={id}>{label}</label>
      <Control field={field} common={common} />
      {description !== null && (
        <p id={helpId} className="field__help">
          {description}
        </p>
      )}
    </div>
  );
}

type Common = { id: string; name: string; "aria-describedby"?: string };

function Control({ field: { type, choices, isRequired, limits }, common }: { field: Field; common: Common }) {
  const { min, max, ...lengths } = limits;
  switch (type) {
    case "boolean":
      return <input type="checkbox" {...common} />;
    case "choice":
      return (
        <select {...common} required={isRequired}>
          {!isRequired && <option value="" />}
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      );
    case "number":
    case "integer":
      return (
        <input
          type="number"
          step={type === "integer" ? 1 : "any"}
          {...common}
          {...(min === undefined ? {} : { min })}
          {...(max === undefined ? {} : { max })}
          required={isRequired}
        />
      );
    case "text":
      return <input type="text" {...common} {...lengths} required={isRequired} autoComplete="off" />;
    default:
      return (
        <textarea
          rows={type === "json" ? 4 : 3}
          {...common}
          {...lengths}
          required={isRequired}
          className={type === "json" ? "mono" : ""}
          spellCheck={type !== "json"}
        />
      );
  }
}
