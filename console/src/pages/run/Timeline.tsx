/** Every step, with when it ran: a bar from its beginning to its end, on the time of the whole run. */

import { Link } from "@tanstack/react-router";
import type { Task } from "bridle/client";
import { memo, useState } from "react";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Json } from "../../parts/Json.tsx";
import { LongText, printable } from "../../parts/LongText.tsx";
import { isFinal } from "../../parts/Status.tsx";
import { duration, useNow } from "../../parts/Time.tsx";
import { text } from "../../text.ts";
import type { RunView, Step } from "./log.ts";
import { useRunView } from "./useRun.ts";
import { usd } from "./words.ts";

export function Timeline({ task, view }: { task: Task; view: RunView }) {
  const now = useNow();
  const steps = [...view.steps.values()];
  if (steps.length === 0) {
    return (
      <Empty title={text.run.noSteps}>
        <p>{text.run.noStepsHelp}</p>
      </Empty>
    );
  }
  const ended = isFinal(task.status) ? (task.completed_at ?? task.canceled_at) : null;
  const from = Date.parse(task.started_at ?? task.created_at);
  const to = Math.max(from + 1, ended === null ? now : Date.parse(ended));
  return (
    <ol className="steps" aria-label={text.run.tabs.timeline}>
      {steps.map((step) => (
        <StepRow
          key={step.key}
          step={step}
          from={from}
          to={step.endedAt === null || ended !== null ? to : Math.round(to / 1000) * 1000}
        />
      ))}
    </ol>
  );
}

const StepRow = memo(function StepRow({ step, from, to }: { step: Step; from: number; to: number }) {
  const [isOpen, setOpen] = useState(false);
  const begin = Date.parse(step.startedAt);
  const end = step.endedAt === null ? to : Date.parse(step.endedAt);
  const percent = (ms: number) => Math.min(100, Math.max(0, (ms / (to - from)) * 100));
  const state = step.state === "done" ? "" : text.run[step.state];
  return (
    <li className={`step step--${step.state}`}>
      <button type="button" className="step__row" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className={`step__kind step__kind--${step.kind}`}>{step.kind}</span>
        <span className="step__name">
          <bdi>{step.name}</bdi>
          {state !== "" && <span className="step__state"> {state}</span>}
        </span>
        <span className="step__track" aria-hidden="true">
          <span
            className="step__bar"
            style={{ marginInlineStart: `${percent(begin - from)}%`, width: `${percent(end - begin)}%` }}
          />
        </span>
        <span className="step__took">{duration(end - begin)}</span>
      </button>
      {isOpen && (
        <>
          <Details step={step} />
          {step.childId !== null && <ChildSteps id={step.childId} from={from} to={to} />}
        </>
      )}
    </li>
  );
});

/** The steps of a child, on the time of the run that it belongs to. Read when somebody opens it. */
function ChildSteps({ id, from, to }: { id: string; from: number; to: number }) {
  const { view, error } = useRunView(id);
  if (error !== null) return <ErrorNote error={error} />;
  return (
    <ol className="steps steps--child" aria-label={`${text.run.child} ${id}`}>
      {[...view.steps.values()].map((step) => (
        <StepRow key={step.key} step={step} from={from} to={to} />
      ))}
    </ol>
  );
}

function Details({ step }: { step: Step }) {
  const { model } = step;
  return (
    <div className="step__details">
      {model !== null && (
        <p>
          {text.run.stepModel}: <code>{model.name ?? text.none}</code>,{" "}
          {text.run.tokens(model.inputTokens, model.outputTokens)}
          {model.usd !== null && `, ${usd(model.usd)}`}
        </p>
      )}
      {step.childId !== null && (
        <p>
          {text.run.child}:{" "}
          <Link to="/runs/$taskId" params={{ taskId: step.childId }} search={{}} className="mono">
            {step.childId}
          </Link>
        </p>
      )}
      {step.kind === "handoff" && (
        <p>
          {text.run.handedTo}: <Away address={step.name} />
        </p>
      )}
      {step.input !== undefined && (
        <section>
          <h3>{text.run.stepInput}</h3>
          <Json value={step.input} open={3} />
        </section>
      )}
      {step.error !== null && (
        <section>
          <h3>{text.run.stepError}</h3>
          <p>
            <code>{step.error.code}</code> <LongText value={step.error.message} />
          </p>
        </section>
      )}
      {step.output !== undefined && (
        <section>
          <h3>{text.run.stepOutput}</h3>
          <Json value={step.output} open={3} />
        </section>
      )}
      <p className="quiet mono">{step.key}</p>
    </div>
  );
}

/** Another server, or a persona of this one. */
function Away({ address }: { address: string }) {
  if (!/^https?:\/\//i.test(address)) return <code>{printable(address)}</code>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow" className="mono">
      {printable(address)}
    </a>
  );
}
