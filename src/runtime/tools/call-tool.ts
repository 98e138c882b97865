/** `ctx.tool`: finds a tool and calls it. */

import type { JsonValue } from "../../store/port.ts";
import type { AgentContext } from "../agents/agent.ts";
import { AgentFailure } from "../run/failures.ts";
import { jsonCopy } from "../run/json.ts";
import type { Run } from "../run/run.ts";
import type { World } from "../world.ts";
import type { Acted } from "./act.ts";
import { callLocalTool } from "./local-tool.ts";
import { callMcpTool } from "./mcp-tool.ts";
import type { FoundTool, Toolbox, UsableTool } from "./toolbox.ts";

export class ToolCaller {
  readonly toolbox: Toolbox;
  readonly #run: Run;
  readonly #world: World;
  readonly #ctx: () => AgentContext;

  constructor(run: Run, world: World, toolbox: Toolbox, ctx: () => AgentContext) {
    this.#run = run;
    this.#world = world;
    this.toolbox = toolbox;
    this.#ctx = ctx;
  }

  async call(tool: UsableTool | string, input: JsonValue | undefined): Promise<JsonValue> {
    const found = typeof tool === "string" ? await this.toolbox.find(tool) : this.toolbox.given(tool);
    const { output, withheld } = await this.act(found, input);
    if (withheld !== null) throw new AgentFailure("not_carried_out", withheld);
    return output;
  }

  /** `callId` is the name that a model has given the call, if one asks for it. */
  async act(found: FoundTool, given: JsonValue | undefined, callId?: string): Promise<Acted> {
    const call = { input: jsonCopy(given ?? {}), callId };
    if (found.kind === "mcp") return await callMcpTool(this.#run, this.#world.mcp, found.tool, call);
    return await callLocalTool(this.#run, this.#ctx(), found.tool, call);
  }
}
