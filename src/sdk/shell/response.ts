/** A response message as it came from the engine: checked as far as the shell relies on it, the rest ignored. */

import { type Directive, parseDirective } from "./directive.ts";
import { ShellError, shellError } from "./errors.ts";
import {
  type Json,
  type JsonObject,
  malformed,
  member,
  optionalBoolean,
  optionalList,
  optionalObject,
  optionalText,
  requireObject,
  requireText,
} from "./json.ts";

/** The version of the wire format that this shell speaks. */
export const protocolVersion = "1.0.0";

/** More directives in one response than anybody can follow. */
const directivesMax = 1000;
const denialsMax = 1000;
const versionsMax = 100;
const idCharsMax = 1024;
/** Tokens are opaque and may hold state of the engine; they come back in every later request. */
const tokenCharsMax = 16_384;
const messageCharsMax = 65_536;

export interface Continuation {
  run_id?: string;
  sop_id?: string;
  continuation_token?: string;
}

export interface CapabilityDenial {
  capability: string;
  code: string | undefined;
  message: string | undefined;
}

export interface ResponseMessage {
  protocolVersion: string;
  requestId: string | undefined;
  correlationId: string | undefined;
  supportedProtocolVersions: string[];
  /** Undefined when the engine says nothing about it. */
  supportedCapabilities: JsonObject | undefined;
  capabilityDenials: CapabilityDenial[];
  directives: Directive[];
  /** What the next request needs to go on with this run; undefined when the run has ended. */
  continuation: Continuation | undefined;
  error: ShellError | undefined;
  /** The `response` object as it came, for what deployments add to it. */
  raw: JsonObject;
}

const semver = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

export function parseResponse(value: Json): ResponseMessage {
  const source = requireObject(value, "the message");
  const get = (name: string) => member(source, name);
  const version = requireText(get("protocol_version"), "protocol_version", idCharsMax);
  if (!semver.test(version)) throw malformed("protocol_version", "a semantic version");
  const supportedProtocolVersions = optionalList(
    get("supported_protocol_versions"),
    "supported_protocol_versions",
    versionsMax,
  ).map((item, index) => requireText(item, `supported_protocol_versions[${index}]`, idCharsMax));
  requireOurMajor(version, supportedProtocolVersions);
  const raw = requireObject(get("response"), "response");
  return {
    protocolVersion: version,
    requestId: optionalText(get("request_id"), "request_id", idCharsMax),
    correlationId: optionalText(get("correlation_id"), "correlation_id", idCharsMax),
    supportedProtocolVersions,
    supportedCapabilities: optionalObject(get("supported_capabilities"), "supported_capabilities"),
    capabilityDenials: optionalList(get("capability_denials"), "capability_denials", denialsMax).map(
      parseDenial,
    ),
    directives: optionalList(
      member(raw, "action_directives"),
      "response.action_directives",
      directivesMax,
    ).map((item, index) => parseDirective(item, `response.action_directives[${index}]`)),
    continuation: parseContinuation(member(raw, "continuation"), "response.continuation"),
    error: errorOf(raw, supportedProtocolVersions),
    raw,
  };
}

/** Within a major version whatever is new can be ignored; across majors the same words may mean other things. */
function requireOurMajor(version: string, supported: readonly string[]): void {
  if (version.split(".")[0] === protocolVersion.split(".")[0]) return;
  throw versionError(`The engine speaks ${version}`, supported);
}

function versionError(found: string, supported: readonly string[]): ShellError {
  const offer = supported.length === 0 ? "" : ` It supports ${supported.join(", ")}.`;
  return shellError(
    "protocol_version_unsupported",
    `${found}; this shell speaks ${protocolVersion}.${offer}`,
    {
      origin: "engine",
      details: { supported_protocol_versions: [...supported] },
    },
  );
}

function parseDenial(value: Json, index: number): CapabilityDenial {
  const path = `capability_denials[${index}]`;
  const source = requireObject(value, path);
  return {
    capability: requireText(member(source, "capability"), `${path}.capability`, idCharsMax),
    code: optionalText(member(source, "code"), `${path}.code`, idCharsMax),
    message: optionalText(member(source, "message"), `${path}.message`, messageCharsMax),
  };
}

/** Also for what an embedding program kept from an earlier conversation. */
export function parseContinuation(value: Json | undefined, path: string): Continuation | undefined {
  const source = optionalObject(value, path);
  if (source === undefined) return undefined;
  const get = (name: string) => optionalText(member(source, name), `${path}.${name}`, tokenCharsMax);
  const [runId, sopId, token] = [get("run_id"), get("sop_id"), get("continuation_token")];
  if (runId === undefined && token === undefined) return undefined;
  return {
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(sopId === undefined ? {} : { sop_id: sopId }),
    ...(token === undefined ? {} : { continuation_token: token }),
  };
}

function errorOf(raw: JsonObject, supported: readonly string[]): ShellError | undefined {
  const status = requireText(member(raw, "status"), "response.status", idCharsMax);
  if (status === "success") return undefined;
  if (status !== "error") throw malformed("response.status", '"success" or "error"');
  const source = optionalObject(member(raw, "error"), "response.error");
  if (source === undefined) {
    return new ShellError("engine_error", "The engine reports an error and does not say which.", {
      origin: "engine",
    });
  }
  const code = requireText(member(source, "code"), "response.error.code", idCharsMax);
  const message = optionalText(member(source, "message"), "response.error.message", messageCharsMax);
  if (code === "protocol_version_unsupported") {
    return versionError(message?.replace(/\.$/, "") ?? "The engine refuses our version", supported);
  }
  return new ShellError(code, message ?? `The engine reports ${code}.`, {
    origin: "engine",
    retryable: optionalBoolean(member(source, "retryable"), "response.error.retryable") ?? false,
    details: optionalObject(member(source, "details"), "response.error.details") ?? {},
  });
}
