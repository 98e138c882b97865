/** What operators who follow work across systems are promised. */

import { type Requirement, section } from "./requirements.ts";

export const traceRequirements: readonly Requirement[] = [
  ...section("Bridle", "traces", {
    "TRC-1": "Without an OTEL_* variable that asks for traces, none of OpenTelemetry's libraries is loaded.",
    "TRC-2":
      "Settings that cannot be followed are told, without what may be secret, and never stop the server.",
    "TRC-3":
      "A task is one trace: a span for it, and under it one for each model, tool and wait, with times.",
    "TRC-4": "Spans have the names and attributes that the conventions for generative AI give them.",
    "TRC-5": "A task that comes with a traceparent, on whichever way, is part of that trace.",
    "TRC-6": "What a step asks of others carries a traceparent with the id of the step's own span.",
    "TRC-7":
      "The span of a spawned task is under the step that spawned it; a replay is linked with its source.",
    "TRC-8": "A trace that is not sampled is not exported, and others are told so.",
    "TRC-9": "After a kill -9 the trace is whole: every span once, also those that nobody had taken.",
    "TRC-10": "A collector that is away slows nothing down, is told of once, and is given everything later.",
    "TRC-11": "No span holds what was said to models and tools or by them, unless that is asked for.",
    "TRC-12": "Content that is asked for is redacted and cut.",
    "TRC-13": "No credential is in a span, and those for the collector are in no log line.",
    "TRC-14": "A server that stops tells what is left before it ends.",
    "TRC-15":
      "What is older than a day, and what a collector refuses as wrong, is given up, told of every five minutes at most, and nothing else with it.",
    "TRC-16": "What an import brings is not traced again.",
  }),
];
