/** `bridle acp` as an editor uses it: a real process between the protocol's own client and a real server. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { methods } from "@agentclientprotocol/sdk";
import { bridle, errorLine, fixtureAgents } from "../support/cli.ts";
import { Client, type Json } from "../support/client.ts";
import { TestEditor } from "../support/editor.ts";
import { reservedPort } from "../support/ports.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
let harn: Client;
let editor: TestEditor;
before(async () => {
  server = await startServer({ flags: ["--agents", fixtureAgents("tools.ts")] });
  harn = new Client(server);
  editor = await TestEditor.start(server, {
    flags: ["--agent", "rehearsal"],
    permit: (params) => decide(params),
  });
});
after(async () => {
  await editor[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** What the person says to the next request for permission. */
let decide: (params: Json) => string | Promise<never> = () => "allow";

/** Runs a prompt in a session of its own and gives what was shown. */
async function show(
  script: string,
  on = editor,
): Promise<{ sessionId: string; stopReason: string; updates: Json[] }> {
  const sessionId = await on.open();
  on.updates.length = 0;
  const { stopReason } = await on.prompt(sessionId, script);
  return { sessionId, stopReason, updates: [...on.updates] };
}

async function lastTask(sessionId: string): Promise<Json> {
  return (await harn.get(`/v1/sessions/${sessionId}/tasks?limit=1`)).body.data[0];
}

describe("Sessions", () => {
  test("ACP-1 given an editor, when it says hello, then it learns what the agent can", () => {
    assert.equal(editor.agent.protocolVersion, 1);
    assert.equal(editor.agent.agentInfo.name, "bridle");
    assert.equal(editor.agent.agentCapabilities.loadSession, true);
  });

  test("ACP-2 a new session exists on the server with the chosen agent and the directory", async () => {
    // Given a new session, when it is opened, then it is one of the server, for the chosen agent, and knows the
    // directory.
    const sessionId = await editor.open("/home/me/project");
    const session = (await harn.get(`/v1/sessions/${sessionId}`)).body;
    assert.equal(session.persona_id, "persona_rehearsal");
    assert.deepEqual(session.metadata.acp, { cwd: "/home/me/project", client: "test-editor" });
  });

  test("ACP-3 a loaded conversation replays in order and its open question takes the next prompt", async () => {
    // Given a conversation, when another editor loads it, then it is told in order, and the question that it ended with
    // takes the next prompt.
    const { sessionId } = await show("say first\nask Which region?");
    await using other = await TestEditor.start(server);
    await other.load(sessionId);
    assert.deepEqual(other.texts("user_message_chunk"), ["say first\nask Which region?"]);
    assert.deepEqual(other.texts(), ["first", "Which region?"]);
    assert.equal((await other.prompt(sessionId, "eu")).stopReason, "end_turn");
    assert.deepEqual(other.texts().slice(2), ["You said: eu"]);
    await assert.rejects(other.load("session_unknown"), { code: -32002 });
  });
});

describe("Prompts", () => {
  test("ACP-4 what a task says and does is shown as messages, thoughts and tool calls", async () => {
    // Given a prompt, when its task says and does something, then that is shown as messages, thoughts and tool calls.
    const { stopReason, updates, sessionId } = await show(
      "progress packing\nsay hello\neffect mail.send\nartifact a.txt text\nreturn done",
    );
    assert.equal(stopReason, "end_turn");
    const shown = updates.map(({ sessionUpdate }) => sessionUpdate);
    assert.deepEqual(shown, [
      "agent_thought_chunk",
      "agent_message_chunk",
      "tool_call",
      "tool_call_update",
      "agent_message_chunk",
      "agent_message_chunk",
      "agent_message_chunk",
    ]);
    assert.equal(updates[0].content.text, "packing");
    assert.equal(updates[1].content.text, "hello");
    assert.equal(updates[2].title, "mail.send");
    assert.equal(updates[2].kind, "execute");
    assert.equal(updates[3].toolCallId, updates[2].toolCallId);
    assert.equal(updates[3].status, "completed");
    assert.equal(updates[5].content.type, "resource_link");
    assert.equal(updates[6].content.text, "done");
    assert.equal((await lastTask(sessionId)).status, "COMPLETED");
  });

  test("ACP-5 a link, a file and an image in a prompt reach the task as parts", async () => {
    // Given a prompt with a link, a file and an image, when it is sent, then the task has them as parts.
    await using echo = await TestEditor.start(server);
    const sessionId = await echo.open();
    await echo.connection.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [
        { type: "text", text: "look" },
        { type: "resource_link", uri: "file:///a.ts", name: "a.ts", mimeType: "text/typescript" },
        { type: "resource", resource: { uri: "file:///b.ts", text: "const b = 1;" } },
        { type: "image", data: Buffer.from("not really").toString("base64"), mimeType: "image/png" },
      ],
    });
    const { parts } = (await lastTask(sessionId)).input;
    assert.deepEqual(
      parts.map(({ type }: Json) => type),
      ["text", "file_ref", "text", "image_ref"],
    );
    assert.equal(parts[1].uri, "file:///a.ts");
    assert.equal(parts[2].text, "file:///b.ts\n\nconst b = 1;");
    assert.equal((await harn.get(`/v1/artifacts/${parts[3].artifact_id}/content`)).status, 200);
    const audio = { type: "audio" as const, data: "", mimeType: "audio/wav" };
    const refused = echo.connection.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [audio],
    });
    await assert.rejects(refused, { code: -32602 });
  });

  test("ACP-6 a failed task is a prompt error with its sentence, a rejected one a refusal", async () => {
    // Given a task that fails, or that the agent rejects, when it ends, then the prompt is an error with the sentence,
    // or a refusal.
    await assert.rejects(show("fail The disk is full."), /The disk is full\./);
    const { stopReason } = await show("reject Not my job.");
    assert.equal(stopReason, "refusal");
    assert.deepEqual(editor.texts(), ["Not my job."]);
  });

  test("ACP-7 canceling a prompt cancels its task, and no second prompt runs beside the first", async () => {
    // Given a prompt under way, when the editor cancels it, then the task is canceled and the prompt says so; no second
    // one runs beside it.
    const sessionId = await editor.open();
    editor.updates.length = 0;
    const prompt = editor.prompt(sessionId, "progress begun\nsleep 3600000");
    await editor.until(({ sessionUpdate }) => sessionUpdate === "agent_thought_chunk");
    await assert.rejects(editor.prompt(sessionId, "say no"), /not over/);
    await editor.cancel(sessionId);
    assert.deepEqual(await prompt, { stopReason: "cancelled" });
    assert.equal((await lastTask(sessionId)).status, "CANCELED");
    assert.equal((await editor.prompt(sessionId, "say yes")).stopReason, "end_turn");
  });
});

describe("Questions", () => {
  test("ACP-8 without forms a question ends the turn and the next prompt answers it", async () => {
    // Given an editor without forms, when the task asks, then the turn ends with the question and the next prompt is the
    // answer.
    const { sessionId, stopReason } = await show("ask Which region?\nreturn over");
    assert.equal(stopReason, "end_turn");
    assert.deepEqual(editor.texts(), ["Which region?"]);
    assert.equal((await editor.prompt(sessionId, "eu")).stopReason, "end_turn");
    assert.deepEqual(editor.texts(), ["Which region?", "You said: eu", "over"]);
    assert.equal((await harn.get(`/v1/sessions/${sessionId}/tasks`)).body.data.length, 1);
  });

  test("ACP-9 with forms a question is a form, and one who declines it answers later", async () => {
    // Given an editor with forms, when the task asks, then the person fills in the question's form; one who declines
    // answers later.
    const shown: Json[] = [];
    let isWilling = true;
    await using forms = await TestEditor.start(server, {
      flags: ["--persona", "persona_planner"],
      fill(params) {
        shown.push(params);
        return isWilling ? { action: "accept", content: { region: "eu", count: 3 } } : { action: "decline" };
      },
    });
    await show("go", forms);
    assert.deepEqual(forms.texts(), ["3 in eu"]);
    assert.equal(shown[0].message, "Where, and how many?");
    assert.deepEqual(shown[0].requestedSchema.properties.region, { type: "string", enum: ["eu", "us"] });
    isWilling = false;
    const { sessionId, stopReason } = await show("go", forms);
    assert.equal(stopReason, "end_turn");
    assert.match(forms.texts()[0] ?? "", /^Where, and how many\?/);
    await forms.prompt(sessionId, "not JSON");
    assert.match(forms.texts()[1] ?? "", /must be JSON/);
    await forms.prompt(sessionId, '{"region":"us","count":1}');
    assert.equal(forms.texts().at(-1), "1 in us");
  });
});

describe("Approvals", () => {
  test("ACP-10 allowing or rejecting in the editor answers the approval", async () => {
    // Given a task that needs an approval, when the person allows or rejects it, then that is the answer.
    const asked: Json[] = [];
    decide = (params) => {
      asked.push(params);
      return "allow";
    };
    await show("approve deploy");
    assert.deepEqual(editor.texts(), ["Approved: deploy"]);
    assert.deepEqual(
      asked[0].options.map(({ kind }: Json) => kind),
      ["allow_once", "reject_once"],
    );
    decide = () => "reject";
    await assert.rejects(show("approve deploy"), /denied|not approved|deploy/i);
  });

  test("ACP-11 an approval that is decided elsewhere lets the turn go on", async () => {
    // Given an approval that is decided elsewhere, when the editor still asks, then the turn goes on.
    decide = () => new Promise(() => {});
    const sessionId = await editor.open();
    editor.updates.length = 0;
    const prompt = editor.prompt(sessionId, "approve deploy");
    await editor.until(({ sessionUpdate, status }) => sessionUpdate === "tool_call" && status === "pending");
    const { waiting_for } = await lastTask(sessionId);
    await harn.post(`/v1/permission-requests/${waiting_for.permission_request_id}/respond`, {
      approved: true,
    });
    assert.equal((await prompt).stopReason, "end_turn");
    assert.deepEqual(editor.texts(), ["Approved: deploy"]);
  });

  test("ACP-12 when only signatures count, the editor is told where to approve and is not asked", async () => {
    // Given a persona for which only signatures count, when it asks, then the editor is told where to approve, and is
    // not asked.
    const { body: persona } = await harn.post("/v1/personas", {
      name: "signed",
      version: "1",
      entry_workflow: "rehearsal",
      description: "Wants signatures.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
      approval_policy: { channel: "harp" },
    });
    let isAsked = false;
    await using strict = await TestEditor.start(server, {
      flags: ["--agent", persona.name],
      permit() {
        isAsked = true;
        return "allow";
      },
    });
    const sessionId = await strict.open();
    const prompt = strict.prompt(sessionId, "approve deploy");
    await strict.until(({ content }) => content?.text?.includes("paired approver"));
    assert.equal((await lastTask(sessionId)).status, "AUTH_REQUIRED");
    await strict.cancel(sessionId);
    assert.equal((await prompt).stopReason, "cancelled");
    assert.equal(isAsked, false);
  });
});

describe("Servers that go away", () => {
  test("ACP-13 a prompt resumes after a server crash and shows nothing twice", async () => {
    // Given a prompt under way, when the server is killed and started again, then the stream is taken up and nothing is
    // shown twice.
    await using data = await temporaryDirectory();
    const port = await reservedPort();
    const first = await startProcess({ args: ["--port", port, "--data", data.path] });
    await using patient = await TestEditor.start(first, { flags: ["--agent", "rehearsal"] });
    const sessionId = await patient.open();
    const prompt = patient.prompt(sessionId, "say before\nsleep 1000\nsay after\nreturn done");
    await patient.until(({ content }) => content?.text === "before");
    await first.kill();
    await using again = await startProcess({ args: ["--port", port, "--data", data.path] });
    assert.equal((await prompt).stopReason, "end_turn");
    assert.deepEqual(patient.texts(), ["before", "after", "done"]);
    await again.kill();
    // What is refused for want of a server is said, and ends nothing.
    await assert.rejects(patient.prompt(sessionId, "say hello"), /Nobody answers at/);
    await assert.rejects(patient.open(), /Nobody answers at/);
    await using back = await startServer({ data: data.path, flags: ["--port", port] });
    assert.equal((await patient.prompt(sessionId, "say hello")).stopReason, "end_turn");
    assert.equal(patient.texts().at(-1), "hello");
    assert.ok(back.url.endsWith(port));
  });

  test("ACP-14 the agent exits when the editor quits, and the task goes on", async () => {
    // Given an editor that quits, when its input ends, then the agent ends too, and the task goes on.
    await using leaving = await TestEditor.start(server, { flags: ["--agent", "rehearsal"] });
    const sessionId = await leaving.open();
    leaving.prompt(sessionId, "progress begun\nsleep 3600000").catch(() => {});
    await leaving.until(({ sessionUpdate }) => sessionUpdate === "agent_thought_chunk");
    assert.equal(await leaving.quit(), 0);
    const { id, status } = await lastTask(sessionId);
    assert.equal(status, "WORKING");
    await harn.post(`/v1/tasks/${id}/cancel`);
  });

  test("ACP-15 invalid options are reported on standard error, with nothing on standard output", async () => {
    // Given options that cannot be meant, when it is started, then it says so on standard error and nothing on standard
    // output.
    const both = await bridle(["acp", "--agent", "a", "--persona", "b"]);
    assert.match(errorLine(both, 2), /--persona/);
    await using unknown = await TestEditor.start(server, { flags: ["--agent", "nobody"] });
    await assert.rejects(unknown.open(), /no agent and no persona "nobody"/);
    assert.match(unknown.lines.join(""), /^bridle acp: /m);
  });
});
