/** What readers of the documentation are promised. */

import { type Requirement, section } from "./requirements.ts";

export const docsRequirements: readonly Requirement[] = section("Bridle", "Documentation", {
  "DCS-1": "Code that is marked as run prints what the page says, when it is run from top to bottom.",
  "DCS-2": "Every link to another page, a heading or a file leads there.",
  "DCS-3": "The index lists every page once, and nothing that is not there.",
  "DCS-4": "Code that is marked as run, written or checked has the types of the published package.",
  "DCS-5": "All code in TypeScript can be read by Node.js; what is shown of a file is in the file.",
  "DCS-6": "Commands and options of `bridle` that a page names exist.",
  "DCS-7": "llms.txt lists what the index lists, in the form that assistants look for.",
  "DCS-9": "Lines of prose have at most 120 characters.",
  "DCS-8": "A new project has instructions for assistants; their example runs.",
});
