/** A gateway, enforcers of another vendor on it, and approvers who use the command line. */

import { join } from "node:path";
import type { ApproverKey } from "../../src/harp/core/approver-key.ts";
import { bridle, type Ended, type RunOptions, succeeded } from "./cli.ts";
import { Client } from "./client.ts";
import { ForeignEnforcer } from "./foreign-enforcer.ts";
import { startServer, type TestServer, temporaryDirectory } from "./server.ts";

/** An enforcer and an approver that know nobody else. */
export interface Party {
  enforcer: ForeignEnforcer;
  approverId: string;
  /** Of the approver. */
  apiKey: string;
  profile: string;
  approver(args: string[], options?: RunOptions): Promise<Ended>;
}

export interface PairedParty extends Party {
  /** As the enforcer has it. */
  key: ApproverKey;
}

export class ApproverCli implements AsyncDisposable {
  readonly server: TestServer;
  readonly place: { path: string } & AsyncDisposable;
  #parties = 0;

  constructor(server: TestServer, place: { path: string } & AsyncDisposable) {
    this.server = server;
    this.place = place;
  }

  get gateway(): string {
    return `${this.server.url}/harp`;
  }

  async party(): Promise<Party> {
    this.#parties += 1;
    const [enforcerId, approverId] = [`enf-${this.#parties}`, `app-${this.#parties}`];
    const client = new Client(this.server);
    const keyFor = async (role: string, id: string): Promise<string> =>
      (await client.createKey({ actor: id, scopes: [`harp:${role}:${id}`] })).key;
    const apiKey = await keyFor("approver", approverId);
    const profile = join(this.place.path, approverId, "approver.json");
    const enforcer = new ForeignEnforcer({
      url: this.gateway,
      key: await keyFor("enforcer", enforcerId),
      enforcerId,
    });
    return {
      enforcer,
      approverId,
      apiKey,
      profile,
      // Nobody who approves has the administrator's key.
      approver: (args, { env = {}, ...options } = {}) =>
        bridle(["approver", ...args, "--profile", profile], {
          ...options,
          env: { BRIDLE_API_KEY: undefined, ...env },
        }),
    };
  }

  async paired(): Promise<PairedParty> {
    const party = await this.party();
    const { enforcer, approver, approverId, apiKey } = party;
    const invitation = await enforcer.invite();
    const args = ["pair", invitation.code, "--gateway", this.gateway, "--id", approverId, "--json"];
    succeeded(await approver(args, { env: { BRIDLE_KEY: apiKey } }));
    return { ...party, key: await enforcer.admit(invitation) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
  }
}

export async function startApproverCli(): Promise<ApproverCli> {
  return new ApproverCli(await startServer(), await temporaryDirectory());
}
