/**
 * Fold the older turns of a session away: its transcript then begins with the last N turns, its summary stands for the
 * rest. Nothing is deleted and no task is touched: messages, events and artifacts stay where they are, and the session
 * says where that is. What stands before the first turn (a system prompt, say) is no part of any turn and stays.
 */

import type { Position, TenantStore } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { eventId } from "../core/events.ts";
import { readLog } from "../core/log-tail.ts";
import {
  type Compaction,
  compactedArtifactsMax,
  cutRanges,
  rangesAfter,
  type SessionRecord,
  type TranscriptRange,
} from "../kinds/session.ts";
import { unfinished } from "../tasks/lifecycle.ts";
import { openSession } from "../tasks/submit-task.ts";
import { walkTranscript } from "./transcript.ts";

export interface CompactSession {
  sessionId: string;
  keepLast: number;
  summary?: string | undefined;
}

export interface CompactResult {
  compactedTurnCount: number;
  keptTurnCount: number;
  session: SessionRecord;
}

export const compactSession: Command<CompactSession, CompactResult> = {
  name: "compact_session",
  scope: "sessions:write",
  decide(unit, { sessionId, keepLast, summary }) {
    const session = openSession(unit, sessionId);
    const head = unit.head();
    const fold = unit.awaited("fold", () => findFold(unit.own, session, keepLast, head));
    if (fold.turnCount === 0) return { compactedTurnCount: 0, keptTurnCount: fold.keptCount, session };
    const found = cutRanges(rangesAfter(session.ranges, fold.from - 1), fold.through);
    const { eventCount, artifactIds, last } = unit.awaited("contents", () => contentsOf(unit.own, found));
    const ranges = cutRanges(found, last);
    const counts = {
      turn_count: fold.turnCount,
      message_count: fold.messageCount,
      event_count: eventCount,
      artifact_count: artifactIds.length,
    };
    const compaction: Compaction = {
      compacted_at: unit.at,
      from_event_id: eventId(fold.from),
      through_event_id: eventId(last),
      ...counts,
      artifact_ids: artifactIds.slice(0, compactedArtifactsMax),
      summary: summary ?? sentenceOf(counts),
      ranges,
    };
    const left = [...cutRanges(session.ranges, fold.after), ...rangesAfter(session.ranges, last)];
    const compacted = unit.emit(session, "session.compacted", { compaction, ranges: left });
    return { compactedTurnCount: fold.turnCount, keptTurnCount: fold.keptCount, session: compacted };
  },
};

/** What goes: everything after `after` up to and including `through`, `from` being its first message. */
interface Fold {
  after: Position;
  from: Position;
  through: Position;
  turnCount: number;
  messageCount: number;
  keptCount: number;
}

/** Turns that a task still works in stay, and those after them. */
async function findFold(
  own: TenantStore,
  session: SessionRecord,
  keepLast: number,
  head: Position,
): Promise<Fold> {
  const [oldest] = await own.list({
    kind: "task",
    by: { sessionId: session.id },
    statuses: unfinished,
    order: "oldest_first",
    limit: 1,
  });
  const busyFrom = oldest?.born ?? Number.POSITIVE_INFINITY;
  const starts: Position[] = [];
  const messages: Position[] = [];
  let after = 0;
  for await (const { message, position } of walkTranscript(own, cutRanges(session.ranges, head))) {
    if (message.role === "user") starts.push(position);
    if (starts.length === 0) after = position;
    else messages.push(position);
  }
  // The turn of a task is the last one that had started when it was submitted.
  const idleCount = starts.filter((_, index) => (starts[index + 1] ?? head + 1) <= busyFrom).length;
  const turnCount = Math.max(0, Math.min(starts.length - keepLast, idleCount));
  const next = starts[turnCount];
  const through = next === undefined ? head : next - 1;
  return {
    after,
    from: starts[0] ?? 0,
    through,
    turnCount,
    messageCount: messages.filter((position) => position <= through).length,
    keptCount: starts.length - turnCount,
  };
}

async function contentsOf(
  own: TenantStore,
  ranges: readonly TranscriptRange[],
): Promise<{ eventCount: number; artifactIds: string[]; last: Position }> {
  let eventCount = 0;
  let last = 0;
  const artifactIds: string[] = [];
  for (const { session_id, after, through } of ranges) {
    for await (const events of readLog(own, { sessionId: session_id, after })) {
      const inside = events.filter(({ position }) => through === null || position <= through);
      eventCount += inside.length;
      last = inside.at(-1)?.position ?? last;
      for (const { event, resource } of inside) {
        if (event === "artifact.created") artifactIds.push(resource.id);
      }
      if (inside.length < events.length) break;
    }
  }
  return { eventCount, artifactIds, last };
}

function sentenceOf(counts: Pick<Compaction, "turn_count" | "message_count" | "artifact_count">): string {
  const number = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;
  const { turn_count, message_count, artifact_count } = counts;
  return `${number(turn_count, "earlier turn")} with ${number(message_count, "message")} and ${number(artifact_count, "artifact")}.`;
}
