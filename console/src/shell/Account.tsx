/** Who is signed in, with which rights, and the way out. */

import { Popover } from "radix-ui";
import { useId, useState } from "react";
import { Icon } from "../parts/Icon.tsx";
import { Time } from "../parts/Time.tsx";
import { type Session, signOut } from "../server/session.ts";
import { text } from "../text.ts";
import { chooseTheme, chosenTheme, themes } from "./theme.ts";

export function Account({ session }: { session: Session }) {
  return (
    <Popover.Root>
      <Popover.Trigger className="account" data-initial={session.actor.slice(0, 1).toUpperCase()}>
        <span className="hidden">{text.account.label}: </span>
        <span className="account__name">{session.actor}</span>
        <Icon name="chevron" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className="popover"
          align="end"
          sideOffset={8}
          collisionPadding={12}
          aria-label={text.account.label}
        >
          <Facts session={session} />
          <ThemeChoice />
          <button type="button" className="button button--wide" onClick={() => void signOut()}>
            {text.account.signOut}
          </button>
          <p className="popover__note">{text.account.version(session.version)}</p>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

function Facts({ session }: { session: Session }) {
  const bounds = [session.workspace_ids, session.agent_names, session.persona_ids].flatMap(
    (ids) => ids ?? [],
  );
  return (
    <dl className="facts facts--stacked">
      <div>
        <dt>{text.account.signedInAs}</dt>
        <dd>{session.actor}</dd>
      </div>
      <div>
        <dt>{text.account.rights}</dt>
        <dd>
          {session.scopes.includes("admin") ? (
            text.account.everything
          ) : (
            <ul className="scopes">
              {session.scopes.map((scope) => (
                <li key={scope}>
                  <code>{scope}</code>
                </li>
              ))}
            </ul>
          )}
        </dd>
      </div>
      {bounds.length > 0 && (
        <div>
          <dt>{text.account.boundTo}</dt>
          <dd className="mono">{bounds.join(", ")}</dd>
        </div>
      )}
      <div>
        <dt>{text.account.tenant}</dt>
        <dd className="mono">{session.tenant_id}</dd>
      </div>
      {session.expires_at !== null && (
        <div>
          <dt>{text.account.expires}</dt>
          <dd>
            <Time at={session.expires_at} />
          </dd>
        </div>
      )}
    </dl>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme);
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{text.theme.label}</label>
      <select
        id={id}
        value={theme}
        onChange={({ target }) => {
          const next = themes.find((one) => one === target.value) ?? "auto";
          chooseTheme(next);
          setTheme(next);
        }}
      >
        {themes.map((one) => (
          <option key={one} value={one}>
            {text.theme[one]}
          </option>
        ))}
      </select>
    </div>
  );
}
