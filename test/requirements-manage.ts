/** What operators are promised of the commands, and what all commands have in common. */

import { type Requirement, section } from "./requirements.ts";

export const manageRequirements: readonly Requirement[] = [
  ...section("Bridle", "All commands", {
    "CMD-50": "Every command that gives a result gives it as JSON with --json.",
    "CMD-51": "Help fits 80 columns, and the program's own has its commands under headings.",
    "CMD-52":
      "Secrets can be in files that NAME_FILE names; both at once, or a file that cannot be read, is refused without repeating them.",
    "CMD-53": "Secrets are taken out of the environment before any code of a project runs.",
    "CMD-55":
      "A mistyped command, option or choice is one line with what may have been meant, and exit code 2.",
    "CMD-56": "bridle completion prints scripts that complete commands, options, choices and file names.",
    "CMD-63": "No error drives a terminal, repeats a secret, or shows where in our code it happened.",
    "CMD-57": "What takes long shows how far it is: with a total, a bar, the rate and the time left.",
  }),
  ...section("Bridle", "Commands for operators", {
    "CMD-62": "An export that is interrupted leaves no file behind.",
    "CMD-54": "bridle config print shows every setting, where it comes from, and no secret.",
    "CMD-58": "bridle quota makes, shows, changes and deletes quotas, with what is used and what is left.",
    "CMD-70":
      "bridle workspace, connector, vault, secret, persona, schedule, webhook and key list, show and change what the API has.",
    "CMD-71":
      "A secret comes from standard input or is typed unseen, never from an argument, and is never shown.",
    "CMD-72":
      "bridle persona edit opens the editor, shows the difference and saves only what was confirmed; what is refused is kept.",
    "CMD-73": "A schedule that is paused submits no task until it is resumed, and keeps its id.",
    "CMD-59": "A document that was lost is made again where it stood among its events.",
    "CMD-60":
      "bridle rebuild finds documents that are not what the log says, puts them right, and refuses while a server uses them.",
    "CMD-61":
      "bridle backup copies all that a server keeps while it runs; what has a backup's name is whole, and is restored as documented.",
    "CMD-64":
      "bridle backup leaves keys out when asked, and encrypts for recipients of age; bridle restore makes a new data directory from either form.",
    "CMD-65": "Damaged or missing content and events are found when a backup is made, verified or restored.",
  }),
];
