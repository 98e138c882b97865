/** What Bridle promises about calls of models. */

import { type Requirement, section } from "./requirements.ts";

export const modelRequirements: readonly Requirement[] = [
  ...section("Bridle", "Models: calls", {
    "MDL-1": "Every provider gives text, finish reason, usage and message in one shape, whole and streamed.",
    "MDL-2": "Tools are offered with their schemas and never run; what a model asks for comes back as it is.",
    "MDL-3":
      "What a model said survives JSON, thoughts with their signatures included, and goes back with results.",
    "MDL-4": "An answer with a schema is an object; what is no JSON is null and no error, also beside tools.",
    "MDL-5": "The pieces of a stream are heard in order, when they come.",
    "MDL-6":
      "Usage is as the provider counted, with caches and thoughts; estimated, and marked so, when it did not.",
    "MDL-7": "A call is sent once, whatever becomes of it.",
    "MDL-8": "A provider's package is loaded when one of its models is called first.",
  }),
  ...section("Bridle", "Models: failures", {
    "MDL-10":
      "Each status of a provider means one error, which says whether the same call may succeed later.",
    "MDL-11": "When a provider says how long to wait, the error does; at most ten minutes.",
    "MDL-12": "An answer that breaks off is no answer; the error says what had been used.",
    "MDL-13": "What cannot be understood is an error that passes.",
    "MDL-14": "A call has a time, and so has the silence in a stream.",
    "MDL-15": "A call that is aborted throws the reason, and its connection is closed.",
    "MDL-16": "Keys, headers, queries and prompts are in no error.",
    "MDL-17": "A call goes to the address that was set and to no other.",
  }),
  ...section("Bridle", "Models: configuration", {
    "MDL-20": "A model that cannot be used is an error that says what to set and what is configured.",
    "MDL-21": "Keys come from the settings, the environment, or a file that the environment names.",
    "MDL-22": "Settings that are wrong are refused when they are read.",
    "MDL-23":
      "A price is what the settings say, by the longest match, then what the table says; else there is none.",
    "MDL-24": "Cost counts what came from a cache and what was written to one at their own prices.",
    "MDL-25":
      "Only what passes is tried again, with waits that are random, grow, are bounded, and respect the provider.",
    "MDL-26": "An estimate counts all that goes to a model.",
  }),
];
