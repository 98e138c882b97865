/**
 * Service parameters: what goes beside a request, in headers, in gRPC metadata or in the query. Every name has two
 * spellings, ours and that of A2A; they must not disagree.
 */

import { readTrace, type TraceContext } from "../../kernel/core/trace.ts";
import type { Arrival, ProtocolVersion } from "./call.ts";
import { InvalidParams, OpvsError } from "./errors.ts";

const protocolVersions: readonly ProtocolVersion[] = ["1.0", "0.3"];
/** Prefixes of the names; the first is the one that we call ours. */
const prefixes = ["OPVS", "A2A"] as const;
const extensionsMax = 50;

export interface ServiceParameters {
  version: ProtocolVersion;
  /** Whether the client said which version it speaks. */
  isVersionGiven: boolean;
  requestedExtensions: readonly string[];
  since: string | null;
  trace: TraceContext | null;
}

export function readServiceParameters(arrival: Arrival): ServiceParameters {
  const given = parameter(arrival, "Version") ?? "";
  return {
    version: versionOf(given),
    isVersionGiven: given !== "",
    requestedExtensions: extensionsOf(arrival),
    since: parameter(arrival, "Since") ?? arrival.query("since") ?? null,
    trace: readTrace(arrival.header("traceparent"), arrival.header("tracestate")),
  };
}

/** The names under which a parameter is sent. */
export function spellings(name: string): string[] {
  return prefixes.map((prefix) => `${prefix}-${name}`);
}

function parameter(arrival: Arrival, name: string): string | undefined {
  const names = spellings(name);
  const inHeaders = names.map((spelling) => arrival.header(spelling.toLowerCase()));
  const found = inHeaders.filter((value) => value !== undefined && value.trim() !== "");
  // A header is meant for this request; a query may be part of an address that was copied.
  const values = found.length > 0 ? found : names.map((spelling) => arrival.query(spelling));
  const distinct = new Set(values.flatMap((value) => (value === undefined ? [] : value.trim())));
  if (distinct.size > 1) {
    const field = names.join(" and ");
    throw new InvalidParams([{ field, description: "say different things" }]);
  }
  return distinct.values().next().value;
}

/** Nothing said means 0.3, whose clients did not say. The third number of a version makes no difference. */
function versionOf(given: string): ProtocolVersion {
  if (given === "") return "0.3";
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})(?:\.\d{1,9})?$/.exec(given) ?? [];
  if (major === "1" && minor === "0") return "1.0";
  if (major === "0" && minor === "3") return "0.3";
  throw new OpvsError(
    "VERSION_NOT_SUPPORTED",
    `Version ${JSON.stringify(given.slice(0, 20))} is not spoken here.`,
    { supportedVersions: protocolVersions.join(",") },
  );
}

function extensionsOf(arrival: Arrival): string[] {
  const given = [...spellings("Extensions"), "X-A2A-Extensions"].map(
    (name) => arrival.header(name.toLowerCase()) ?? arrival.query(name) ?? "",
  );
  const uris = given
    .join(",")
    .split(",")
    .map((uri) => uri.trim());
  return [...new Set(uris.filter((uri) => uri !== ""))].slice(0, extensionsMax);
}
