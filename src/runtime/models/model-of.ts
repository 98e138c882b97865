/** `ctx.model`, as the agent is given it. */

import type { AgentModel, ModelRequest, StreamOptions } from "../agents/agent-model.ts";
import { guarded } from "../run/promises.ts";
import { type Asking, generate } from "./generate.ts";

export function modelOf(asking: Asking): AgentModel {
  // What a request for JSON gives has been checked against its schema.
  return guarded({
    generate: (request: ModelRequest) => generate(asking, request, null),
    stream: (request: ModelRequest, options: StreamOptions = {}) => generate(asking, request, options),
  }) as AgentModel;
}
