/** `bridle gate`: a person's signature between a tool and what it is about to do. */

import { type Requirement, section } from "./requirements.ts";

export const gateRequirements: readonly Requirement[] = section("Bridle", "The gate", {
  "GAT-1":
    "A policy is checked against its schema; the strictest rule that matches decides, over words, paths, hosts, tools and risk.",
  "GAT-2": "No spelling of a command gets past a rule that asks or denies.",
  "GAT-3":
    "A policy allows only in the form that was trusted, and no policy lets a tool change the gate unasked.",
  "GAT-4":
    "`bridle gate run` runs exactly what was signed: words, directory, environment, program and files; what changed in between is not run.",
  "GAT-5":
    "Without a verified signature nothing runs: no server, no approver, a denial, time over, an answer without a signature; each is said, with what to do.",
  "GAT-6":
    "A gate that is killed between approval and the end never runs anything twice, and the next one says what is known.",
  "GAT-7": "`bridle gate ask` answers a script by its exit code, and with the proof.",
  "GAT-8":
    "A standing permission is signed by an approver, covers exact words or a path for one user and machine, a bounded time and number of uses, and ends at once when it is revoked.",
  "GAT-9":
    "Each hook follows its tool's documented contract, and says no to everything that it cannot read, decide or verify.",
  "GAT-10":
    "A hook is written into a tool's configuration and taken out again; everything else in there stays.",
  "GAT-11": "The guard of a shell lets no line run that the policy has a rule about, until it is decided.",
  "GAT-12":
    "Everything decided is in the log with a receipt; a proof of it has what was shown, signed and run, and verifies without a server.",
});
