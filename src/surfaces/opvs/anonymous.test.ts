/** Callers without credentials: who they are, and how many calls they have. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { HarnessError } from "../../kernel/core/errors.ts";
import { defineAgent } from "../../runtime/agents/agent.ts";
import { AgentRegistry } from "../../runtime/agents/registry.ts";
import { createAnonymousCaller } from "./anonymous.ts";

const run = async () => "done";
const agents = new AgentRegistry([
  defineAgent({ name: "closed", version: "1", run }),
  defineAgent({ name: "one", version: "1", card: { public: { requestsPerMinute: 2 } }, run }),
  defineAgent({ name: "two", version: "1", card: { public: { requestsPerMinute: 2 } }, run }),
  defineAgent({
    name: "three",
    version: "1",
    card: { public: { tenantId: "tenant_lobby", requestsPerMinute: 1 } },
    run,
  }),
]);

function isRefused(code: string, seconds?: number) {
  return (error: unknown) =>
    error instanceof HarnessError && error.code === code && error.details.retry_after_seconds === seconds;
}

test("PUB-1 anonymous callers reach only public agents, bound to their workspace, to use them", () => {
  // Given agents, when somebody without credentials comes, then only public ones have a caller, bound to their workspace
  // with no right but to use agents.
  const call = createAnonymousCaller(agents, () => 0);
  for (const name of ["closed", "nobody", ""]) {
    assert.throws(() => call(name, "10.0.0.1"), isRefused("unauthenticated"));
  }
  const { scopes, ...caller } = call("three", "10.0.0.1");
  assert.deepEqual(caller, {
    actor: "anonymous",
    tenantId: "tenant_lobby",
    workspaceIds: ["workspace_public.tenant_lobby"],
  });
  for (const scope of [
    "admin",
    "events:read_internal",
    "personas:read",
    "vaults:read",
    "memories:read",
  ] as const) {
    assert.equal(scopes.has(scope), false, scope);
  }
});

test("PUB-3 an address over its limit waits as told; other addresses and agents do not", () => {
  // Given a limit, when one address has used it, then it waits as long as it is told, and others and other agents do
  // not.
  let now = 0;
  const call = createAnonymousCaller(agents, () => now);
  call("one", "10.0.0.1");
  call("one", "10.0.0.1");
  assert.throws(() => call("one", "10.0.0.1"), isRefused("rate_limited", 30));
  call("one", "10.0.0.2");
  call("two", "10.0.0.1");
  now += 29_000;
  assert.throws(() => call("one", "10.0.0.1"), isRefused("rate_limited", 1));
  now += 1000;
  call("one", "10.0.0.1");
});

test("PUB-3 given one subscriber's addresses, when all of them call, then they count as one", () => {
  const call = createAnonymousCaller(agents, () => 0);
  call("one", "2001:db8:1:2::1");
  call("one", "2001:db8:1:2::2");
  assert.throws(() => call("one", "2001:db8:1:2:ffff::3"), isRefused("rate_limited", 30));
  call("one", "2001:db8:1:3::1");
});

test("PUB-3 all anonymous addresses together get ten times the limit of one", () => {
  // Given endlessly many addresses, when all of them call, then together they have ten times what one has.
  const call = createAnonymousCaller(agents, () => 0);
  for (let n = 0; n < 20; n++) call("one", `10.0.1.${n}`);
  assert.throws(() => call("one", "10.0.2.1"), isRefused("rate_limited", 3));
  call("two", "10.0.2.1");
});
