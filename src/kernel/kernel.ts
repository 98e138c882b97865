/** The kernel, put together: what surfaces and runtime are given. */

import { WorkspaceFiles } from "../files/workspace-files.ts";
import { MasterKeys } from "../policy/master-keys.ts";
import { Redactor } from "../policy/redact/redact.ts";
import type { Store } from "../store/port.ts";
import type { AgentDirectory } from "./agents.ts";
import type { Clock } from "./clock.ts";
import { ReplaySecrets } from "./commands/replay-task.ts";
import { createDispatch, type Dispatch } from "./dispatch.ts";
import { createIds } from "./ids.ts";
import { Locks } from "./locks.ts";
import { LogTail } from "./log-tail.ts";
import { type Authenticate, createAuthenticate } from "./queries/authenticate.ts";
import { ReceiptLedger } from "./receipts/ledger.ts";
import type { Issuer } from "./signing.ts";
import type { KernelDeps } from "./unit.ts";

export interface Kernel extends KernelDeps {
  tail: LogTail;
  dispatch: Dispatch;
  authenticate: Authenticate;
}

export interface KernelOptions {
  store: Store;
  clock: Clock;
  agents: AgentDirectory;
  adminKey: string;
  issuer: Issuer;
  /** Without them, vaults have keys that live as long as the process. */
  masterKeys?: MasterKeys;
  /** Without them, workspaces have no files. */
  files?: WorkspaceFiles;
}

export function createKernel(options: KernelOptions): Kernel {
  const { store, clock, agents, adminKey, issuer } = options;
  const { masterKeys = new MasterKeys({ file: null }), files = new WorkspaceFiles({ directory: null }) } =
    options;
  const tail = new LogTail(store);
  const handingOver: Store = {
    ...store,
    commit(batch) {
      const committed = store.commit(batch);
      tail.handOver(batch.events);
      return committed;
    },
  };
  const deps: KernelDeps = {
    store: handingOver,
    clock,
    agents,
    newId: createIds(() => clock.now()),
    issuer,
    ledger: new ReceiptLedger(handingOver, issuer),
    redactor: new Redactor([adminKey]),
    replaySecrets: new ReplaySecrets(),
    seenSecrets: new Set(),
    locks: new Locks(),
    masterKeys,
    files,
  };
  return {
    ...deps,
    tail,
    dispatch: createDispatch(deps),
    authenticate: createAuthenticate({ store, clock, tail }, adminKey),
  };
}
