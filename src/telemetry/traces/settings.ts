/**
 * What the operator wants of traces, in the environment variables that OpenTelemetry has for it. Read here are those that its
 * libraries leave to the program; where spans go, with which headers and how fast is read by the exporter itself.
 *
 * Nothing is exported unless one of them asks for it: an address, or `OTEL_TRACES_EXPORTER`.
 */

export interface TraceSettings {
  exporter: "otlp" | "console";
  sampler: { name: SamplerName; ratio: number };
  /** How long spans are gathered, and how many are sent at once. */
  delayMs: number;
  spansMax: number;
  /** How long one export may take. */
  timeoutMs: number;
  /** Whether what was said to models and tools, and by them, is in the spans. */
  withContent: boolean;
}

const samplerNames = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;
export type SamplerName = (typeof samplerNames)[number];

const protocolSpoken = "http/protobuf";

type Environment = Readonly<Record<string, string | undefined>>;

/** Null when no traces are wanted. What cannot be done as it was said is a problem, in words for the log. */
export function readTraceSettings(env: Environment): { settings: TraceSettings | null; problems: string[] } {
  const problems: string[] = [];
  const exporter = exporterOf(env, problems);
  if (exporter === null) return { settings: null, problems };
  const propagators = listOf(env.OTEL_PROPAGATORS);
  const others = propagators.filter((name) => name !== "tracecontext" && name !== "baggage");
  if (others.length > 0) problems.push("OTEL_PROPAGATORS: only tracecontext is understood and sent.");
  const settings: TraceSettings = {
    exporter,
    sampler: samplerOf(env, problems),
    delayMs: numberOf(env, "OTEL_BSP_SCHEDULE_DELAY", 5000, problems),
    spansMax: Math.max(1, numberOf(env, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, problems)),
    timeoutMs: Math.max(1, numberOf(env, "OTEL_BSP_EXPORT_TIMEOUT", 30_000, problems)),
    withContent: isTrue(env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT),
  };
  return { settings, problems };
}

/** Credentials in the headers and the address of the collector, for those who keep them out of the log. */
export function exporterSecrets(env: Environment): string[] {
  const headers = [env.OTEL_EXPORTER_OTLP_HEADERS, env.OTEL_EXPORTER_OTLP_TRACES_HEADERS];
  const sent = headers.flatMap(listOf).map((pair) => pair.slice(pair.indexOf("=") + 1).trim());
  const addresses = [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT];
  const urls = addresses.flatMap((address) => URL.parse(address ?? "") ?? []);
  const inUrls = urls.flatMap(({ password, searchParams }) => [password, ...searchParams.values()]);
  const spellings = [...sent, ...inUrls].flatMap((value) => [value, decoded(value)]);
  // A collector may quote what follows `Bearer` or `Basic` alone.
  const all = spellings.flatMap((value) => [value, value.slice(value.indexOf(" ") + 1)]);
  return [...new Set(all)].filter((value) => value !== "");
}

function exporterOf(env: Environment, problems: string[]): TraceSettings["exporter"] | null {
  if (isTrue(env.OTEL_SDK_DISABLED)) return null;
  const endpoint = textOf(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) ?? textOf(env.OTEL_EXPORTER_OTLP_ENDPOINT);
  const named = textOf(env.OTEL_TRACES_EXPORTER) ?? (endpoint === null ? "none" : "otlp");
  if (named === "none" || named === "console") return named === "none" ? null : "console";
  if (named !== "otlp") {
    problems.push("OTEL_TRACES_EXPORTER is otlp, console or none; no traces are exported.");
    return null;
  }
  const protocol = textOf(env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL) ?? textOf(env.OTEL_EXPORTER_OTLP_PROTOCOL);
  if (protocol !== null && protocol !== protocolSpoken) {
    problems.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL: only ${protocolSpoken} is spoken, which collectors take on port 4318; no traces are exported.`,
    );
    return null;
  }
  // The address may hold a password, so it is not repeated.
  if (endpoint !== null && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? "")) {
    problems.push("OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL; no traces are exported.");
    return null;
  }
  return "otlp";
}

function samplerOf(env: Environment, problems: string[]): TraceSettings["sampler"] {
  const named = textOf(env.OTEL_TRACES_SAMPLER) ?? "parentbased_always_on";
  const name = samplerNames.find((known) => known === named);
  if (name === undefined) {
    problems.push(`OTEL_TRACES_SAMPLER is one of ${samplerNames.join(", ")}; every trace is exported.`);
    return { name: "parentbased_always_on", ratio: 1 };
  }
  const given = textOf(env.OTEL_TRACES_SAMPLER_ARG);
  if (given === null || !name.endsWith("traceidratio")) return { name, ratio: 1 };
  const ratio = Number(given);
  if (ratio >= 0 && ratio <= 1) return { name, ratio };
  problems.push("OTEL_TRACES_SAMPLER_ARG is a number from 0 to 1; every trace is exported.");
  return { name, ratio: 1 };
}

function numberOf(env: Environment, name: string, fallback: number, problems: string[]): number {
  const given = textOf(env[name]);
  if (given === null) return fallback;
  const value = Number(given);
  if (Number.isSafeInteger(value) && value >= 0) return Math.min(value, 2 ** 31 - 1);
  problems.push(`${name} is a whole number; it is taken as ${fallback}.`);
  return fallback;
}

function isTrue(value: string | undefined): boolean {
  return textOf(value)?.toLowerCase() === "true";
}

/** An empty variable is as good as none. */
function textOf(value: string | undefined): string | null {
  const text = value?.trim() ?? "";
  return text === "" ? null : text;
}

function listOf(value: string | undefined): string[] {
  return (value ?? "").split(",").flatMap((entry) => textOf(entry) ?? []);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
