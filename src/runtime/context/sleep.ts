/** `ctx.sleep`: lasts as long as it says, also when the clock is put back meanwhile. */

import type { StepSpan } from "../../kernel/core/events.ts";
import type { Run } from "../run/run.ts";

export async function sleep(run: Run, ms: number): Promise<void> {
  const span: StepSpan = { step: run.key("sleep"), kind: "sleep", name: `${ms} ms` };
  const recorded = await run.recording.recall(span.step);
  if (recorded?.ended != null) return;
  const { clock } = run.kernel;
  const { id } = run.task;
  const begin = async (end: number) => {
    const at = new Date(end).toISOString();
    await run.recording.note((unit, current) => unit.emit(current, "span.started", { ...span, until: at }));
    return end;
  };
  const begun = recorded?.begun?.event === "span.started" ? recorded.begun.payload.until : undefined;
  let until = begun === undefined ? await begin(clock.now() + ms) : Date.parse(begun);
  let left: number;
  do {
    left = run.sleeps.left(id, span.step, { ms, until });
    if (!run.recording.isReplay && run.sleeps.isLate(until, left)) {
      // Nothing new is recorded before all that was recorded has been asked for.
      await run.recording.resume(span.step);
      until = await begin(clock.now() + left);
    }
    const reason = `sleeps until ${new Date(until).toISOString()}`;
    // Over at its time, or looked at again because the clock was set.
    await run.recording.wait({ key: span.step, kind: "timer", reason, until });
    left = run.sleeps.left(id, span.step, { ms, until });
  } while (left > 0);
  run.sleeps.forget(id, span.step);
  await run.recording.note((unit, current) =>
    unit.emit(current, "span.completed", { ...span, result: { output: { inline: null } } }),
  );
}
