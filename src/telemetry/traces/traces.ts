/** Traces for a server that is asked for them. Without that nothing is loaded, and this is all that runs. */

import type { Logger } from "pino";
import type { Tracing } from "../../kernel/core/trace.ts";
import type { WholeKernel } from "../../kernel/kernel.ts";
import { readTraceSettings } from "./settings.ts";

export interface Traces extends Tracing {
  /** Gives the way to stop, which takes so long at most. */
  follow(kernel: WholeKernel, cursorFile: string): Promise<(graceMs: number) => Promise<void>>;
}

export interface TracesOptions {
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  version: string;
}

export async function openTraces({ env, logger, version }: TracesOptions): Promise<Traces | null> {
  const { settings, problems } = readTraceSettings(env);
  for (const problem of problems) logger.warn({ event: "traces.settings" }, problem);
  if (settings === null) return null;
  const [{ Otel }, { TraceExporter }] = await Promise.all([import("./otel.ts"), import("./exporter.ts")]);
  const otel = new Otel(settings, version);
  return {
    isSampled: (traceId, parent) => otel.isSampled(traceId, parent),
    async follow(kernel, cursorFile) {
      const follower = await TraceExporter.start({ kernel, otel, settings, cursorFile, logger });
      return async (graceMs) => {
        await follower.stop(graceMs);
        // What is under way is given up with the process.
        void otel.close().catch(() => {});
      };
    },
  };
}
