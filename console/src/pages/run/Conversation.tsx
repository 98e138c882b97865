/** What was said, in order, and what is asked now. */

import type { Message, Task } from "bridle/client";
import { lazy, Suspense } from "react";
import { Json } from "../../parts/Json.tsx";
import { LongText } from "../../parts/LongText.tsx";
import { Payload } from "../../parts/Payload.tsx";
import { isRedacted } from "../../parts/redacted.ts";
import { Time } from "../../parts/Time.tsx";
import { text } from "../../text.ts";
import { Approval } from "./Approval.tsx";
import type { RunView, Said } from "./log.ts";
import { Question } from "./Question.tsx";
import { isRecord } from "./words.ts";

const Markdown = lazy(() => import("../../parts/Markdown.tsx"));

type Part = Message["parts"][number];

export function Conversation({ task, view }: { task: Task; view: RunView }) {
  const input = inputParts(task.input);
  const summary = task.failure?.message;
  return (
    <ol className="talk" aria-label={text.run.tabs.conversation}>
      {!isInLog(task, view) && (
        <Turn who={text.run.you} at={task.created_at} side="user">
          <Parts parts={input} />
        </Turn>
      )}
      {view.said.map((said) => (
        <SaidItem key={said.id} said={said} task={task} view={view} />
      ))}
      {summary !== undefined && (
        <Turn who={text.status.FAILED} at={task.completed_at ?? task.updated_at} side="failed">
          <p>
            <code>{task.failure?.code}</code> <LongText value={summary} />
          </p>
        </Turn>
      )}
      {task.waiting_for?.kind === "input" && <Question key={task.waiting_for.description} task={task} />}
    </ol>
  );
}

function SaidItem({ said, task, view }: { said: Said; task: Task; view: RunView }) {
  switch (said.type) {
    case "message":
      return <MessageTurn message={said.message} at={said.at} />;
    case "question":
      // The one that is open has a form at the end.
      return said.isOpen && task.waiting_for?.kind === "input" ? null : (
        <Turn who={text.run.question} at={said.at} side="agent">
          <LongText value={said.prompt} />
        </Turn>
      );
    case "approval":
      return <Approval request={said.request} at={said.at} />;
    case "writing": {
      const step = view.steps.get(said.step);
      if (step === undefined) return null;
      const isWriting = step.endedAt === null;
      return (
        <Turn
          who={text.run.agentSays}
          at={said.at}
          side="agent"
          note={isWriting ? text.run.writing : undefined}
        >
          {isWriting ? <LongText value={step.text} /> : <Rich value={step.text} />}
        </Turn>
      );
    }
  }
}

export function MessageTurn({ message, at }: { message: Message; at: string }) {
  const who = {
    user: text.run.you,
    assistant: text.run.agentSays,
    agent: text.run.agentSays,
    system: text.run.system,
    tool: text.run.tool,
  }[message.role];
  return (
    <Turn who={who} at={at} side={message.role === "user" ? "user" : "agent"}>
      <Parts parts={message.parts} />
    </Turn>
  );
}

interface TurnProps {
  who: string;
  at: string;
  side: "user" | "agent" | "failed" | "asks";
  note?: string | undefined;
  children: React.ReactNode;
}

export function Turn({ who, at, side, note, children }: TurnProps) {
  return (
    <li className={`turn turn--${side}`}>
      <p className="turn__head">
        <strong>{who}</strong> {note !== undefined && <em>{note}</em>}
        <Time at={at} />
      </p>
      <div className="turn__body">{children}</div>
    </li>
  );
}

export function Parts({ parts }: { parts: readonly Part[] }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: a message has its parts in order, for good
  return parts.map((part, n) => <PartView key={n} part={part} />);
}

function PartView({ part }: { part: Part }) {
  if (isRedacted(part)) return <p className="quiet">{text.run.redacted}</p>;
  if ("text" in part && typeof part.text === "string") return <Rich value={part.text} />;
  return "value" in part ? <Payload value={part.value} /> : <Json value={part} />;
}

/** Markdown is loaded when there is something to be shown in it. */
function Rich({ value }: { value: string }) {
  if (!/[*_`#|>[\n-]/.test(value)) return <LongText value={value} />;
  return (
    <Suspense fallback={<LongText value={value} />}>
      <Markdown value={value} />
    </Suspense>
  );
}

/** A message that a task was given is told by its own event as well. */
function isInLog({ input }: Task, { said }: RunView): boolean {
  return isRecord(input) && said.some((one) => one.type === "message" && one.message.id === input.id);
}

function inputParts(input: Task["input"]): readonly Part[] {
  if (isRecord(input) && Array.isArray(input.parts)) return input.parts as Part[];
  return [{ type: "json", value: input, visibility: "public" } as Part];
}
