/** What those are promised who install Bridle instead of cloning it. */

import { type Requirement, section } from "./requirements.ts";

export const packageRequirements: readonly Requirement[] = section("Bridle", "The package", {
  "PKG-1":
    "It holds what was compiled, its types, the files of a new project and the pages, nothing else, and stays small.",
  "PKG-2": "Installed in an empty folder, every module of it loads with nothing but its dependencies.",
  "PKG-3":
    "bridle init of an installed package makes a project that depends on that version, whose tests pass and whose types fit.",
  "PKG-4": "bridle serve of an installed package runs a task of such a project to its end.",
  "PKG-5": "The links in its pages lead to files of it.",
});
