/** Server-sent events: what waits for somebody, as it comes, each message as one event under its own name. */

import type { Hint, Told } from "../../../harp/gateway/channels.ts";
import type { Role } from "../../../harp/gateway/principal.ts";
import { SseResponse } from "../../sse.ts";
import { admittedBy } from "../admit.ts";
import type { HarpCall } from "../call.ts";
import type { HarpRoute } from "../route.ts";
import type { HarpOptions } from "../surface.ts";

const ping = "event: ping\ndata: {}\n\n";

export const streamRoutes: HarpRoute[] = (["approver", "enforcer"] as const).map((role) => ({
  method: "GET",
  path: `/v1/sse/${role}s/:id`,
  for: role,
  body: "ignored",
  handle: (call, options) => stream(call, options, role),
}));

async function stream(call: HarpCall, { stopped }: HarpOptions, role: Role): Promise<null> {
  const { gateway, reply, request } = call;
  const id = call.param("id");
  const principal = call.parties.as(role, id);
  const { isStillAllowed } = admittedBy(request);
  const ended = new AbortController();
  const opened = Promise.withResolvers<SseResponse>();
  // The channel comes first: what it is refused for is an ordinary answer.
  const channel = await gateway.connect(
    principal,
    { role, id },
    {
      transport: "sse",
      send: async (message) => await (await opened.promise).write(frameOf(message)),
      end: () => ended.abort(),
    },
  );
  const response = new SseResponse(reply, {
    heartbeatMs: gateway.deps.settings.pingMs,
    heartbeat: ping,
    stopped: AbortSignal.any([stopped, ended.signal]),
    isStillAllowed: Object.assign(
      async () => {
        // Somebody reads what is written: as much of a sign of life as a stream can give.
        if (!reply.raw.writableNeedDrain) gateway.alive(channel);
        return await isStillAllowed();
      },
      { watch: isStillAllowed.watch },
    ),
  });
  opened.resolve(response);
  const { signal } = response;
  if (!signal.aborted)
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  channel.close();
  response.end();
  return null;
}

/** One line of data, also for those who take more for the end of a line than this format does. */
function frameOf(message: Told | Hint): string {
  const data = JSON.stringify(message).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  return `id: ${message.msgId}\nevent: ${message.msgType}\ndata: ${data}\n\n`;
}
