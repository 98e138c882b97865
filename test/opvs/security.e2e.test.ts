/** Who may do what: every operation, asked by those who may not, and what they learn from the refusal. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, type Json } from "../support/client.ts";
import { tokenFor } from "../support/oauth.ts";
import type { TestServer } from "../support/server.ts";
import { type CallOptions, everyBinding, message, type Wire, type WireFailure } from "./wire.ts";

const rehearsal = { agent: "rehearsal" };
const unknownId = "task_00000000000000000000000000";

/** Each operation on a task, by the scope that it needs. */
const operations: Record<string, { scope: string; request(id: string): Json; isStream?: boolean }> = {
  SendMessage: { scope: "tasks:write", request: (id) => ({ message: message("fine", { taskId: id }) }) },
  SendStreamingMessage: {
    scope: "tasks:write",
    request: (id) => ({ message: message("fine", { taskId: id }) }),
    isStream: true,
  },
  GetTask: { scope: "tasks:read", request: (id) => ({ id }) },
  CancelTask: { scope: "tasks:write", request: (id) => ({ id }) },
  SubscribeToTask: { scope: "tasks:read", request: (id) => ({ id }), isStream: true },
  CreateTaskPushNotificationConfig: {
    scope: "tasks:write",
    request: (taskId) => ({ taskId, id: "hook", url: "https://example.com/hook" }),
  },
  GetTaskPushNotificationConfig: { scope: "tasks:read", request: (taskId) => ({ taskId, id: "hook" }) },
  ListTaskPushNotificationConfigs: { scope: "tasks:read", request: (taskId) => ({ taskId }) },
  DeleteTaskPushNotificationConfig: { scope: "tasks:write", request: (taskId) => ({ taskId, id: "hook" }) },
};

const listing: { request(id: string): Json } = { request: () => ({}) };

async function refusal(
  wire: Wire,
  operation: string,
  request: Json,
  options: CallOptions,
): Promise<WireFailure | null> {
  if (operations[operation]?.isStream !== true)
    return (await wire.call(operation, request, options)).error ?? null;
  await using stream = await wire.stream(operation, request, options);
  return stream.error;
}

/** A task that waits for an answer. */
async function waiting(wire: Wire): Promise<Json> {
  const { result } = await wire.call(
    "SendMessage",
    { message: message("say secretly\nartifact a.txt secretly\nask Well?") },
    rehearsal,
  );
  assert.equal(result.task.status.state, "TASK_STATE_INPUT_REQUIRED");
  return result.task;
}

async function keys(server: TestServer): Promise<Record<"tenant" | "workspace", string>> {
  const client = new Client(server);
  const { body: workspace } = await client.post("/v1/workspaces", { name: "Other", root: "other" });
  return {
    tenant: (await client.createKey({ tenant_id: "tenant_other" })).key,
    workspace: (await client.createKey({ workspace_ids: [workspace.id] })).key,
  };
}

/** What an error says, but for the id and the time. */
function gist({ status, code, reason, message: said, details }: WireFailure, id: string): Json {
  const timeless = details.map(({ metadata: { timestamp: _, ...metadata } = {}, ...detail }: Json) => ({
    ...detail,
    metadata,
  }));
  return JSON.parse(JSON.stringify({ status, code, reason, said, timeless }).replaceAll(id, "…"));
}

everyBinding(
  "security",
  (onEveryBinding) => {
    onEveryBinding(
      "OPVS-85 OPVS-134 without right credentials every call is unauthenticated",
      async (wire, { server }) => {
        // Given no credentials or wrong ones, when any operation is called, then it is unauthenticated, whatever it asks
        // for.
        const task = await waiting(wire);
        const client = new Client(server);
        const revoked = await client.createKey();
        await client.call(`/v1/api-keys/${revoked.id}`, { method: "DELETE" });
        const wrong: CallOptions[] = [
          { key: null },
          { key: "wrong" },
          { key: revoked.key },
          { key: null, headers: { authorization: "Basic dGVzdC1hZG1pbi1rZXk6" } },
          { key: null, headers: { authorization: "Bearer" } },
        ];
        for (const options of wrong) {
          for (const [name, { request }] of Object.entries({
            ...operations,
            ListTasks: listing,
          })) {
            for (const id of [task.id, unknownId]) {
              const error = await refusal(wire, name, request(id), options);
              assert.equal(error?.status, "UNAUTHENTICATED", `${name} ${JSON.stringify(options)}`);
              assert.equal(error.reason, null);
            }
          }
        }
        assert.deepEqual((await wire.call("GetTask", { id: task.id })).result, task);
      },
    );

    onEveryBinding(
      "OPVS-86 OPVS-135 OPVS-138 a call without its scope is denied alike",
      async (wire, { server }) => {
        // Given a key without the scope that an operation needs, when it is called, then it is denied, and in the same
        // way whether the task is there or not.
        const task = await waiting(wire);
        const client = new Client(server);
        const limited: Record<string, CallOptions> = {
          "tasks:read": {
            key: (await client.withScopes("tasks:write", "messages:read", "artifacts:read")).key,
          },
          "tasks:write": {
            key: (await client.withScopes("tasks:read", "messages:read", "artifacts:read")).key,
          },
        };
        for (const [name, { scope, request }] of Object.entries(operations)) {
          const options = limited[scope] ?? {};
          const denied = await refusal(wire, name, request(task.id), options);
          assert.equal(denied?.status, "PERMISSION_DENIED", name);
          const absent = await refusal(wire, name, request(unknownId), options);
          assert.deepEqual(absent && gist(absent, unknownId), denied && gist(denied, task.id), name);
        }
        const listed = await refusal(wire, "ListTasks", {}, limited["tasks:read"] ?? {});
        assert.equal(listed?.status, "PERMISSION_DENIED");
        // The answer to a cancellation is the task, so it needs both scopes.
        const unread = await refusal(wire, "CancelTask", { id: task.id }, limited["tasks:read"] ?? {});
        assert.equal(unread?.status, "PERMISSION_DENIED");
        assert.deepEqual((await wire.call("GetTask", { id: task.id })).result, task);
      },
    );

    onEveryBinding(
      "OPVS-87 OPVS-88 OPVS-136 OPVS-137 a foreign task is as if it were not there",
      async (wire, { server }) => {
        // Given a task of another tenant or workspace, when any operation names it, then it is as if it were not there.
        const task = await waiting(wire);
        for (const [whose, key] of Object.entries(await keys(server))) {
          for (const [name, { request }] of Object.entries(operations)) {
            const hidden = await refusal(wire, name, request(task.id), { key });
            assert.equal(hidden?.reason, "TASK_NOT_FOUND", `${name} from another ${whose}`);
            const absent = await refusal(wire, name, request(unknownId), { key });
            assert.deepEqual(hidden && gist(hidden, task.id), absent && gist(absent, unknownId), name);
          }
          const inContext = async (contextId: string) =>
            await refusal(wire, "SendMessage", { message: message("x", { contextId }) }, { key });
          const [hidden, absent] = [await inContext(task.contextId), await inContext("session_unknown")];
          assert.equal(hidden?.status, "INVALID_ARGUMENT");
          assert.deepEqual(hidden && gist(hidden, task.contextId), absent && gist(absent, "session_unknown"));
          for (const filter of [{}, { contextId: task.contextId }, { status: "TASK_STATE_INPUT_REQUIRED" }]) {
            const { result } = await wire.call("ListTasks", filter, { key });
            assert.deepEqual([result.tasks, result.totalSize], [[], 0]);
          }
        }
        assert.deepEqual((await wire.call("GetTask", { id: task.id })).result, task);
      },
    );

    onEveryBinding(
      "OPVS-136 two tenants with one name for a conversation do not meet",
      async (wire, { server }) => {
        // Given a name for a conversation that two tenants use, when both send to it, then neither sees the other's.
        const { tenant } = await keys(server);
        const contextId = crypto.randomUUID();
        const ours = await wire.call("SendMessage", { message: message("ours", { contextId }) });
        const theirs = await wire.call(
          "SendMessage",
          { message: message("theirs", { contextId }) },
          { key: tenant },
        );
        const ids = async (options: CallOptions) =>
          (await wire.call("ListTasks", { contextId }, options)).result.tasks.map(({ id }: Json) => id);
        assert.deepEqual(await ids({}), [ours.result.task.id]);
        assert.deepEqual(await ids({ key: tenant }), [theirs.result.task.id]);
      },
    );

    onEveryBinding(
      "OPVS-87 OPVS-136 a tenant not the caller's is refused alike, known or not",
      async (wire, { server }) => {
        // Given a tenant in the request, when it is not the caller's, then it is refused alike whether there is one of
        // that name.
        const { tenant: key } = await keys(server);
        const said = async (tenant: string) => {
          const error = await refusal(wire, "ListTasks", { tenant }, { key });
          return error && gist(error, tenant);
        };
        const refused = await said("tenant_default");
        assert.equal(refused.status, "PERMISSION_DENIED");
        assert.deepEqual(await said("tenant_nobody"), refused);
        for (const tenant of ["tenant_other", "tenant_other@rehearsal", "@rehearsal"]) {
          assert.equal((await wire.call("ListTasks", { tenant }, { key })).error, undefined, tenant);
        }
        for (const tenant of ["@nobody", "@rehearsal@rehearsal", "@"]) {
          assert.equal(
            (await wire.call("ListTasks", { tenant }, { key })).error?.status,
            "NOT_FOUND",
            tenant,
          );
        }
      },
    );

    onEveryBinding("OPVS-88 a task is at its agent's endpoint and the front door alone", async (wire) => {
      // Given a task of one agent, when it is asked for at another agent's endpoint, then it is not there; at the front
      // door it is.
      const task = await waiting(wire);
      for (const [name, { request }] of Object.entries(operations)) {
        const options = { agent: "messenger" };
        const error = await refusal(wire, name, request(task.id), options);
        assert.equal(error?.reason, "TASK_NOT_FOUND", name);
      }
      const filter = { contextId: task.contextId };
      assert.equal((await wire.call("ListTasks", filter, { agent: "messenger" })).result.totalSize, 0);
      assert.equal((await wire.call("ListTasks", filter, rehearsal)).result.totalSize, 1);
      assert.equal((await wire.call("ListTasks", { ...filter, tenant: "@messenger" })).result.totalSize, 0);
      assert.deepEqual((await wire.call("GetTask", { id: task.id })).result, task);
      assert.deepEqual((await wire.call("GetTask", { id: task.id }, rehearsal)).result, task);
      assert.deepEqual((await wire.call("GetTask", { id: task.id, tenant: "@rehearsal" })).result, task);
    });

    onEveryBinding(
      "OPVS-148 a key without messages and artifacts sees nothing of them",
      async (wire, { server }) => {
        // Given a key that may see tasks but neither messages nor artifacts, when it gets, lists and follows one, then
        // there is nothing of them in it.
        const task = await waiting(wire);
        assert(JSON.stringify(task).includes("secretly"));
        const key = (await new Client(server).withScopes("tasks:read")).key;
        await using stream = await wire.stream("SubscribeToTask", { id: task.id }, { key });
        const first = await stream.next();
        await wire.call("SendMessage", { message: message("answered secretly", { taskId: task.id }) });
        const events = [first, ...(await stream.rest())];
        assert.equal(events.at(-1).statusUpdate.status.state, "TASK_STATE_COMPLETED");
        const got = await wire.call("GetTask", { id: task.id }, { key });
        const listed = await wire.call("ListTasks", { includeArtifacts: true, historyLength: 9 }, { key });
        assert.equal(got.result.status.state, "TASK_STATE_COMPLETED");
        for (const seen of [events, got.result, listed.result])
          assert(!JSON.stringify(seen).includes("secretly"));
      },
    );

    onEveryBinding(
      "OPVS-103 a key and a token got for it are good for the same",
      async (wire, { server }) => {
        // Given a key and a token that was got for it, when operations are called with either, then both are good for the
        // same.
        const client = new Client(server);
        const made = await client.createKey({ scopes: ["tasks:read"] });
        for (const key of [made.key, await tokenFor(client, made)]) {
          assert.equal((await wire.call("ListTasks", {}, { key })).error, undefined);
          const error = await refusal(wire, "SendMessage", { message: message("x") }, { key });
          assert.equal(error?.status, "PERMISSION_DENIED");
        }
      },
    );

    onEveryBinding(
      "OPVS-144 OPVS-145 keys in wrong places are in no error and no log",
      async (wire, { server }) => {
        // Given keys in every wrong place of a request, when it is refused, then neither the error nor the log of the
        // server has them.
        const { key: secret } = await new Client(server).createKey();
        const requests: [operation: string, request: Json, options: CallOptions][] = [
          ["GetTask", { id: secret }, {}],
          ["GetTask", { id: `Bearer ${secret}` }, {}],
          ["ListTasks", { pageToken: secret }, {}],
          ["ListTasks", { tenant: secret }, {}],
          ["ListTasks", { tenant: `@${secret}` }, {}],
          ["ListTasks", {}, { headers: { "a2a-version": secret } }],
          ["ListTasks", {}, { key: `${secret}x` }],
          ["ListTasks", {}, { key: null, headers: { authorization: secret } }],
          ["SendMessage", { message: message("x", { taskId: secret }) }, {}],
          ["SendMessage", { message: message("x", { contextId: `session_ ${secret}` }) }, {}],
          ["SendMessage", { message: message("", { parts: [{ text: "x", mediaType: secret }] }) }, {}],
          ["SendMessage", { message: message("x") }, { agent: secret }],
        ];
        for (const [operation, request, options] of requests) {
          const error = await refusal(wire, operation, request, options);
          assert(error !== null, operation);
          assert(!JSON.stringify(error).includes(secret), JSON.stringify(error));
        }
        await wire.call("SendMessage", { message: message("my name is Xaver Unverwechselbar") });
        assert.match(server.output(), /"msg":"request"/);
        for (const word of [secret, "Unverwechselbar"]) assert(!server.output().includes(word));
      },
    );

    onEveryBinding("OPVS-146 an address in a part is kept as it is and never asked", async (wire) => {
      // Given an address in a part, when the message is sent and read again, then it is as it was, and nobody asked
      // there.
      let asked = 0;
      const receiver = createServer((_request, response) => {
        asked += 1;
        response.end();
      }).listen(0, "127.0.0.1");
      await once(receiver, "listening");
      const { port } = receiver.address() as AddressInfo;
      const part = { url: `http://127.0.0.1:${port}/latest/meta-data`, mediaType: "text/plain" };
      const { result } = await wire.call("SendMessage", { message: message("x", { parts: [part] }) });
      assert.deepEqual(result.task.history[0].parts, [part]);
      const read = await wire.call("GetTask", { id: result.task.id });
      assert.deepEqual(read.result.history[0].parts, [part]);
      assert.equal(asked, 0);
      receiver.close();
    });

    onEveryBinding(
      "OPVS-133 a server behind https demands https and says how to authenticate",
      async (_wire, { server }) => {
        // Given a server that clients reach by https, when it answers, then it tells them never to come without, and how
        // to authenticate.
        for (const path of ["/opvs/rest/tasks", "/a2a/rest/tasks", "/opvs/nowhere"]) {
          const { headers } = await fetch(server.url + path);
          assert.match(headers.get("strict-transport-security") ?? "", /^max-age=\d{7,}/, path);
        }
        const { headers, status } = await fetch(`${server.url}/opvs/rpc`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
        });
        assert.equal(status, 401);
        assert.match(headers.get("www-authenticate") ?? "", /^Bearer /);
        assert.match(headers.get("strict-transport-security") ?? "", /^max-age/);
      },
    );
  },
  { env: { BRIDLE_PUBLIC_URL: "https://bridle.example.com", BRIDLE_LOG_LEVEL: "debug" } },
);
