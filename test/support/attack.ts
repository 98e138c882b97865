/** Two tenants on one server: one that has something to lose, and an administrator of another who wants it. */

import { Client, isFinal } from "./client.ts";
import { exportOf, Log } from "./exported-log.ts";
import { createPersona } from "./policy.ts";
import { type InProcessOptions, startServer, type TestServer } from "./server.ts";

export interface Attack extends AsyncDisposable {
  server: TestServer;
  /** The administrator of the whole server, in the tenant with something to lose. */
  victim: Client;
  /** An administrator of `tenant_evil`. */
  attacker: Client;
  /** The same on a server of their own, where they make what they bring. */
  home: Client;
}

export const evilWorkspace = "workspace_default.tenant_evil";

export async function startAttack(options: InProcessOptions = {}): Promise<Attack> {
  const [server, home] = await Promise.all([startServer(options), startServer()]);
  const victim = new Client(server);
  return {
    server,
    victim,
    attacker: await evilAdministrator(victim),
    home: await evilAdministrator(new Client(home)),
    async [Symbol.asyncDispose]() {
      await Promise.all([server[Symbol.asyncDispose](), home[Symbol.asyncDispose]()]);
    },
  };
}

async function evilAdministrator(client: Client): Promise<Client> {
  const { key } = await client.createKey({ tenant_id: "tenant_evil", scopes: ["admin"] });
  return client.as(key);
}

/** The log of a session that was led elsewhere, with a message and a task that has ended and left no receipt. */
export async function foreignLog({ home }: Attack, ...lines: string[]): Promise<Log> {
  const session = await home.createSession({ workspace_id: evilWorkspace });
  await home.append(session.id, "hello");
  const persona = await createPersona(home, { entry_workflow: "rehearsal", receipt_policy: "disabled" });
  const script = lines.length === 0 ? "return done" : lines.join("\n");
  const task = await home.submit(session.id, script, { persona_id: persona.id });
  await home.untilTask(task.id, isFinal);
  return new Log(await exportOf(home, session.id));
}
