import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { ErrorNote } from "../parts/ErrorNote.tsx";
import { text } from "../text.ts";

export function PageFailed({ error, reset }: ErrorComponentProps) {
  return (
    <main className="page">
      <ErrorNote error={error} onRetry={reset} />
    </main>
  );
}

export function NotFound() {
  return (
    <main className="page page--center">
      <div className="empty">
        <h1>{text.error.notFound}</h1>
        <p>{text.error.notFoundHelp}</p>
        <Link to="/runs" search={{}} className="button">
          {text.error.toRuns}
        </Link>
      </div>
    </main>
  );
}
