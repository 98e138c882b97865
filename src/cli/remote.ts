/** Talking to a running server from the command line: where it is, with which key, and what its errors mean. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { readAdminKey } from "../policy/admin-key.ts";
import { readJson, readText } from "../sdk/client/answers.ts";
import {
  type Artifact,
  type BridleClient,
  BridleError,
  createClient,
  type PageOptions,
} from "../sdk/client/index.ts";
import { everyItem } from "../sdk/client/lists.ts";
import { createTransport, type Transport } from "../sdk/client/transport.ts";
import { defaultConfig } from "../server/config.ts";
import { addressIn } from "../server/server-address.ts";
import { httpUrl } from "./settings/option-parsers.ts";

export interface RemoteSettings {
  url?: string;
  key?: string;
  data: string;
}

/** `fromProject`: where nothing says which server, the configuration of the project in this directory does. */
export function withRemoteOptions(command: Command, { fromProject = true } = {}): Command {
  const remote = command
    .addOption(
      new Option(
        "--url <url>",
        `where the server is. Default: where the one of the data directory listens, or port ${defaultConfig.port}`,
      )
        .env("BRIDLE_URL")
        .argParser(httpUrl),
    )
    .addOption(
      new Option(
        "--key <key>",
        "an API key; better set in the environment. Default: the one in the data directory",
      ).env("BRIDLE_KEY"),
    )
    .addOption(
      new Option("--data <directory>", "the server's data directory, where its key is")
        .env("BRIDLE_DATA")
        .default(defaultConfig.dataDirectory),
    );
  return fromProject ? remote.hook("preAction", () => useProjectData(command)) : remote;
}

/** A project may keep its data elsewhere. Its configuration is code and takes a moment, so it is asked only when needed. */
export async function useProjectData(command: Command): Promise<void> {
  const { url, key, data } = command.opts<RemoteSettings>();
  const isGuess = command.getOptionValueSource("data") === "default";
  if (!isGuess || (url !== undefined && key !== undefined) || existsSync(data)) return;
  const { projectData } = await import("./settings/project-data.ts");
  const found = await projectData(process.cwd());
  if (found !== null) command.setOptionValueWithSource("data", found, "config");
}

/** Longer than any answer takes that a command waits for: replays, and sweeps of a large log. */
const answerMsMax = 15 * 60 * 1000;

/** Whether the server said that it will not; otherwise it was not there, or did not make sense. */
export function isRefusal(error: unknown): error is BridleError & { status: number } {
  return error instanceof BridleError && error.status !== null;
}

/** A server, for what `bridle/client` has no words for. Everything that goes wrong is a `BridleError` here as there. */
export class Remote {
  readonly url: string;
  readonly client: BridleClient;
  readonly #key: string;
  readonly #transport: Transport;

  constructor(settings: RemoteSettings) {
    this.url = urlOf(settings).replace(/\/+$/, "");
    this.#key = settings.key ?? process.env.BRIDLE_API_KEY ?? keyIn(settings.data);
    if (!/^[\x21-\x7e]+$/.test(this.#key)) throw new Error("the API key has characters that no key has.");
    // Somebody waits at a terminal, and would rather know at once that nobody is there.
    const options = { url: this.url, key: this.#key, retries: 0, timeoutMs: answerMsMax };
    this.client = createClient(options);
    this.#transport = createTransport(options);
  }

  /** For those who ask the server in another way. */
  credentials(): { Authorization: string } {
    return { Authorization: `Bearer ${this.#key}` };
  }

  /** Throws when nobody answers, in words that help. */
  async requireServer(): Promise<void> {
    const heard = this.#transport.request("/health", {}, readText);
    // Whatever it says, somebody is there.
    await heard.catch((error) => (isRefusal(error) ? null : Promise.reject(error)));
  }

  async json<T>(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<T> {
    // What the server of this protocol version answers has the shape that its document says.
    return (await this.#transport.request(path, { method, body, headers }, readJson)) as T;
  }

  /** Keeps a file at the server, without holding it in memory. Gives the artifact's id. */
  async upload(name: string, file: Blob, signal: AbortSignal): Promise<string> {
    const query = { kind: "file", name };
    const content = { bytes: file, mimeType: file.type };
    const ask = { method: "POST", query, content, signal } as const;
    const { id } = await this.#transport.resource<Artifact>("artifact", "/v1/artifacts/upload", ask);
    return id;
  }

  async delete(path: string): Promise<void> {
    await this.#transport.request(path, { method: "DELETE" }, readText);
  }

  /** Sends a file as it is, without holding it in memory. */
  async send(path: string, file: Blob): Promise<unknown> {
    const content = { bytes: file, mimeType: file.type };
    return await this.#transport.request(path, { method: "POST", content }, readJson);
  }

  /** A file, line by line, without holding it in memory. */
  async *lines(path: string): AsyncGenerator<string> {
    const response = await this.#transport.open(path, {});
    yield* splitLines(response.body ?? []);
  }

  async text(path: string): Promise<string> {
    return await (await this.#transport.open(path, {})).text();
  }

  /** Every item of a list, or those after a cursor. */
  items<T>(path: string, after?: string): AsyncGenerator<T> {
    return everyItem<T, PageOptions>(
      ({ cursor }) => this.#transport.page<T>(path, { query: { limit: 200, cursor } }),
      after === undefined ? {} : { cursor: after },
    );
  }
}

/** Where it was said to be, or where the server that uses the data directory listens, or the usual place. */
function urlOf({ url, data }: RemoteSettings): string {
  return url ?? addressIn(data) ?? `http://${defaultConfig.host}:${defaultConfig.port}`;
}

function keyIn(data: string): string {
  const file = join(data, "admin.key");
  const key = readAdminKey(file);
  if (key !== null) return key;
  throw new Error(
    `there is no server of this folder, and no API key for another one (${file} is not there). Start one here with \`bridle dev\`; or set BRIDLE_KEY, or say with --data where the server keeps its key.`,
  );
}

/** The lines of a stream of bytes, without their ends. */
export async function* splitLines(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const chunk of bytes) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
  const last = rest + decoder.decode();
  if (last !== "") yield last;
}
