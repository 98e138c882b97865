/** Copies a text, and says that it did. */

import { useState } from "react";
import { text } from "../text.ts";
import { Icon } from "./Icon.tsx";

export function Copy({ value, label = text.copy }: { value: string; label?: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <button
      type="button"
      className="copy"
      aria-label={isCopied ? text.copied : label}
      title={isCopied ? text.copied : label}
      onClick={async () => {
        await navigator.clipboard.writeText(value);
        setCopied(true);
        setTimeout(() => setCopied(false), 1500);
      }}
    >
      <Icon name={isCopied ? "check" : "copy"} />
    </button>
  );
}

/** An id, short enough to be read, whole when it is copied. */
export function Id({ value }: { value: string }) {
  return (
    <span className="id">
      <code title={value}>{value}</code>
      <Copy value={value} label={`${text.copy} ${value}`} />
    </span>
  );
}
