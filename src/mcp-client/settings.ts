/** The MCP servers that the operator names, checked before anything is started. */

import { Type } from "typebox";
import { Compile } from "typebox/schema";
import { lazy } from "../lazy.ts";
import type { McpServerSettings } from "./mcp.ts";

/** As long as the longest timer that there is, about 24 days. */
export const timeoutMsMax = 2 ** 31 - 1;

const texts = Type.Record(Type.String(), Type.String());
const shared = {
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: timeoutMsMax })),
  effects: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Union([Type.Literal("none"), Type.Literal("reversible"), Type.Literal("irreversible")]),
    ),
  ),
};
const stdio = Type.Object(
  {
    command: Type.String({ minLength: 1 }),
    args: Type.Optional(Type.Array(Type.String())),
    env: Type.Optional(texts),
    cwd: Type.Optional(Type.String({ minLength: 1 })),
    ...shared,
  },
  { additionalProperties: false },
);
const http = Type.Object(
  { url: Type.String({ minLength: 1 }), headers: Type.Optional(texts), ...shared },
  { additionalProperties: false },
);
const stdioCheck = lazy(() => Compile(stdio));
const httpCheck = lazy(() => Compile(http));

/** What is wrong with the settings, without any value of them: headers and environment hold secrets. */
export class McpSettingsError extends Error {
  override name = "McpSettingsError";
}

/** The settings by the name of the server; throws `McpSettingsError` for what is not understood. */
export function readMcpServers(value: unknown): Record<string, McpServerSettings> {
  if (!isRecord(value)) throw new McpSettingsError("MCP servers must be an object: settings by name.");
  return Object.fromEntries(
    Object.entries(value).map(([name, settings]) => [name, readServer(name, settings)]),
  );
}

function readServer(name: string, settings: unknown): McpServerSettings {
  if (!/^[a-z0-9-]{1,32}$/.test(name)) {
    throw new McpSettingsError(
      `The name ${JSON.stringify(name.slice(0, 64))} of an MCP server must have 1 to 32 lower-case letters, digits or dashes.`,
    );
  }
  const refuse = (problem: string) => new McpSettingsError(`MCP server ${name}: ${problem}`);
  if (!isRecord(settings)) throw refuse("its settings must be an object.");
  if (Object.hasOwn(settings, "command") === Object.hasOwn(settings, "url")) {
    throw refuse("it needs either a command (a process to start) or a url.");
  }
  if (stdioCheck().Check(settings)) return settings;
  if (httpCheck().Check(settings)) {
    const problem = problemWithUrl(settings.url) ?? problemWithHeaders(settings.headers ?? {});
    if (problem !== null) throw refuse(problem);
    return settings;
  }
  const [, [first]] = (Object.hasOwn(settings, "command") ? stdioCheck() : httpCheck()).Errors(settings);
  const where = first?.instancePath.slice(1).replaceAll("/", ".") || "its settings";
  throw refuse(`${where} ${first?.keyword === "boolean" ? "is not known here" : first?.message}.`);
}

function problemWithUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return "its url must be http or https.";
  if (url.username !== "" || url.password !== "") {
    return "its url must not hold credentials: they belong into headers.";
  }
  const isThisMachine = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  return url.protocol === "https:" || isThisMachine ? null : "its url must be https, or on this machine.";
}

function problemWithHeaders(headers: Record<string, string>): string | null {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers([[name, value]]);
    } catch {
      return `headers.${name.slice(0, 64)} is not a header that can be sent.`;
    }
  }
  return null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
