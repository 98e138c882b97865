/** What waits for a person's decision, in one frame: how risky it is, what it does, and whatever belongs below that. */

import type { ReactNode } from "react";
import { text } from "../text.ts";
import { LongText, printable } from "./LongText.tsx";
import { Payload } from "./Payload.tsx";

const risks = ["low", "medium", "high", "critical", "dangerous"];

interface ApprovalCardProps {
  risk: string | null;
  /** The end of the head: a time. */
  when: ReactNode;
  action: string;
  /** Nothing is shown for null and undefined. */
  payload: unknown;
  children?: ReactNode;
}

export function ApprovalCard({ risk: given, when, action, payload, children }: ApprovalCardProps) {
  const risk = given ?? "medium";
  const look = risks.includes(risk) ? risk : "medium";
  return (
    <li className={`turn turn--asks approval approval--${look}`} data-request="" tabIndex={-1}>
      <p className="turn__head">
        <strong>{text.run.approval}</strong>
        <span className="approval__risk">{text.run.risk(printable(risk))}</span>
        {when}
      </p>
      <div className="turn__body">
        <p className="approval__action">
          <LongText value={action} />
        </p>
        {payload !== undefined && payload !== null && (
          <div className="approval__payload" role="group" aria-label={text.run.payload}>
            <Payload value={payload} />
          </div>
        )}
        {children}
      </div>
    </li>
  );
}
