import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useSession } from "../../server/session.ts";
import "../../styles/operate.css";
import { text } from "../../text.ts";
import { partsFor } from "./parts.ts";

export function OperateFrame({ children }: { children: ReactNode }) {
  const { session } = useSession();
  return (
    <div className="page page--wide operate">
      <nav className="operate__nav" aria-label={text.operate.title}>
        {partsFor(session).map((part) => (
          <Link
            key={part}
            to="/operate/$part"
            params={{ part }}
            search={{}}
            className="operate__link"
            activeProps={{ "aria-current": "page" }}
            activeOptions={{ includeSearch: false }}
          >
            {text.operate.parts[part]}
          </Link>
        ))}
      </nav>
      <main className="operate__main">{children}</main>
    </div>
  );
}
