/**
 * Connections that read. Each sees the rows of the tenant that it names, and names one before it reads for another; both go to the
 * server together. While the server is away, reads are tried again for a while: a restart is over before most callers give up.
 */

import type { ClientBase, Pool } from "pg";
import type { Row } from "../log-rows.ts";
import { StoreUnavailable } from "../port.ts";
import {
  allTenants,
  type DatabasePlace,
  databaseFaultOf,
  isConnectionLost,
  poolOf,
  rowsOf,
  type Statement,
} from "./connect.ts";
import { statement } from "./statements.ts";

/** How long a read waits for a server that is away. New requests are refused meanwhile; work that has begun goes on. */
const patienceMs = 30_000;
const pauseMsFirst = 50;
const pauseMsMax = 500;

const nameTenant = (tenantId: string) => statement("SELECT set_config('bridle.tenant', $1, false)", tenantId);

export class ReadPool {
  readonly #pool: Pool;
  readonly #onFault: (fault: string) => void;
  /** The tenant that a connection has named last. */
  readonly #named = new WeakMap<ClientBase, string>();

  constructor(place: DatabasePlace, connectionsMax: number, onFault: (fault: string) => void) {
    this.#pool = poolOf(place, connectionsMax);
    this.#onFault = onFault;
  }

  /** The rows that a tenant sees; null is every tenant's. Throws `StoreUnavailable`. */
  async read(tenantId: string | null, query: Statement): Promise<Row[]> {
    return await this.#patiently(async () => rowsOf(await this.#query(tenantId, query)));
  }

  /** The number of rows that a statement has changed, for all tenants. */
  async change(query: Statement): Promise<number> {
    return await this.#patiently(async () => (await this.#query(null, query)).rowCount ?? 0);
  }

  /** Everything in one transaction, for all tenants. Not tried again. */
  async transaction<T>(act: (client: ClientBase) => Promise<T>): Promise<T> {
    return await this.#with(null, async (client) => {
      await client.query("BEGIN");
      const result = await act(client);
      await client.query("COMMIT");
      return result;
    }).catch((error: unknown) => {
      throw asUnavailable(error);
    });
  }

  /** Statements that cannot be part of a transaction. */
  async outside(act: (client: ClientBase) => Promise<void>): Promise<void> {
    await this.#with(null, act).catch((error: unknown) => {
      throw asUnavailable(error);
    });
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #query(tenantId: string | null, query: Statement) {
    return await this.#with(tenantId, (client) => client.query(query));
  }

  async #with<T>(tenantId: string | null, act: (client: ClientBase) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    const wanted = tenantId ?? allTenants;
    let isSound = false;
    try {
      const named = this.#named.get(client) === wanted ? null : client.query(nameTenant(wanted));
      const [, result] = await Promise.all([named, act(client)]);
      this.#named.set(client, wanted);
      isSound = true;
      return result;
    } catch (error) {
      // A connection in an unknown state is not used again; an ordinary error of one statement leaves it as it was.
      this.#named.delete(client);
      throw error;
    } finally {
      client.release(!isSound);
    }
  }

  async #patiently<T>(act: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + patienceMs;
    for (let pauseMs = pauseMsFirst; ; pauseMs = Math.min(pauseMs * 2, pauseMsMax)) {
      try {
        return await act();
      } catch (error) {
        const isAway = isConnectionLost(error);
        if (isAway && pauseMs > pauseMsFirst) this.#onFault(databaseFaultOf(error) ?? "database unreachable");
        if (!isAway || performance.now() + pauseMs > giveUpAt) throw asUnavailable(error);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
}

function asUnavailable(error: unknown): unknown {
  const fault = databaseFaultOf(error);
  if (fault === null) return error;
  return new StoreUnavailable(`Cannot use the database (${fault})`, { fault, cause: error });
}
