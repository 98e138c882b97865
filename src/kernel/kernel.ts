/** The kernel, put together: what surfaces and runtime are given. */

import { WorkspaceFiles } from "../files/workspace-files.ts";
import { AdminKeyHolder } from "../policy/admin-key.ts";
import { keyMsDefault } from "../policy/api-key.ts";
import { systemCaller } from "../policy/caller.ts";
import type { ExternalIssuers } from "../policy/external-issuers.ts";
import { MasterKeys } from "../policy/master-keys.ts";
import { OperatorSecrets } from "../policy/operator-secrets.ts";
import { createOutbound, type Outbound } from "../policy/outbound.ts";
import { authFailuresMaxDefault, RateLimit } from "../policy/rate-limit.ts";
import { Redactor } from "../policy/redact/redact.ts";
import { type SearchTexts, searchHere } from "../policy/redact/search-budget.ts";
import { Tickets } from "../policy/tickets.ts";
import type { Batch } from "../store/port.ts";
import type { WholeStore } from "../store/whole-store.ts";
import type { AuthFailure } from "./access/auth-failure.ts";
import { type Authenticate, createAuthenticate } from "./access/authenticate.ts";
import { CallerCache } from "./access/caller-cache.ts";
import { createIssueToken, type IssueToken } from "./access/issue-token.ts";
import { KeyUse } from "./access/key-use.ts";
import { RequestRates } from "./access/request-rates.ts";
import { createStillAllowed, type StillAllowed } from "./access/still-allowed.ts";
import { type ApprovalAccess, withoutGateway } from "./approvals/access.ts";
import { FailedSignIns } from "./audit/failed-sign-ins.ts";
import { noteAudit } from "./audit/note.ts";
import { type Clock, steadyNow } from "./core/clock.ts";
import { createDispatch, type Dispatch, runCommand } from "./core/dispatch.ts";
import { createIds } from "./core/ids.ts";
import { Locks } from "./core/locks.ts";
import { LogTail } from "./core/log-tail.ts";
import { type Random, systemRandom } from "./core/random.ts";
import type { Tracing } from "./core/trace.ts";
import type { KernelDeps, WholeDeps } from "./core/unit.ts";
import { HeldStates } from "./openharness/held-states.ts";
import { createOperations } from "./operations.ts";
import type { AgentDirectory } from "./personas/agents.ts";
import { type MakerHooks, ReceiptFollower, type ReceiptMaker } from "./receipts/follower.ts";
import { ReceiptProjection } from "./receipts/projection.ts";
import type { Issuer } from "./receipts/signing.ts";
import { ReplaySecrets } from "./replay/replay-task.ts";
import { RuntimeStatus } from "./tasks/runtime-status.ts";
import { defaultAgent } from "./workspaces/ensure-tenant.ts";

export interface Kernel extends KernelDeps {
  tail: LogTail;
  receipts: ReceiptFollower;
  dispatch: Dispatch;
  authenticate: Authenticate;
  rates: RequestRates;
  /** For connections that outlast the request that opened them. */
  stillAllowed(credential: string): StillAllowed;
  issueToken: IssueToken;
  tickets: Tickets;
  work: RuntimeStatus;
  keyUse: KeyUse;
  /** Refused credentials that are not in the audit log yet. */
  failedSignIns: FailedSignIns;
}

/** The kernel for those who look after all tenants. */
export interface WholeKernel extends Kernel {
  store: WholeStore;
}

export interface KernelOptions {
  store: WholeStore;
  clock: Clock;
  /** Without it, agents get what nobody can foresee. */
  chance?: Random;
  agents: AgentDirectory;
  /** Without it, nobody is the administrator. */
  adminKey?: AdminKeyHolder;
  issuer: Issuer;
  /** The name of the server in the tokens that it issues; its id in the log when it was given none. */
  publicUrl?: string | null;
  /** Whose tokens are accepted beside its own. */
  external?: ExternalIssuers | null;
  /** Failed authentications a minute from one address. */
  authFailuresMax?: number;
  /** Requests a minute with one key; without it they are not counted. */
  requestsPerMinute?: number | null;
  /** Hears of every credential that is refused. */
  onAuthFailure?: (failure: AuthFailure) => void;
  /** How long a ticket is good. */
  ticketMs?: number;
  /** Without them, vaults have keys that live as long as the process. */
  masterKeys?: MasterKeys;
  /** Without them, there are no vaults of environment variables and files. */
  operatorSecrets?: OperatorSecrets;
  /** Without them, workspaces have no files. */
  files?: WorkspaceFiles;
  /** Texts that personas can name. */
  contextPacks?: ReadonlyMap<string, string>;
  /** Without it, only public addresses are reached. */
  outbound?: Outbound;
  retainMs?: number | null;
  defaultPersonas?: boolean;
  defaultAgent?: string;
  /** Without it, new keys end after 90 days. */
  keyMs?: number | null;
  /** How long secret state of a shell is held in memory. */
  heldMs?: number;
  /** Without it, approvals are answered over the API only. */
  approvals?: ApprovalAccess;
  tracing?: Tracing | null;
  /** Makes receipts elsewhere and commits them here; without it they are made in this thread. */
  makeReceipts?: (hooks: MakerHooks, commit: (batch: Batch) => Promise<unknown>) => ReceiptMaker;
  /** Searches long texts for secrets elsewhere; without it they are searched in this thread. */
  searchTexts?: SearchTexts;
  /** Hears of receipts that cannot be issued now. */
  onReceiptError?: (error: unknown) => void;
}

/** Long enough to open a connection with, too short to be found in a log. */
const ticketMsDefault = 60_000;

export function createKernel(options: KernelOptions): WholeKernel {
  const { clock } = options;
  const tail = new LogTail(options.store);
  const store = proposing(options.store, tail);
  const receipts = followReceipts(options, store, tail);
  const deps = createDeps(options, store, receipts);
  return {
    ...deps,
    ...createAccess(options, deps, tail),
    receipts,
    tail,
    dispatch: createDispatch(deps),
    tickets: new Tickets(() => steadyNow(clock), options.ticketMs ?? ticketMsDefault),
    work: new RuntimeStatus(),
  };
}

/** What is committed is heard of before it is on disk. */
function proposing(store: WholeStore, tail: LogTail): WholeStore {
  return {
    ...store,
    commit(batch) {
      const committed = store.commit(batch);
      tail.propose(batch.events);
      return committed;
    },
  };
}

function followReceipts(options: KernelOptions, store: WholeStore, tail: LogTail): ReceiptFollower {
  const { issuer, clock, makeReceipts } = options;
  const commit = (batch: Batch) => store.commit(batch);
  const makeHere = (hooks: MakerHooks) =>
    new ReceiptProjection({ ...hooks, store: options.store, commit, issuer, clock });
  return new ReceiptFollower({
    store: options.store,
    tail,
    make: (hooks) => makeReceipts?.(hooks, commit) ?? makeHere(hooks),
    onError: options.onReceiptError ?? (() => {}),
  });
}

function createDeps(options: KernelOptions, store: WholeStore, receipts: ReceiptFollower): WholeDeps {
  const { clock, agents, issuer, retainMs = null } = options;
  const {
    adminKey = new AdminKeyHolder({ key: "", origin: "setting", file: "" }),
    masterKeys = new MasterKeys({ file: null }),
    files = new WorkspaceFiles({ directory: null }),
    outbound = createOutbound({ allowPrivate: false }),
    approvals = withoutGateway(),
  } = options;
  const deps: WholeDeps = {
    store,
    clock,
    chance: options.chance ?? systemRandom,
    agents,
    newId: createIds(() => clock.now()),
    issuer,
    receipts,
    redactor: new Redactor([adminKey.key]),
    searchTexts: options.searchTexts ?? searchHere,
    replaySecrets: new ReplaySecrets(),
    heldStates: new HeldStates(clock, options.heldMs),
    seenSecrets: new Set(),
    locks: new Locks(),
    adminKey,
    masterKeys,
    operatorSecrets: options.operatorSecrets ?? new OperatorSecrets(),
    files,
    contextPacks: options.contextPacks ?? new Map(),
    outbound,
    retainMs,
    defaultPersonas: options.defaultPersonas ?? true,
    defaultAgent: options.defaultAgent ?? defaultAgent,
    keyMs: options.keyMs === undefined ? keyMsDefault : options.keyMs,
    approvals,
    tracing: options.tracing ?? null,
    operations: createOperations(() => deps),
  };
  return deps;
}

type Access = Pick<
  Kernel,
  "authenticate" | "rates" | "stillAllowed" | "issueToken" | "keyUse" | "failedSignIns"
>;

/** Who calls, and what became of credentials that were refused. */
function createAccess(options: KernelOptions, deps: WholeDeps, tail: LogTail): Access {
  const { clock, issuer } = deps;
  const keyUse = new KeyUse(deps);
  const failedSignIns = new FailedSignIns((tenantId, facts) =>
    runCommand(deps, noteAudit, systemCaller(tenantId), facts),
  );
  const known = new CallerCache(tail, clock);
  const rates = new RequestRates(options.requestsPerMinute ?? null, () => steadyNow(clock));
  const access = {
    ...deps,
    known,
    failures: new RateLimit(options.authFailuresMax ?? authFailuresMaxDefault, () => clock.now()),
    use: keyUse,
    rates,
    onFailure(failure: AuthFailure) {
      failedSignIns.note(failure);
      options.onAuthFailure?.(failure);
    },
    identity: () => options.publicUrl ?? issuer.id,
    external: options.external ?? null,
  };
  const authenticate = createAuthenticate(access);
  return {
    authenticate,
    rates,
    stillAllowed: createStillAllowed(authenticate, access),
    issueToken: createIssueToken(access),
    keyUse,
    failedSignIns,
  };
}
