/** The key goes to the server once; what comes back is a session. A link from the server's terminal needs no key. */

import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { ErrorNote } from "../parts/ErrorNote.tsx";
import { Icon, Mark } from "../parts/Icon.tsx";
import { useTitle } from "../parts/useTitle.ts";
import { queries } from "../server/bridle.ts";
import { signIn, useSession } from "../server/session.ts";
import { text } from "../text.ts";

export function SignIn() {
  useTitle(text.signIn.title);
  const { session, hasEnded } = useSession();
  const { to = "/runs" } = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const router = useRouter();
  const [failure, setFailure] = useState<{ title: string; error: unknown } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const link = useLink();

  useEffect(() => {
    if (session === null) return;
    queries.clear();
    void router.invalidate().then(() => navigate({ to, replace: true }));
  }, [session, navigate, router, to]);

  const enter = async (credential: Parameters<typeof signIn>[0], title: string) => {
    setBusy(true);
    setFailure(null);
    await signIn(credential).catch((error: unknown) => setFailure({ title, error }));
    setBusy(false);
  };
  // Only the first time: a link is good for once.
  const isEntering = useRef(false);
  useEffect(() => {
    if (link === null || isEntering.current) return;
    isEntering.current = true;
    void enter({ link }, text.signIn.linkFailed);
  });

  return (
    <main className="sign-in">
      <div className="sign-in__card">
        <Mark />
        <h1>{text.signIn.title}</h1>
        {hasEnded && failure === null && <p className="note">{text.signIn.ended}</p>}
        {failure !== null && <ErrorNote title={failure.title} error={failure.error} />}
        <KeyForm isBusy={isBusy} onSubmit={(key) => void enter({ key }, text.signIn.failed)} />
        <p className="sign-in__help">{text.signIn.help}</p>
      </div>
    </main>
  );
}

function KeyForm({ isBusy, onSubmit }: { isBusy: boolean; onSubmit(key: string): void }) {
  const [isShown, setShown] = useState(false);
  const [id, introId] = [useId(), useId()];
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get("key");
    if (typeof key === "string" && key.trim() !== "") onSubmit(key.trim());
  };
  return (
    <form onSubmit={submit}>
      <p id={introId}>{text.signIn.intro}</p>
      <div className="field">
        <label htmlFor={id}>{text.signIn.label}</label>
        <div className="field__row">
          <input
            id={id}
            name="key"
            type={isShown ? "text" : "password"}
            autoComplete="off"
            spellCheck={false}
            required
            aria-describedby={introId}
            className="mono"
          />
          <button
            type="button"
            className="button button--icon"
            aria-pressed={isShown}
            aria-label={isShown ? text.signIn.hide : text.signIn.show}
            onClick={() => setShown(!isShown)}
          >
            <Icon name="eye" />
          </button>
        </div>
      </div>
      <button type="submit" className="button button--primary button--wide" disabled={isBusy}>
        {isBusy ? text.signIn.byLink : text.signIn.submit}
      </button>
    </form>
  );
}

/** The code of a sign-in link, taken out of the address before anything else can see it there. */
function useLink(): string | null {
  const [link] = useState(() => {
    const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1] ?? null;
    if (code !== null) history.replaceState(history.state, "", location.pathname + location.search);
    return code;
  });
  return link;
}
