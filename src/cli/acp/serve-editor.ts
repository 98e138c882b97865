/** Connects an editor to sessions of a server, until it hangs up. Standard output is the protocol's alone. */

import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";
import { ConnectionFailed } from "../../sdk/client/index.ts";
import { version } from "../../version.ts";
import type { AcpSettings } from "../commands/acp.ts";
import { isRefusal, Remote } from "../remote.ts";
import { Editor } from "./editor.ts";
import { say } from "./say.ts";

/** What an editor sends at once: a prompt with the files that belong to it. */
const messageBytesMax = 32 * 1024 * 1024;

export async function serveEditor(settings: AcpSettings): Promise<void> {
  const remote = new Remote(settings);
  const editor = new Editor(remote, settings);
  const app = agent({ name: "bridle" })
    .onRequest(methods.agent.initialize, ({ params }) => {
      editor.meet(params);
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: "bridle", title: "Bridle", version },
        agentCapabilities: { loadSession: true, promptCapabilities: { image: true, embeddedContext: true } },
        authMethods: [],
      };
    })
    .onRequest(methods.agent.session.new, ({ params }) => inWords(() => editor.open(params)))
    .onRequest(methods.agent.session.load, ({ params, client }) => inWords(() => editor.load(params, client)))
    .onRequest(methods.agent.session.prompt, ({ params, client, signal }) =>
      inWords(() => editor.prompt(params, client, signal)),
    )
    .onNotification(methods.agent.session.cancel, ({ params }) => editor.cancel(params.sessionId));
  const stream = ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin), {
    maxMessageBytes: messageBytesMax,
  });
  say(`agent for an editor, with the server at ${remote.url}`);
  await app.connect(stream).closed;
}

/** What went wrong is the answer to the request, in a sentence, and ends nothing else. */
async function inWords<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof RequestError) throw error;
    const sentence = error instanceof Error ? error.message : String(error);
    say(sentence);
    // -32603 is "internal error", and all that the protocol has for a server that is away.
    const data = isRefusal(error)
      ? { status: error.status }
      : { is_server_gone: error instanceof ConnectionFailed };
    throw new RequestError(-32_603, sentence, data);
  }
}
