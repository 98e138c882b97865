/** What the page of the test shows: a chat by `useChat` of the AI SDK, and the same by the hooks of `bridle/react`. */

import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";
import { createClient } from "bridle/client";
import { useApprovals, useSession, useTask } from "bridle/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const { url, key, session, agent, view } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function Chat({ first }: { first: UIMessage[] }) {
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    messages: first,
    resume: true,
    transport: new DefaultChatTransport({
      api: `${url}/v1/sessions/${session}/ui`,
      headers: { Authorization: `Bearer ${key}` },
      body: { agent },
    }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return (
    <main>
      {messages.map((message) => (
        <section key={message.id} className={message.role}>
          {message.parts.map((part, n) => {
            const at = `${message.id} ${n}`;
            if (part.type === "text") return <p key={at}>{part.text}</p>;
            if (part.type !== "dynamic-tool") return null;
            if (part.state !== "approval-requested")
              return <i key={at}>{`${part.toolName} ${part.state}`}</i>;
            const { id } = part.approval;
            const answer = (approved: boolean) => addToolApprovalResponse({ id, approved });
            return (
              <button key={at} type="button" onClick={() => answer(true)}>
                Approve {String(Object(part.input).action)}
              </button>
            );
          })}
        </section>
      ))}
      <Say send={(text) => sendMessage({ text })} />
      <output>{error === undefined ? status : `error: ${error.message}`}</output>
    </main>
  );
}

const client = createClient({ url: url ?? "", key: key ?? "" });

function Hooks() {
  const talk = useSession(client, { ...(agent === undefined ? {} : { agent }) });
  const { pending, approve } = useApprovals(
    client,
    talk.sessionId === null ? {} : { sessionId: talk.sessionId },
  );
  const { task, events } = useTask(client, talk.task?.id ?? null);
  return (
    <main>
      {talk.messages.map(({ id, role, parts }) => (
        <p key={id} className={role}>
          {parts.map((part) => ("text" in part ? String(part.text) : "")).join("")}
        </p>
      ))}
      <p id="writing">{talk.text}</p>
      {pending.map(({ id, action }) => (
        <button key={id} type="button" onClick={() => approve(id)}>
          Approve {String(action)}
        </button>
      ))}
      <Say send={(text) => talk.send(text)} />
      <output>{`${talk.status} ${task?.status ?? "none"} ${events.at(-1)?.event ?? "none"} ${talk.error?.message ?? ""}`}</output>
    </main>
  );
}

function Say({ send }: { send: (text: string) => void }) {
  const [text, setText] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send(text);
        setText("");
      }}
    >
      <input aria-label="Say" value={text} onChange={(event) => setText(event.target.value)} />
    </form>
  );
}

const root = createRoot(document.querySelector("#root") ?? document.body);
if (view === "hooks") root.render(<Hooks />);
else {
  const headers = { Authorization: `Bearer ${key}` };
  const answer = await fetch(`${url}/v1/sessions/${session}/ui`, { headers });
  root.render(<Chat first={(await answer.json()).messages} />);
}
