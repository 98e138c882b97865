/** One optional line of text: why something is canceled, approved or denied. */

import { useId } from "react";

interface ReasonFieldProps {
  label: string;
  value: string;
  onChange(value: string): void;
  charsMax?: number;
  help?: string;
}

export function ReasonField({ label, value, onChange, charsMax = 2000, help }: ReasonFieldProps) {
  const [id, helpId] = [useId(), useId()];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={value}
        maxLength={charsMax}
        onChange={({ target }) => onChange(target.value)}
        autoComplete="off"
        aria-describedby={help === undefined ? undefined : helpId}
      />
      {help !== undefined && (
        <p id={helpId} className="field__help">
          {help}
        </p>
      )}
    </div>
  );
}

/** As a part of a request: nothing was typed, nothing is sent. */
export function reasonIn(reason: string): { reason?: string } {
  return reason === "" ? {} : { reason };
}
