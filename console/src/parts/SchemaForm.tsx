/** The fields of a form that was made from a JSON Schema. */

import { useId } from "react";
import { type Field, type Form, filledIn, nameOf } from "./schema-form.ts";

interface SchemaFieldsProps {
  form: Form;
  label: string;
  /** What stands in the fields at first. */
  values?: unknown;
  /** A sentence below a field; null for none. */
  helpFor?(field: Field): string | null;
}

export function SchemaFields({ form, ...rest }: SchemaFieldsProps) {
  return form.fields.map((field) => <FieldView key={nameOf(field)} field={field} {...rest} />);
}

function FieldView({ field, ...rest }: Omit<SchemaFieldsProps, "form"> & { field: Field }) {
  const { label, values, helpFor } = rest;
  const id = useId();
  const helpId = `${id}-help`;
  if (field.type === "group") {
    return (
      <fieldset className="fields">
        <legend>{field.title}</legend>
        {field.fields.map((member) => (
          <FieldView key={nameOf(member)} field={member} {...rest} />
        ))}
      </fieldset>
    );
  }
  const help = helpFor?.(field) ?? field.description;
  const common = {
    id,
    name: nameOf(field),
    ...(help === null ? {} : { "aria-describedby": helpId }),
  };
  return (
    <div className={field.type === "boolean" ? "field field--check" : "field"}>
      <label htmlFor={id}>{field.title || label}</label>
      <Control field={field} common={common} value={filledIn(field, values)} />
      {help !== null && (
        <p id={helpId} className="field__help">
          {help}
        </p>
      )}
    </div>
  );
}

type Common = { id: string; name: string; "aria-describedby"?: string };

function Control({ field, common, value }: { field: Field; common: Common; value: string }) {
  const { type, choices, isRequired, limits } = field;
  const { min, max, ...lengths } = limits;
  switch (type) {
    case "boolean":
      return <input type="checkbox" {...common} defaultChecked={value === "true"} />;
    case "choice":
      return (
        <select {...common} required={isRequired} defaultValue={value}>
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
          defaultValue={value}
        />
      );
    case "text":
      return (
        <input
          type="text"
          {...common}
          {...lengths}
          required={isRequired}
          autoComplete="off"
          defaultValue={value}
        />
      );
    default:
      return (
        <textarea
          rows={Math.min(12, Math.max(type === "long" ? 3 : 2, value.split("\n").length))}
          {...common}
          {...lengths}
          required={isRequired}
          className={type === "long" ? "" : "mono"}
          spellCheck={type === "long"}
          defaultValue={value}
        />
      );
  }
}
