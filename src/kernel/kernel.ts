/** The kernel, put together: what surfaces and runtime are given. */

import type { Store } from "../store/port.ts";
import type { AgentDirectory } from "./agents.ts";
import type { Clock } from "./clock.ts";
import { createDispatch, type Dispatch } from "./dispatch.ts";
import { createIds } from "./ids.ts";
import { LogTail } from "./log-tail.ts";
import { type Authenticate, createAuthenticate } from "./queries/authenticate.ts";
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
}

export function createKernel({ store, clock, agents, adminKey }: KernelOptions): Kernel {
  const tail = new LogTail(store);
  const handingOver: Store = {
    ...store,
    commit(batch) {
      const committed = store.commit(batch);
      tail.handOver(batch.events);
      return committed;
    },
  };
  const deps: KernelDeps = { store: handingOver, clock, agents, newId: createIds(() => clock.now()) };
  return {
    ...deps,
    tail,
    dispatch: createDispatch(deps),
    authenticate: createAuthenticate({ store, clock, tail }, adminKey),
  };
}
