/** What an operator looks after, part by part. */

import { getRouteApi } from "@tanstack/react-router";
import { type ComponentType, lazy, Suspense } from "react";
import { useTitle } from "../../parts/useTitle.ts";
import { useSession } from "../../server/session.ts";
import { NotFound } from "../../shell/failed.tsx";
import { text } from "../../text.ts";
import { OperateFrame } from "./OperateFrame.tsx";
import { type OperatePart, partsFor } from "./parts.ts";

const pages: Record<OperatePart, ComponentType> = {
  overview: lazy(() => import("./Overview.tsx")),
  personas: lazy(() => import("./Personas.tsx")),
  schedules: lazy(() => import("./Schedules.tsx")),
  quotas: lazy(() => import("./Quotas.tsx")),
  connectors: lazy(() => import("./Connectors.tsx")),
  vaults: lazy(() => import("./Vaults.tsx")),
  audit: lazy(() => import("./Audit.tsx")),
};

const route = getRouteApi("/inside/operate/$part");

export function Operate() {
  const { part: named } = route.useParams();
  const { session } = useSession();
  const part = partsFor(session).find((one) => one === named);
  useTitle(part === undefined ? text.operate.title : text.operate.parts[part]);
  if (part === undefined) return <NotFound />;
  const Page = pages[part];
  return (
    <OperateFrame>
      <Suspense fallback={<p className="quiet">{text.loading}</p>}>
        <Page />
      </Suspense>
    </OperateFrame>
  );
}
