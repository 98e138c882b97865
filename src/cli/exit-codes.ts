/** What a script can tell from how a command ended. The same for every command; docs/reference/cli.md prints this table. */

import { BridleError, ConnectionFailed, PermissionDenied, Unauthenticated } from "../sdk/client/index.ts";
import { DatabaseUnusable } from "../store/postgres/database-unusable.ts";
import { escapeControls, oneLine } from "./terminal/text.ts";

export const exitCodes = {
  done: { code: 0, meaning: "Done; what was asked about is so." },
  failed: {
    code: 1,
    meaning: "It failed, or the answer is no: a task that failed, a receipt that is not valid.",
  },
  wrongUse: {
    code: 2,
    meaning:
      "The command was called in a way that it does not know, or the database that it was given cannot be used. Nothing was done.",
  },
  noServer: { code: 3, meaning: "No server answered." },
  notAllowed: { code: 4, meaning: "The server does not know the key, or the key may not do this." },
  waits: { code: 5, meaning: "The task that was waited for waits for a person itself." },
  interrupted: { code: 130, meaning: "Ended with Ctrl-C." },
} as const satisfies Record<string, { code: number; meaning: string }>;

export function exitCodeOf(error: unknown): number {
  if (error instanceof ConnectionFailed) return exitCodes.noServer.code;
  if (error instanceof DatabaseUnusable) return exitCodes.wrongUse.code;
  const isDenied = error instanceof Unauthenticated || error instanceof PermissionDenied;
  return isDenied ? exitCodes.notAllowed.code : exitCodes.failed.code;
}

/** The same error for a person, in words that drive no terminal, and for a script. */
export interface Complaint {
  text: string;
  facts: Record<string, unknown>;
}

export function complaintOf(error: unknown): Complaint {
  if (error instanceof BridleError) {
    const { code, message, requestId, docs } = error;
    return { text: inWords(error), facts: { code, message, request_id: requestId, docs } };
  }
  const message = error instanceof Error ? plainMessage(error) : String(error);
  return { text: escapeControls(message), facts: { code: "failed", message } };
}

function inWords(error: BridleError): string {
  const { code, details } = error;
  // One line, whatever a server says: the next ones are ours.
  const message = oneLine(error.message);
  if (error instanceof ConnectionFailed) {
    return `${message} Start a server with \`bridle dev\` or \`bridle serve\`, or say where it is with --url.`;
  }
  // Lists say what there would have been to choose from.
  const known = Object.entries(details).flatMap(([name, value]) =>
    Array.isArray(value) ? [`\n  ${name}: ${value.length === 0 ? "none" : oneLine(value.join(", "))}`] : [],
  );
  return `${message} (${code})${known.join("")}`;
}

function plainMessage(error: Error): string {
  if ("code" in error && error.code === "EADDRINUSE") {
    return `the port is taken (${error.message}). Choose another with --port, or with --harp-port if it is that one.`;
  }
  if ("code" in error && error.code === "EADDRNOTAVAIL") {
    return `this machine has no such address (${error.message}). Choose another with --host.`;
  }
  return fileProblem(error) ?? error.message;
}

const fileProblems: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or directory",
  EEXIST: "there is something of that name already",
  EACCES: "permission denied",
  EISDIR: "it is a directory",
  ENOTDIR: "a part of the path is not a directory",
  ENOSPC: "the disk is full",
  EROFS: "the file system is read-only",
};

/** An error of the operating system about a file, in a sentence. */
export function fileProblem(error: Error): string | null {
  if (!("code" in error && "path" in error && typeof error.path === "string")) return null;
  const problem = fileProblems[String(error.code)];
  return problem === undefined ? null : `${error.path}: ${problem}.`;
}
