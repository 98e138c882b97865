/** What can be done with a run; what the key may not do is not offered. */

import { Link, useNavigate } from "@tanstack/react-router";
import type { Task } from "bridle/client";
import { DropdownMenu } from "radix-ui";
import { useState } from "react";
import { Confirm } from "../../parts/Confirm.tsx";
import { Icon } from "../../parts/Icon.tsx";
import { ReasonField, reasonIn } from "../../parts/ReasonField.tsx";
import { isFinal } from "../../parts/Status.tsx";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import { text } from "../../text.ts";
import { Crash } from "./Crash.tsx";
import { asClientCode, asCurl, asFixture } from "./copies.ts";
import type { RunView } from "./log.ts";
import { agentOf } from "./words.ts";

type Asking = "cancel" | "fork" | "crash" | null;

export function Actions({ task, view }: { task: Task; view: RunView }) {
  const { session } = useSession();
  const [asking, setAsking] = useState<Asking>(null);
  const [said, setSaid] = useState("");
  const { actions } = text.run;
  const copy = async (value: string) => {
    await navigator.clipboard.writeText(value);
    setSaid(text.copied);
    setTimeout(() => setSaid(""), 2000);
  };
  const mayWrite = may(session, "tasks:write");
  return (
    <div className="actions">
      <span role="status" className="quiet">
        {said}
      </span>
      {session?.can_crash && isTour(task) && !isFinal(task.status) && (
        <button type="button" className="button" onClick={() => setAsking("crash")}>
          {text.run.crashConfirm}
        </button>
      )}
      {mayWrite && !isFinal(task.status) && (
        <button type="button" className="button button--danger" onClick={() => setAsking("cancel")}>
          {actions.cancel}
        </button>
      )}
      {mayWrite && isFinal(task.status) && (
        <Link to="/runs/$taskId/replay" params={{ taskId: task.id }} className="button">
          {actions.replay}
        </Link>
      )}
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger className="button button--icon" aria-label={actions.label}>
          <Icon name="dots" />
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className="menu" align="end" sideOffset={6} collisionPadding={12}>
            {may(session, "sessions:write") && <Item onSelect={() => setAsking("fork")}>{actions.fork}</Item>}
            {session?.can_crash && <Item onSelect={() => setAsking("crash")}>{actions.crash}</Item>}
            <Item onSelect={() => void copy(asCurl(task))}>{actions.curl}</Item>
            <Item onSelect={() => void copy(asClientCode(task))}>{actions.client}</Item>
            <Item onSelect={() => void copy(asFixture(task, view))}>{actions.fixture}</Item>
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      {asking === "cancel" && <CancelDialog task={task} onClose={() => setAsking(null)} />}
      {asking === "crash" && <Crash onClose={() => setAsking(null)} />}
      {asking === "fork" && <ForkDialog task={task} onClose={() => setAsking(null)} />}
    </div>
  );
}

/** The agent that shows what the server does: being killed is part of it. */
function isTour(task: Task): boolean {
  return agentOf(task).name === "tour";
}

function Item({ onSelect, children }: { onSelect(): void; children: string }) {
  return (
    <DropdownMenu.Item className="menu__item" onSelect={onSelect}>
      {children}
    </DropdownMenu.Item>
  );
}

function CancelDialog({ task, onClose }: { task: Task; onClose(): void }) {
  const [reason, setReason] = useState("");
  const act = async () => void (await bridle.tasks.cancel(task.id, reasonIn(reason)));
  return (
    <Confirm
      title={text.run.cancelTitle}
      help={text.run.cancelHelp}
      confirm={text.run.cancelConfirm}
      isDangerous
      act={act}
      onClose={onClose}
    >
      <ReasonField label={text.run.cancelReason} value={reason} onChange={setReason} />
    </Confirm>
  );
}

function ForkDialog({ task, onClose }: { task: Task; onClose(): void }) {
  const navigate = useNavigate();
  const act = async () => {
    const { id } = await bridle.sessions.fork(task.session_id);
    await navigate({ to: "/runs", search: { session: id } });
  };
  return (
    <Confirm
      title={text.run.forkTitle}
      help={text.run.forkHelp}
      confirm={text.run.forkConfirm}
      act={act}
      onClose={onClose}
    />
  );
}
