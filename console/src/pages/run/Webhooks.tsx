/** Who is told of this run, and how telling them goes. Nothing is shown of a run that nobody is told of. */

import { useQuery } from "@tanstack/react-query";
import { LongText } from "../../parts/LongText.tsx";
import { Time } from "../../parts/Time.tsx";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";

const words = text.run.webhooks;

export function Webhooks({ taskId, updatedAt }: { taskId: string; updatedAt: string }) {
  const { data } = useQuery({
    queryKey: ["webhooks", taskId, updatedAt],
    queryFn: ({ signal }) => bridle.tasks.webhooks(taskId, { signal }),
    placeholderData: (before) => before,
  });
  if (data === undefined || data.length === 0) return null;
  return (
    <section className="webhooks" aria-label={words.title}>
      <h2>{words.title}</h2>
      <ul>
        {data.map(({ id, url, state, delivered_count, attempts, next_attempt_at, last_error }) => (
          <li key={id}>
            <code className="clip" title={url}>
              {url}
            </code>
            <p className="quiet">
              {words.states[state]} · {words.delivered(delivered_count)}
              {attempts > 0 && ` · ${words.attempts(attempts)}`}
              {next_attempt_at !== null && (
                <>
                  {` · ${words.next} `}
                  <Time at={next_attempt_at} />
                </>
              )}
            </p>
            {last_error !== null && (
              <p className="quiet">
                <LongText value={last_error} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
