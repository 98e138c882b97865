/** Who is signed in. The key itself is only ever in the sign-in request; the session's cookie is out of reach of scripts. */

import { Unauthenticated } from "bridle/client";
import { useSyncExternalStore } from "react";

export interface Session {
  actor: string;
  key_id: string | null;
  tenant_id: string;
  scopes: string[];
  workspace_ids: string[] | null;
  agent_names: string[] | null;
  persona_ids: string[] | null;
  expires_at: string | null;
  version: string;
  can_crash: boolean;
}

/** The half of the session that this origin keeps: it opens nothing without the cookie. */
const storageName = "bridle.console.session";
/** Who it is and with which rights, for when there is no connection. Nothing of it opens anything. */
const whoName = "bridle.console.who";
export const sessionHeader = "Bridle-Console-Session";

type State = { session: Session | null; hasEnded: boolean };

let state: State = { session: null, hasEnded: false };
const listeners = new Set<() => void>();

function become(next: State): void {
  state = next;
  if (next.session === null) localStorage.removeItem(whoName);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useSession(): State {
  return useSyncExternalStore(subscribe, () => state);
}

export function currentSession(): Session | null {
  return state.session;
}

/** `admin` may do everything that a page offers. */
export function may(session: Session | null, scope: string): boolean {
  return session !== null && (session.scopes.includes("admin") || session.scopes.includes(scope));
}

export function sessionHeaders(): Record<string, string> {
  const kept = localStorage.getItem(storageName);
  return kept === null ? {} : { [sessionHeader]: kept };
}

/** For the client of the project: the session in place of the key. */
export const sessionFetch: typeof fetch = async (input, init) => {
  const headers = new Headers(init?.headers);
  headers.delete("Authorization");
  for (const [name, value] of Object.entries(sessionHeaders())) headers.set(name, value);
  const response = await fetch(input, { ...init, headers, credentials: "same-origin" });
  if (response.status === 401 && state.session !== null) become({ session: null, hasEnded: true });
  return response;
};

/** A stream that is open is told in the stream itself that its key has ended. */
export function endIfRefused(error: unknown): void {
  if (error instanceof Unauthenticated && state.session !== null) become({ session: null, hasEnded: true });
}

export class SignInFailed extends Error {
  readonly requestId: string | null;

  constructor(message: string, requestId: string | null) {
    super(message);
    this.requestId = requestId;
  }
}

async function call(path: string, init: RequestInit): Promise<Response> {
  const headers = {
    ...sessionHeaders(),
    ...(init.body == null ? {} : { "Content-Type": "application/json" }),
  };
  return await fetch(path, { ...init, headers, credentials: "same-origin" });
}

export async function signIn(credential: { key: string } | { link: string }): Promise<void> {
  const response = await call("/console/sign-in", { method: "POST", body: JSON.stringify(credential) });
  const body = await response.json();
  if (!response.ok) {
    throw new SignInFailed(
      String(body?.error?.message ?? response.statusText),
      body?.error?.request_id ?? null,
    );
  }
  const { session: kept, ...session } = body;
  localStorage.setItem(storageName, String(kept));
  become({ session: remembered(session), hasEnded: false });
}

function remembered(session: Session): Session {
  localStorage.setItem(whoName, JSON.stringify(session));
  return session;
}

/** The session of an earlier visit, if it is still good. */
export async function restoreSession(): Promise<void> {
  if (localStorage.getItem(storageName) === null) return;
  let response: Response;
  try {
    response = await call("/console/session", {});
  } catch (error) {
    // Without a connection the pages are those of whoever was here before. The server decides what they may see.
    const known = localStorage.getItem(whoName);
    if (known !== null) become({ session: JSON.parse(known), hasEnded: false });
    throw error;
  }
  if (response.ok) become({ session: remembered(await response.json()), hasEnded: false });
  else if (response.status === 401) become({ session: null, hasEnded: true });
}

/** Ends the server on the spot. It starts again by itself. */
export async function crashServer(): Promise<void> {
  const response = await call("/console/crash", { method: "POST" });
  if (!response.ok) throw new Error((await response.json())?.error?.message ?? response.statusText);
}

export async function signOut(): Promise<void> {
  await call("/console/sign-out", { method: "POST" });
  localStorage.removeItem(storageName);
  become({ session: null, hasEnded: false });
}
