/** A run, followed from its first event to its last. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { bridle } from "../../server/bridle.ts";
import { watchConnection } from "../../server/connection.ts";
import { endIfRefused, may, useSession } from "../../server/session.ts";
import { RunLog, type RunView } from "./log.ts";

const pollMs = 3000;

/** Of no task when there is none. */
export function useTask(taskId: string | null, isLive: boolean) {
  return useQuery({
    queryKey: ["task", taskId],
    enabled: taskId !== null,
    queryFn: ({ signal }) => bridle.tasks.get(taskId ?? "", { signal }),
    ...(isLive ? {} : { refetchInterval: pollMs }),
  });
}

export function useWhy(taskId: string) {
  return useQuery({
    queryKey: ["why", taskId],
    queryFn: ({ signal }) => bridle.tasks.why(taskId, { signal }),
    // What a step that runs is doing is not in the log.
    refetchInterval: ({ state: { data } }) => (data?.waits_for == null ? false : pollMs),
  });
}

/** Null when the key may not read events. */
export function useRunView(taskId: string): { view: RunView; error: unknown; mayRead: boolean } {
  const client = useQueryClient();
  const { session } = useSession();
  const mayRead = may(session, "events:read");
  const [view, setView] = useState(() => new RunLog().view());
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (!mayRead) return;
    const gone = new AbortController();
    const connection = watchConnection();
    const log = new RunLog();
    let frame: number | null = null;
    // A task that is read from its beginning has thousands of events at once.
    const show = () => {
      frame ??= requestAnimationFrame(() => {
        frame = null;
        setView(log.view());
      });
    };
    const read = async () => {
      const { signal } = gone;
      const { onConnection } = connection;
      for await (const event of bridle.tasks.events(taskId, { signal, onConnection })) {
        log.add(event);
        show();
        if (
          event.event.startsWith("task.") ||
          event.event === "receipt.issued" ||
          event.resource.object === "permission_request"
        ) {
          void client.invalidateQueries({ queryKey: ["task", taskId] });
          void client.invalidateQueries({ queryKey: ["why", taskId] });
        }
      }
    };
    setError(null);
    setView(log.view());
    read()
      .catch((problem: unknown) => {
        endIfRefused(problem);
        if (!gone.signal.aborted) setError(problem);
      })
      .finally(() => connection.close());
    return () => {
      gone.abort();
      connection.close();
      if (frame !== null) cancelAnimationFrame(frame);
    };
  }, [client, taskId, mayRead]);
  return { view, error, mayRead };
}
