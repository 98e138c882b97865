/** The official A2A SDK's own servers, JSON-RPC and gRPC, with its in-memory store and an agent that answers at once. */

import { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";

const echo: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state: string) => ({ state, timestamp: new Date().toISOString() });
    const submitted = { id: taskId, contextId, status: status("TASK_STATE_SUBMITTED") };
    bus.publish(AgentEvent.task({ ...Task.fromJSON(submitted), history: [userMessage] }));
    const artifact = { artifactId: "result", parts: [{ text: "hello" }] };
    bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact })));
    const completed = { taskId, contextId, status: status("TASK_STATE_COMPLETED") };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(completed)));
    bus.finished();
  },
  async cancelTask() {},
};

const app = express();
const listener = app.listen(0, "127.0.0.1", () => {
  const address = listener.address();
  if (typeof address !== "object" || address === null) return;
  const url = `http://127.0.0.1:${address.port}`;
  const card = AgentCard.fromJSON({
    name: "echo",
    description: "Says back what it is told.",
    version: "1.0.0",
    supportedInterfaces: ["JSONRPC", "GRPC"].map((protocolBinding) => ({
      url,
      protocolBinding,
      protocolVersion: "1.0",
    })),
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "echo", name: "Echo", description: "Says it back.", tags: ["demo"] }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), echo);
  app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  console.log(`URL ${url}`);
  const grpc = new Server();
  grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
    if (error !== null) throw error;
    console.log(`gRPC http://127.0.0.1:${port}`);
  });
});
