/** What is there before the task: its persona, its secrets, what it remembers, what was said; and then the task itself. */

import type { Kernel } from "../kernel/kernel.ts";
import { type MessageInput, type Part, type Role, textPart } from "../kernel/kinds/message.ts";
import type { PersonaFields } from "../kernel/kinds/persona.ts";
import { createMemory } from "../kernel/memory/create-memory.ts";
import { updatePersona } from "../kernel/personas/update-persona.ts";
import { createSession } from "../kernel/sessions/create-session.ts";
import { type SubmitTask, submitTask } from "../kernel/tasks/submit-task.ts";
import { createVault } from "../kernel/vaults/create-vault.ts";
import { setSecret } from "../kernel/vaults/set-secret.ts";
import { defaultTenantId, nameIn, personaIdOf } from "../kernel/workspaces/ensure-tenant.ts";
import type { Caller } from "../policy/caller.ts";
import type { JsonObject, JsonValue } from "../store/port.ts";

export interface Before {
  /** A text, a structured payload, or the parts of a message. */
  input: string | JsonObject | Part[];
  /** What the persona says beside that it acts by itself: its autonomy, its lists of what is allowed, its models. */
  persona?: Partial<Omit<PersonaFields, "entry_workflow" | "name" | "version" | "schedules" | "triggers">>;
  /** What `ctx.secret` gives, by name. */
  secrets?: Record<string, string>;
  /** What the persona remembers, by key. */
  memory?: Record<string, JsonValue>;
  /** What was said in the session before. */
  conversation?: readonly ({ role: Role; text: string } | MessageInput)[];
}

/** Gives the id of the session, in which nothing runs yet. */
export async function setUp(
  { dispatch }: Kernel,
  caller: Caller,
  agent: string,
  { persona, secrets = {}, memory = {}, conversation = [] }: Before,
): Promise<string> {
  const personaId = personaIdOf(agent, defaultTenantId);
  if (persona !== undefined) await dispatch(updatePersona, caller, { personaId, changes: persona });
  if (Object.keys(secrets).length > 0) {
    const vault = await dispatch(createVault, caller, { provider: "local", capabilities: ["read", "write"] });
    for (const [name, value] of Object.entries(secrets))
      await dispatch(setSecret, caller, { vaultId: vault.result.id, name, value });
  }
  for (const [key, content] of Object.entries(memory)) {
    const owned = { scope: "persona", ownerId: personaId, key, content, provenance: {} } as const;
    await dispatch(createMemory, caller, owned);
  }
  const { result: session } = await dispatch(createSession, caller, {
    workspaceId: nameIn(defaultTenantId, "workspace_default"),
    personaId,
    initialMessages: conversation.map((said) =>
      "text" in said ? { role: said.role, parts: [textPart(said.text)] } : said,
    ),
  });
  return session.id;
}

export async function submit(
  { dispatch }: Kernel,
  caller: Caller,
  { sessionId, taskId, input }: { sessionId: string; taskId: string } & Pick<Before, "input">,
): Promise<void> {
  await dispatch(submitTask, caller, { sessionId, taskId, input: inputOf(input) });
}

function inputOf(input: Before["input"]): SubmitTask["input"] {
  if (typeof input === "string") return { payload: { text: input } };
  return isParts(input) ? { message: { role: "user", parts: input } } : { payload: input };
}

function isParts(input: JsonObject | Part[]): input is Part[] {
  return Array.isArray(input);
}
