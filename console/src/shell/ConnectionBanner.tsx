import { useBrokenSince } from "../server/connection.ts";
import { text } from "../text.ts";

export function ConnectionBanner() {
  const since = useBrokenSince();
  return (
    <div role="status" aria-live="polite">
      {since !== null && (
        <p className="banner">
          {text.connection.offline(
            since.toLocaleTimeString("en", {
              hour: "2-digit",
              minute: "2-digit",
              second: "2-digit",
              hour12: false,
            }),
          )}
        </p>
      )}
    </div>
  );
}
