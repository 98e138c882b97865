/** What went wrong, in the server's own words, with what support needs to find it. */

import { BridleError } from "bridle/client";
import { SignInFailed } from "../server/session.ts";
import { text } from "../text.ts";

export function ErrorNote({
  error,
  onRetry,
  title = text.error.title,
}: {
  error: unknown;
  onRetry?: () => void;
  title?: string;
}) {
  const message = error instanceof Error ? error.message : String(error);
  const requestId = error instanceof BridleError || error instanceof SignInFailed ? error.requestId : null;
  return (
    <div className="note note--error" role="alert">
      <strong>{title}</strong>
      <p>{message}</p>
      {requestId !== null && <p className="note__id mono">{text.requestId(requestId)}</p>}
      {onRetry !== undefined && (
        <button type="button" className="button" onClick={onRetry}>
          {text.retry}
        </button>
      )}
    </div>
  );
}
