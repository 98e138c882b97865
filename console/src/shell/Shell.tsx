/** What surrounds every page: where to go, who one is, and whether the server is there. */

import { Link, Outlet, useNavigate, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { Icon, type IconName, Mark } from "../parts/Icon.tsx";
import { may, useSession } from "../server/session.ts";
import { text } from "../text.ts";
import { Account } from "./Account.tsx";
import { ConnectionBanner } from "./ConnectionBanner.tsx";

type PagePath = "/runs" | "/talk" | "/approvals" | "/receipts" | "/keys" | "/operate";

const pages: readonly { to: PagePath; icon: IconName; label: string; scope?: string }[] = [
  { to: "/runs", icon: "runs", label: text.pages.runs },
  { to: "/talk", icon: "talk", label: text.pages.talk },
  { to: "/approvals", icon: "approve", label: text.pages.approvals },
  { to: "/receipts", icon: "receipt", label: text.pages.receipts },
  { to: "/keys", icon: "key", label: text.pages.keys, scope: "api_keys:read" },
  { to: "/operate", icon: "operate", label: text.pages.operate },
];

export function Shell() {
  const { session } = useSession();
  const navigate = useNavigate();
  const router = useRouter();
  useEffect(() => {
    if (session !== null) return;
    void navigate({ to: "/sign-in", search: { to: router.state.location.href } });
  }, [session, navigate, router]);
  if (session === null) return null;
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {text.skip}
      </a>
      <header className="shell__bar">
        <Link to="/runs" search={{}} className="shell__mark" aria-label={text.product}>
          <Mark />
          <span>{text.product}</span>
        </Link>
        <nav className="shell__nav" aria-label={text.navigation}>
          {pages
            .filter(({ scope }) => scope === undefined || may(session, scope))
            .map(({ to, icon, label }) => (
              <Link
                key={to}
                to={to}
                search={{}}
                className="shell__link"
                activeProps={{ "aria-current": "page" }}
              >
                <Icon name={icon} />
                <span>{label}</span>
              </Link>
            ))}
        </nav>
        <Account session={session} />
      </header>
      <div className="shell__page">
        <ConnectionBanner />
        <div id="content" tabIndex={-1} className="shell__content">
          <Outlet />
        </div>
      </div>
    </div>
  );
}
