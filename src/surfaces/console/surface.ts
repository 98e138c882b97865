/**
 * The console: its pages, and signing a browser in and out. All that the pages do they do through `/v1`, as any client; a request of a
 * browser that is signed in gets the `Authorization` header of its session before any surface sees it.
 */

import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { requireScope } from "../../kernel/access/authorize.ts";
import { noteSignIn, noteSignOut } from "../../kernel/audit/sign-ins.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { defaultTenantId } from "../../kernel/workspaces/ensure-tenant.ts";
import type { AdminKeyHolder } from "../../policy/admin-key.ts";
import { type Caller, isBound, mayUse } from "../../policy/caller.ts";
import { presentedBy } from "../credentials.ts";
import { isLoopbackAddress } from "../loopback.ts";
import { requireSmallBody } from "../small-body.ts";
import { checker } from "../validate.ts";
import type { ConsoleAssets } from "./assets.ts";
import { cookieOf, sessionCookie } from "./cookie.ts";
import { consolePages } from "./pages.ts";
import { type ConsoleSessions, sessionMs } from "./sessions.ts";
import type { SignInLinks } from "./sign-in-links.ts";

export interface ConsoleOptions {
  kernel: Kernel;
  adminKey: AdminKeyHolder;
  sessions: ConsoleSessions;
  links: SignInLinks;
  assets: ConsoleAssets;
  version: string;
  /** Whether clients reach the server by https only. */
  isHttps: boolean;
  /** Ends the process on the spot and starts it again; null where that is not offered. */
  crash: (() => void) | null;
}

/** What the page of a session sends beside its cookie. No page of another origin is allowed to (see `http.ts`). */
export const sessionHeader = "bridle-console-session";

const codeCharsMax = 4096;
/** Whoever signs in is nobody yet, and nothing else here has a body. */
const bodyBytesMax = 16 * 1024;
const SignInRequest = Type.Union([
  Type.Object({ key: Type.String({ minLength: 1, maxLength: codeCharsMax }) }),
  Type.Object({ link: Type.String({ minLength: 1, maxLength: codeCharsMax }) }),
]);
const checkSignIn = checker(SignInRequest);

/** For the whole server, so before its surfaces are registered. */
export function admitSessions(app: FastifyInstance, sessions: ConsoleSessions): void {
  app.addHook("onRequest", (request, _reply, done) => {
    const page = request.headers[sessionHeader];
    if (typeof page === "string" && request.headers.authorization === undefined) {
      const cookie = cookieOf(request);
      const credential = cookie === null ? null : sessions.credentialOf({ cookie, page });
      if (credential !== null) request.headers.authorization = `Bearer ${credential}`;
    }
    done();
  });
}

export function consoleSurface(options: ConsoleOptions): FastifyPluginAsync {
  const { assets } = options;
  return async (app) => {
    app.addHook("onRequest", async (request) => requireSmall(request));
    app.post("/console/sign-in", (request, reply) => signIn(options, request, reply));
    app.post("/console/sign-out", (request, reply) => signOut(options, request, reply));
    app.get("/console/session", async (request) => present(await callerOf(options, request), options));
    app.post("/console/crash", (request, reply) => crashNow(options, request, reply));
    app.get("/console/*", (request, reply) => {
      const { "*": name = "" }: { "*"?: string } = Object(request.params);
      if (!assets.has(name) || name === "index.html") throw nothingHere();
      return assets.send(name, request, reply);
    });
    for (const path of consolePages) {
      app.get(path, (request, reply) => {
        if (path === "/" && !wantsPage(request)) return reply.header("Vary", "Accept").send(summary(options));
        if (!assets.isBuilt) throw notBuilt();
        return assets.send("index.html", request, reply);
      });
    }
  };
}

function requireSmall(request: FastifyRequest): void {
  requireSmallBody(request, bodyBytesMax, "Here,");
}

async function signIn(options: ConsoleOptions, request: FastifyRequest, reply: FastifyReply) {
  const { kernel, adminKey, links, sessions, isHttps } = options;
  const given = checkSignIn(request.body);
  const isLink = "link" in given;
  if (isLink && (!links.redeem(given.link) || adminKey.isDisabled)) {
    throw new HarnessError(
      "unauthenticated",
      "This link was used before, or is older than 10 minutes. Start the server again for a new one, or sign in with a key.",
    );
  }
  const credential = isLink ? adminKey.key : given.key.trim();
  const caller = await kernel.authenticate(credential, request.ip);
  if (caller === null) {
    throw new HarnessError(
      "unauthenticated",
      "This key is wrong, expired or revoked, or may not be used from here.",
    );
  }
  const { tenantId, actor, keyId = null } = caller;
  const { cookie, page } = sessions.begin(credential, JSON.stringify([tenantId, actor, keyId]));
  await noteSignIn(kernel, caller, isLink ? "link" : "key");
  reply.header("Set-Cookie", sessionCookie(request, cookie, { seconds: sessionMs / 1000, isHttps }));
  return { ...present(caller, options), session: page };
}

/** Ends the session of the cookie, whether its key is still good or not. */
async function signOut(
  { kernel, sessions, isHttps }: ConsoleOptions,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const page = request.headers[sessionHeader];
  const cookie = cookieOf(request);
  if (cookie !== null && typeof page === "string") {
    const credential = sessions.credentialOf({ cookie, page });
    const caller = credential === null ? null : await kernel.authenticate(credential, request.ip);
    if (credential !== null) sessions.end(cookie);
    if (caller !== null) await noteSignOut(kernel, caller);
  }
  reply.header("Set-Cookie", sessionCookie(request, "", { seconds: 0, isHttps }));
  return reply.code(204).send();
}

async function callerOf({ kernel }: ConsoleOptions, request: FastifyRequest): Promise<Caller> {
  const credential = presentedBy(request, null);
  const caller = credential === null ? null : await kernel.authenticate(credential, request.ip);
  if (caller !== null) return caller;
  throw new HarnessError("unauthenticated", "You are not signed in.");
}

/** For whoever runs the server, on the machine that it runs on. */
async function crashNow(options: ConsoleOptions, request: FastifyRequest, reply: FastifyReply) {
  const { crash } = options;
  if (crash === null) throw nothingHere();
  const caller = await callerOf(options, request);
  requireScope(caller, "admin");
  if (!mayCrash(caller, options) || !isLoopbackAddress(request.ip)) {
    throw new HarnessError(
      "permission_denied",
      "Only unbound keys of the default tenant crash the server, and only from the machine that it runs on.",
    );
  }
  reply.raw.once("finish", () => setImmediate(crash));
  return reply.code(202).send({ object: "server_crash" });
}

function mayCrash(caller: Caller, { crash }: ConsoleOptions): boolean {
  return crash !== null && mayUse(caller, "admin") && caller.tenantId === defaultTenantId && !isBound(caller);
}

/** Who it is and what it may do, so that the pages offer that and no more. */
function present(caller: Caller, options: ConsoleOptions): object {
  return {
    object: "console_session",
    actor: caller.actor,
    key_id: caller.keyId ?? null,
    tenant_id: caller.tenantId,
    scopes: [...caller.scopes].sort(),
    workspace_ids: caller.workspaceIds,
    agent_names: caller.agentNames ?? null,
    persona_ids: caller.personaIds ?? null,
    expires_at: caller.expiresAt ?? null,
    version: options.version,
    can_crash: mayCrash(caller, options),
  };
}

/** Browsers name it; who takes anything gets JSON. */
function wantsPage({ headers: { accept = "" } }: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(accept);
}

function summary({ version }: ConsoleOptions): object {
  return {
    name: "Bridle",
    version,
    links: {
      "/openapi.json": "the whole API",
      "/.well-known/agent-card.json": "the card that other agents read",
      "/ready": "whether it takes work",
    },
  };
}

function nothingHere(): HarnessError {
  return new HarnessError(
    "resource_not_found",
    "No route has this method and path; GET /openapi.json lists all.",
  );
}

function notBuilt(): HarnessError {
  return new HarnessError(
    "resource_not_found",
    "The console is not built. Start the server with npm start, which builds it.",
  );
}
