/** What somebody is promised who meets Bridle for the first time. */

import { type Requirement, section } from "./requirements.ts";

export const tourRequirements: readonly Requirement[] = section("Bridle", "The first five minutes", {
  "TOU-1":
    "The agent tour has a step, a model that asks for a tool, a question, an approval bound to what is done, an effect and an artifact, and ends alike wherever it is cut off.",
  "TOU-2":
    "The model tour/guide needs no key and no network, streams, counts tokens, costs nothing, and is used by those alone who name it.",
  "TOU-3":
    "bridle tour needs nothing that runs: the person answers, and the receipt is verified with the server gone.",
  "TOU-4":
    "bridle tour --crash kills the server in the middle of a step; the task ends, what was recorded ran once, and what was cut off ran again.",
  "TOU-5": "bridle tour uses the server that runs here, and answers by itself where nobody can be asked.",
  "TOU-6": "Whoever leaves the tour leaves no process, no file and no open task behind.",
  "TOU-7":
    "bridle dev in an empty folder shows one URL and what to try, in about a dozen lines and without a key.",
  "TOU-8": "A program finds links that work at the URL, and a browser the console.",
  "TOU-9":
    "In an empty folder with the package alone, bridle dev, bridle tour, bridle receipt verify and bridle tour --crash do what they say.",
});
