/** Talking to a running server from the command line: where it is, with which key, and what its errors mean. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { defaultConfig } from "../config.ts";
import { protocolVersion } from "../kernel/protocol-version.ts";
import { httpUrl } from "./option-parsers.ts";

export interface RemoteSettings {
  url: string;
  key?: string;
  data: string;
}

export function withRemoteOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--url <url>", "where the server is")
        .env("BRIDLE_URL")
        .argParser(httpUrl)
        .default(`http://${defaultConfig.host}:${defaultConfig.port}`),
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
}

interface ErrorBody {
  error?: { code?: string; message?: string; details?: Record<string, unknown> };
}

/** Nobody answers at the address. */
export class NoServer extends Error {
  override name = "NoServer";
}

/** The server answered that it will not. */
export class Refused extends Error {
  override name = "Refused";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class Remote {
  readonly url: string;
  readonly #key: string;

  constructor({ url, key, data }: RemoteSettings) {
    this.url = url.replace(/\/+$/, "");
    this.#key = key ?? process.env.BRIDLE_API_KEY ?? keyIn(data);
    if (!/^[\x21-\x7e]+$/.test(this.#key)) throw new Error("the API key has characters that no key has.");
  }

  /** For those who ask the server in another way. */
  credentials(): { Authorization: string } {
    return { Authorization: `Bearer ${this.#key}` };
  }

  /** Throws when nobody answers, in words that help. */
  async requireServer(): Promise<void> {
    await (await this.#fetch("/health", {})).body?.cancel();
  }

  /** Keeps a file at the server. Gives the artifact's id. */
  async upload(name: string, content: Blob, signal: AbortSignal): Promise<string> {
    const path = `/v1/artifacts/upload?kind=file&name=${encodeURIComponent(name)}`;
    const response = await this.#request("POST", path, content, content.type, {}, signal);
    // What the server of this protocol version answers has the shape that its document says.
    return ((await response.json()) as { id: string }).id;
  }

  async json<T>(
    method: "GET" | "POST",
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<T> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const response = await this.#request(method, path, text, "application/json", headers);
    // What the server of this protocol version answers has the shape that its document says.
    return (await response.json()) as T;
  }

  async delete(path: string): Promise<void> {
    await (await this.#request("DELETE", path)).body?.cancel();
  }

  async send(path: string, text: string, type: string): Promise<unknown> {
    return await (await this.#request("POST", path, text, type)).json();
  }

  /** A file, line by line, without holding it in memory. */
  async *lines(path: string): AsyncGenerator<string> {
    const response = await this.#request("GET", path);
    yield* splitLines(response.body ?? []);
  }

  /** The bytes of a stream, as they come. */
  async stream(
    path: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#request("GET", path, undefined, undefined, headers, signal);
    return response.body ?? new ReadableStream();
  }

  async text(path: string): Promise<string> {
    return await (await this.#request("GET", path)).text();
  }

  /** Every item of a list. */
  async *items<T>(path: string): AsyncGenerator<T> {
    let cursor: string | null = null;
    do {
      const query: string = `limit=200${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
      const page: { data: T[]; page: { next_cursor: string | null } } = await this.json(
        "GET",
        `${path}${path.includes("?") ? "&" : "?"}${query}`,
      );
      yield* page.data;
      cursor = page.page.next_cursor;
    } while (cursor !== null);
  }

  async #request(
    method: string,
    path: string,
    body?: string | Blob,
    type = "application/json",
    headers: Record<string, string> = {},
    signal: AbortSignal | null = null,
  ): Promise<Response> {
    const response = await this.#fetch(path, {
      method,
      headers: {
        ...this.credentials(),
        "Harn-Agents-Protocol-Version": protocolVersion,
        ...(body === undefined ? {} : { "Content-Type": type }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      signal,
    });
    if (response.ok) return response;
    throw new Refused(response.status, await explain(response));
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(this.url + path, init);
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new NoServer(
        `there is no server at ${this.url}. Start one with \`bridle serve\`, or say where it is with --url.`,
        { cause: error },
      );
    }
  }
}

function keyIn(data: string): string {
  const file = join(data, "admin.key");
  if (existsSync(file)) return readFileSync(file, "utf8").trim();
  throw new Error(
    `no API key: set BRIDLE_KEY, or say with --data where the server keeps its key (${file} is not there).`,
  );
}

async function explain(response: Response): Promise<string> {
  const body = await response.json().then(
    (value) => value as ErrorBody,
    () => ({}) as ErrorBody,
  );
  const {
    code = `HTTP ${response.status}`,
    message = "the server gave no reason.",
    details = {},
  } = body.error ?? {};
  const known = Object.entries(details).flatMap(([name, value]) =>
    Array.isArray(value) ? [`\n  ${name}: ${value.length === 0 ? "none" : value.join(", ")}`] : [],
  );
  return `${message} (${code})${known.join("")}`;
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
