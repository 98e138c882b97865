/** The frames of a protocol beside the conversation that they are about, for people who write clients. */

import type { Task } from "bridle/client";
import { useEffect, useId, useState } from "react";
import { Copy } from "../../parts/Copy.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { LongText } from "../../parts/LongText.tsx";
import { isFinal } from "../../parts/Status.tsx";
import { text } from "../../text.ts";
import { callFor, type FrameProtocol, frameProtocols, framesMax, readFrames } from "./frames.ts";

const words = text.talk.frames;

export default function Frames({ task }: { task: Task }) {
  const [protocol, setProtocol] = useState<FrameProtocol>("harn");
  const [frames, setFrames] = useState<readonly string[]>([]);
  const [error, setError] = useState<unknown>(null);
  const id = useId();
  const isOver = isFinal(task.status);
  const call = callFor(protocol, task.id, isOver);
  useEffect(() => {
    const gone = new AbortController();
    const read = async () => {
      for await (const frame of readFrames(callFor(protocol, task.id, isOver), gone.signal)) {
        setFrames((before) => [...before, frame].slice(-framesMax));
      }
    };
    setFrames([]);
    setError(null);
    read().catch((problem: unknown) => {
      if (!gone.signal.aborted) setError(problem);
    });
    return () => gone.abort();
  }, [protocol, task.id, isOver]);
  return (
    <div className="frames">
      <div className="field">
        <label htmlFor={id}>{words.protocol}</label>
        <select
          id={id}
          value={protocol}
          onChange={({ target }) => setProtocol(frameProtocols.find((one) => one === target.value) ?? "harn")}
        >
          {frameProtocols.map((one) => (
            <option key={one} value={one}>
              {words.names[one]}
            </option>
          ))}
        </select>
      </div>
      <pre className="frames__call" tabIndex={0}>
        {call.shown}
      </pre>
      {error !== null && <ErrorNote error={error} />}
      <ol className="frames__list" tabIndex={0} aria-label={words.title}>
        {frames.map((frame, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: frames have the order in which they came
          <li key={n} className="frames__frame">
            <pre>
              <LongText value={frame} />
            </pre>
            <Copy value={frame} label={words.copy} />
          </li>
        ))}
      </ol>
    </div>
  );
}
