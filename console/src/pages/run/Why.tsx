/** The server's own sentence about what the run waits for, and what would help. */

import type { Task } from "bridle/client";
import { isFinal } from "../../parts/Status.tsx";
import { Time } from "../../parts/Time.tsx";
import { text } from "../../text.ts";
import { useWhy } from "./useRun.ts";

export function Why({ task }: { task: Task }) {
  const { data: why } = useWhy(task.id);
  // Until it is asked again after a change, the last answer is about another state.
  if (why === undefined || why.status !== task.status) return null;
  const title = isFinal(why.status)
    ? text.run.whyEnded
    : why.waits_for === "step"
      ? text.run.whyNow
      : text.run.why;
  return (
    <section className={`why why--${why.status.toLowerCase()}`} aria-label={title} aria-live="polite">
      <h2>
        {title}
        <span className="quiet">
          {" "}
          · <Time at={why.since} />
        </span>
      </h2>
      <p>
        <bdi>{why.sentence}</bdi>
      </p>
      {why.what_helps.length > 0 && !isFinal(why.status) && (
        <ul>
          {why.what_helps.map((help) => (
            <li key={help}>{help}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
