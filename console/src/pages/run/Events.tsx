/** The log itself, as programs get it. */

import { useVirtualizer } from "@tanstack/react-virtual";
import type { BridleEvent } from "bridle/client";
import { useDeferredValue, useId, useMemo, useRef, useState } from "react";
import { Json } from "../../parts/Json.tsx";
import { text } from "../../text.ts";
import { stringIn } from "./words.ts";

const rowPx = 34;
const exact = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hour12: false,
});

export default function Events({ events }: { events: readonly BridleEvent[] }) {
  const [filter, setFilter] = useState("");
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const wanted = useDeferredValue(filter.trim().toLowerCase());
  const shown = useMemo(
    () =>
      wanted === "" ? events : events.filter((event) => JSON.stringify(event).toLowerCase().includes(wanted)),
    [events, wanted],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    getItemKey: (n) => shown[n]?.id ?? n,
    overscan: 10,
  });
  const id = useId();
  const toggle = (key: string) => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <div className="events">
      <div className="events__filter">
        <div className="field">
          <label htmlFor={id}>{text.run.eventFilter}</label>
          <input
            id={id}
            type="search"
            value={filter}
            placeholder={text.run.eventFilterHint}
            onChange={({ target }) => setFilter(target.value)}
          />
        </div>
        <p className="quiet" role="status">
          {text.run.eventsShown(shown.length, events.length)}
        </p>
      </div>
      <div
        className="events__list"
        ref={scroller}
        tabIndex={0}
        role="region"
        aria-label={text.run.tabs.events}
      >
        <div className="events__all" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start, key }) => {
            const event = shown[index];
            if (event === undefined) return null;
            return (
              <Row
                key={key}
                index={index}
                start={start}
                measure={rows.measureElement}
                event={event}
                isOpen={open.has(event.id)}
                onToggle={() => toggle(event.id)}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  index: number;
  start: number;
  measure(element: HTMLElement | null): void;
  event: BridleEvent;
  isOpen: boolean;
  onToggle(): void;
}

function Row({ index, start, measure, event, isOpen, onToggle }: RowProps) {
  return (
    <div data-index={index} ref={measure} className="event" style={{ transform: `translateY(${start}px)` }}>
      <button type="button" className="event__row" aria-expanded={isOpen} onClick={onToggle}>
        <time dateTime={event.created_at}>{exact.format(new Date(event.created_at))}</time>
        <span className="event__name">{event.event}</span>
        <span className="event__about">{aboutOf(event)}</span>
      </button>
      {isOpen && (
        <div className="event__json">
          <Json value={event} open={3} />
        </div>
      )}
    </div>
  );
}

function aboutOf({ payload, resource }: BridleEvent): string {
  const word = stringIn(payload, "step") ?? stringIn(payload, "to") ?? stringIn(payload, "name");
  if (word !== null) return word;
  return resource.object === "task" ? "" : resource.id;
}
