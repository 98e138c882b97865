/** Where OpenTelemetry's libraries come in: samplers, the resource, and the exporters. Loaded only when traces are wanted. */

import {
  createTraceState,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import type { TraceContext, Tracing } from "../../kernel/core/trace.ts";
import type { TraceSettings } from "./settings.ts";
import type { SpanFacts } from "./span.ts";

export type { ReadableSpan };

/** What became of an export that was not taken. */
export interface ExportProblem {
  /** The answer's status, where there was an answer. */
  status: number | null;
  message: string;
}

export class Otel implements Tracing {
  readonly #sampler: Sampler;
  readonly #resource: Resource;
  readonly #exporter: SpanExporter;
  readonly #version: string;

  /** Address, headers, time limit, compression and certificates are read from the environment by the exporter. */
  constructor({ sampler, exporter }: TraceSettings, version: string) {
    this.#version = version;
    this.#sampler = samplerOf(sampler);
    this.#resource = defaultResource()
      .merge(resourceFromAttributes({ "service.name": "bridle", "service.version": version }))
      .merge(
        detectResources({
          detectors: [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector],
        }),
      );
    this.#exporter = exporter === "otlp" ? new OTLPTraceExporter() : new ConsoleSpanExporter();
  }

  isSampled(traceId: string, parent: TraceContext | null): boolean {
    const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextIn(parent));
    const { decision } = this.#sampler.shouldSample(context, traceId, "", SpanKind.INTERNAL, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }

  /** Null when they were taken. */
  async export(spans: ReadableSpan[]): Promise<ExportProblem | null> {
    return await new Promise((resolve) => {
      this.#exporter.export(spans, ({ code, error }) => {
        if (code === 0) return resolve(null);
        const status =
          error !== undefined && "code" in error && typeof error.code === "number" ? error.code : null;
        resolve({ status, message: error?.message || "the collector did not take them" });
      });
    });
  }

  async close(): Promise<void> {
    await this.#exporter.shutdown();
  }

  toReadable(facts: SpanFacts): ReadableSpan {
    const { traceId, spanId, tracestate, parent, error } = facts;
    const traceState = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
    const contextOf = (id: string, isRemote: boolean): SpanContext => ({
      traceId,
      spanId: id,
      traceFlags: TraceFlags.SAMPLED,
      isRemote,
      ...traceState,
    });
    const own = contextOf(spanId, false);
    const [from, to] = [Date.parse(facts.startedAt), Date.parse(facts.endedAt)];
    return {
      name: facts.name,
      kind: facts.kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
      spanContext: () => own,
      ...(parent === null ? {} : { parentSpanContext: contextOf(parent.spanId, parent.isRemote) }),
      startTime: hrTime(from),
      endTime: hrTime(to),
      duration: hrTime(Math.max(0, to - from)),
      ended: true,
      status:
        error === null
          ? { code: SpanStatusCode.UNSET }
          : { code: SpanStatusCode.ERROR, message: error.message ?? error.code },
      attributes: facts.attributes,
      events: facts.moments.map(({ name, at }) => ({ name, time: hrTime(Date.parse(at)) })),
      links: facts.links.map((link) => ({ context: { ...link, traceFlags: TraceFlags.SAMPLED } })),
      resource: this.#resource,
      instrumentationScope: { name: "bridle", version: this.#version },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

function samplerOf({ name, ratio }: TraceSettings["sampler"]): Sampler {
  switch (name) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return new TraceIdRatioBasedSampler(ratio);
    case "parentbased_always_on":
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case "parentbased_always_off":
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case "parentbased_traceidratio":
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}

function contextIn({ traceparent }: TraceContext): SpanContext {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function hrTime(ms: number): [number, number] {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}
