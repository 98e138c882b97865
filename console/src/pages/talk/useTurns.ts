/** A session as its events tell it: a view of each of its tasks, in the order in which they were given. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { bridle } from "../../server/bridle.ts";
import { watchConnection } from "../../server/connection.ts";
import { endIfRefused } from "../../server/session.ts";
import { RunLog, type RunView } from "../run/log.ts";

export interface TurnView {
  taskId: string;
  view: RunView;
  /** Where a fork begins that has this and nothing after it. */
  lastEventId: string;
}

interface Turn {
  log: RunLog;
  shown: TurnView;
}

export function useTurns(sessionId: string): { turns: readonly TurnView[]; error: unknown } {
  const client = useQueryClient();
  const [turns, setTurns] = useState<readonly TurnView[]>([]);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const gone = new AbortController();
    const connection = watchConnection();
    const known = new Map<string, Turn>();
    const changed = new Set<Turn>();
    let frame: number | null = null;
    const show = () => {
      frame ??= requestAnimationFrame(() => {
        frame = null;
        for (const turn of changed) turn.shown = { ...turn.shown, view: turn.log.view() };
        changed.clear();
        setTurns([...known.values()].map(({ shown }) => shown));
      });
    };
    const read = async () => {
      const { signal } = gone;
      const { onConnection } = connection;
      for await (const event of bridle.events({ sessionId, signal, onConnection })) {
        const { task_id: taskId, id } = event;
        if (taskId === null) continue;
        const turn = known.get(taskId) ?? begin(taskId);
        known.set(taskId, turn);
        turn.log.add(event);
        turn.shown = { ...turn.shown, lastEventId: id };
        changed.add(turn);
        show();
        if (event.event.startsWith("task.") || event.resource.object === "permission_request") {
          void client.invalidateQueries({ queryKey: ["task", taskId] });
        }
      }
    };
    setTurns([]);
    setError(null);
    read().catch((problem: unknown) => {
      endIfRefused(problem);
      if (!gone.signal.aborted) setError(problem);
    });
    return () => {
      gone.abort();
      connection.close();
      if (frame !== null) cancelAnimationFrame(frame);
    };
  }, [client, sessionId]);
  return { turns, error };
}

function begin(taskId: string): Turn {
  const log = new RunLog();
  return { log, shown: { taskId, view: log.view(), lastEventId: "" } };
}
