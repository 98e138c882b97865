/** Every page has an address, so that what somebody sees can be sent to somebody else. Pages are loaded when they are opened. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { readAuditFilters } from "./pages/operate/audit-filters.ts";
import { readRunTab } from "./pages/run/tabs.ts";
import { readRunFilters } from "./pages/runs/filters.ts";
import { currentSession } from "./server/session.ts";
import { NotFound, PageFailed } from "./shell/failed.tsx";
import { Shell } from "./shell/Shell.tsx";

const root = createRootRoute({ notFoundComponent: NotFound });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: ({ to }: Record<string, unknown>): { to?: string } => (isPath(to) ? { to } : {}),
  component: lazyRouteComponent(() => import("./pages/SignIn.tsx"), "SignIn"),
});

/** Everything for which one has to be signed in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  errorComponent: PageFailed,
  beforeLoad({ location }) {
    if (currentSession() !== null) return;
    const isLink = location.hash.startsWith("login=");
    throw redirect({
      to: "/sign-in",
      ...(isLink ? { hash: location.hash } : {}),
      search: location.pathname === "/" ? {} : { to: location.href },
    });
  },
});

const home = createRoute({
  getParentRoute: () => inside,
  path: "/",
  beforeLoad() {
    throw redirect({ to: "/runs", search: {} });
  },
});

const runs = createRoute({
  getParentRoute: () => inside,
  path: "/runs",
  validateSearch: readRunFilters,
  component: lazyRouteComponent(() => import("./pages/runs/Runs.tsx"), "Runs"),
});

const run = createRoute({
  getParentRoute: () => inside,
  path: "/runs/$taskId",
  validateSearch: readRunTab,
  component: lazyRouteComponent(() => import("./pages/run/Run.tsx"), "Run"),
});

const replay = createRoute({
  getParentRoute: () => inside,
  path: "/runs/$taskId/replay",
  component: lazyRouteComponent(() => import("./pages/replay/Replay.tsx"), "Replay"),
});

const talk = createRoute({
  getParentRoute: () => inside,
  path: "/talk",
  validateSearch: ({ agent }: Record<string, unknown>): { agent?: string } =>
    typeof agent === "string" ? { agent } : {},
  component: lazyRouteComponent(() => import("./pages/talk/Talk.tsx"), "Talk"),
});

const conversation = createRoute({
  getParentRoute: () => inside,
  path: "/talk/$sessionId",
  component: lazyRouteComponent(() => import("./pages/talk/TalkSession.tsx"), "TalkSession"),
});

const receipts = createRoute({
  getParentRoute: () => inside,
  path: "/receipts",
  component: lazyRouteComponent(() => import("./pages/receipts/Receipts.tsx"), "Receipts"),
});

const chain = createRoute({
  getParentRoute: () => inside,
  path: "/receipts/chain",
  validateSearch: ({
    workspace,
    receipt,
  }: Record<string, unknown>): { workspace?: string; receipt?: string } => ({
    ...(typeof workspace === "string" ? { workspace } : {}),
    ...(typeof receipt === "string" ? { receipt } : {}),
  }),
  component: lazyRouteComponent(() => import("./pages/receipts/Chain.tsx"), "Chain"),
});

const keys = createRoute({
  getParentRoute: () => inside,
  path: "/keys",
  component: lazyRouteComponent(() => import("./pages/keys/Keys.tsx"), "Keys"),
});

const operate = createRoute({
  getParentRoute: () => inside,
  path: "/operate",
  beforeLoad() {
    throw redirect({ to: "/operate/$part", params: { part: "overview" }, search: {} });
  },
});

const operatePart = createRoute({
  getParentRoute: () => inside,
  path: "/operate/$part",
  validateSearch: readAuditFilters,
  component: lazyRouteComponent(() => import("./pages/operate/Operate.tsx"), "Operate"),
});

const persona = createRoute({
  getParentRoute: () => inside,
  path: "/operate/personas/$personaId",
  component: lazyRouteComponent(() => import("./pages/operate/Persona.tsx"), "PersonaPage"),
});

const approvals = createRoute({
  getParentRoute: () => inside,
  path: "/approvals",
  component: lazyRouteComponent(() => import("./pages/approvals/Approvals.tsx"), "Approvals"),
});

/** Only our own pages are gone to after signing in. */
function isPath(to: unknown): to is string {
  return typeof to === "string" && /^\/(?![/\\])/.test(to);
}

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    inside.addChildren([
      home,
      runs,
      run,
      replay,
      talk,
      conversation,
      approvals,
      receipts,
      chain,
      keys,
      operate,
      operatePart,
      persona,
    ]),
  ]),
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
