/** As much of JSON Schema as the form of a receipt is written in; a browser needs no library for that. */

import { isRecord } from "../../receipts/checks.ts";

export interface Form {
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "null";
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Form[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Form>>;
  readonly additionalProperties?: false;
  readonly items?: Form;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly pattern?: string;
  readonly format?: "date-time";
}

/** Where and how the value differs from the form; null when it does not. */
export function problemIn(value: unknown, form: Form, at = ""): string | null {
  return ownProblem(value, form, at) ?? memberProblem(value, form, at) ?? itemProblem(value, form, at);
}

function ownProblem(value: unknown, form: Form, at: string): string | null {
  const where = at === "" ? "the document" : at;
  if (form.type !== undefined && !isOfType[form.type](value)) return `${where} must be ${form.type}`;
  if (form.const !== undefined && value !== form.const) return `${where} must be ${form.const}`;
  if (form.enum !== undefined && !form.enum.some((one) => one === value)) {
    return `${where} must be one of ${form.enum.join(", ")}`;
  }
  if (form.anyOf?.every((one) => problemIn(value, one, at) !== null)) {
    return `${where} has none of the forms it may have`;
  }
  if (typeof value === "number" && form.minimum !== undefined && value < form.minimum) {
    return `${where} must be at least ${form.minimum}`;
  }
  return typeof value === "string" ? textProblem(value, form, where) : null;
}

function textProblem(text: string, { minLength = 0, pattern, format }: Form, where: string): string | null {
  if (text.length < minLength) return `${where} must not be empty`;
  if (pattern !== undefined && !new RegExp(pattern, "u").test(text)) return `${where} must match ${pattern}`;
  if (format === "date-time" && !isDateTime(text)) return `${where} must be a time`;
  return null;
}

function memberProblem(value: unknown, form: Form, at: string): string | null {
  if (!isRecord(value)) return null;
  const missing = form.required?.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${at}/${missing} is missing`;
  const properties = form.properties ?? {};
  for (const [name, member] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known === undefined && form.additionalProperties === false) {
      return `${at === "" ? "the document" : at} has a member that a receipt does not know`;
    }
    const problem = known === undefined ? null : problemIn(member, known, `${at}/${name}`);
    if (problem !== null) return problem;
  }
  return null;
}

function itemProblem(value: unknown, { items }: Form, at: string): string | null {
  if (!Array.isArray(value) || items === undefined) return null;
  for (const [index, item] of value.entries()) {
    const problem = problemIn(item, items, `${at}/${index}`);
    if (problem !== null) return problem;
  }
  return null;
}

const isOfType: Record<NonNullable<Form["type"]>, (value: unknown) => boolean> = {
  object: isRecord,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  integer: Number.isInteger,
  number: Number.isFinite,
  null: (value) => value === null,
};

const dateTimeForm = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|([+-])(\d\d):(\d\d))$/i;
const minutesADay = 24 * 60;

/** RFC 3339. A leap second is the last of a day in UTC. */
function isDateTime(text: string): boolean {
  const [, ...found] = dateTimeForm.exec(text) ?? [];
  const [year, month, day, hour, minute, second] = found.slice(0, 6).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  if (hour === undefined || minute === undefined || second === undefined) return false;
  const [sign, aheadHours = "0", aheadMinutes = "0"] = found.slice(6);
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return false;
  if (hour > 23 || minute > 59 || second > 60) return false;
  if (Number(aheadHours) > 23 || Number(aheadMinutes) > 59) return false;
  if (second < 60) return true;
  const ahead = (sign === "-" ? -1 : 1) * (Number(aheadHours) * 60 + Number(aheadMinutes));
  return (hour * 60 + minute - ahead + minutesADay) % minutesADay === minutesADay - 1;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
