/** J and K walk through the requests, A and D go to their buttons; Enter decides, so that no slip of a finger does. */

import { type RefObject, useEffect } from "react";

export function useKeys(list: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      const isTyping =
        target instanceof HTMLElement && target.closest("input, textarea, select, dialog") !== null;
      if (isTyping || ctrlKey || metaKey || altKey) return;
      const requests = [...(list.current?.querySelectorAll<HTMLElement>("[data-request]") ?? [])];
      const at = requests.findIndex((request) => request.contains(document.activeElement));
      const goTo = (element: HTMLElement | null | undefined) => {
        if (element == null) return;
        event.preventDefault();
        element.focus();
        element.scrollIntoView({ block: "nearest" });
      };
      if (key === "j") goTo(requests[Math.min(at + 1, requests.length - 1)]);
      else if (key === "k") goTo(requests[Math.max(at - 1, 0)]);
      else if (key === "a") goTo(requests[at]?.querySelector<HTMLElement>("[data-approve]"));
      else if (key === "d") goTo(requests[at]?.querySelector<HTMLElement>("[data-deny]"));
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [list]);
}
