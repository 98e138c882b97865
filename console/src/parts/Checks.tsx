/** What a verification looked at, one by one. */

import type { Verification } from "bridle/verify";
import { text } from "../text.ts";

export function Checks({ checks }: Pick<Verification, "checks">) {
  return (
    <ul className="checks">
      {checks.map(({ name, ok, message }) => (
        <li key={name} className={`check check--${ok === null ? "open" : ok ? "ok" : "failed"}`}>
          <span className="check__sign">
            {ok === null ? text.run.unchecked : ok ? text.run.passed : text.run.checkFailed}
          </span>
          <span>
            <code>{name}</code> {message}
          </span>
        </li>
      ))}
    </ul>
  );
}
