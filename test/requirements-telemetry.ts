/** What operators can rely on: metrics and log lines. */

import { type Requirement, section } from "./requirements.ts";

export const telemetryRequirements: readonly Requirement[] = [
  ...section("Bridle", "Metrics", {
    "MET-1": "`/metrics` is Prometheus' text format, with names, units and types as Prometheus wants them.",
    "MET-2":
      "Tasks, steps, model calls, tools, questions, approvals and requests are each counted once, under closed labels.",
    "MET-3": "Open streams are counted by transport; how long they last is nobody's answer time.",
    "MET-4": "What is now is looked at when somebody asks: the log, the stores, the disk, the runs.",
    "MET-5": "Nothing that comes from outside becomes a label: no address, id, credential or name.",
    "MET-6":
      "Metrics are for keys with the scope `metrics:read` of the default tenant, unless the operator opens them.",
    "MET-7":
      "Servers in one process count apart; a server that is told so counts nothing and has no `/metrics`.",
    "MET-8": "What cannot be counted breaks no commit; what happened elsewhere is not counted.",
    "MET-9": "Every metric is documented, and every metric that is documented, or alerted on, is there.",
  }),
  ...section("Bridle", "Log lines", {
    "MET-10": "What fails on any surface is logged under the request id that its answer carries.",
    "MET-11": "A request is found by the correlation id that its client gave it, where its protocol has one.",
    "MET-12":
      "At the default level a request that is answered or refused leaves no line; a fault of the server does.",
    "MET-13": "No secret of a request is in a log line.",
    "MET-14": "Every log line has an `event` key, which stays the same and can be alerted on.",
  }),
];
