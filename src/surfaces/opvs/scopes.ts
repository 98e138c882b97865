/** What a caller may do who uses every operation of OPVS and nothing else: cards name it, anonymous callers have it. */

import type { Scope } from "../../policy/caller.ts";

export const opvsScopes: readonly Scope[] = ["artifacts:read", "messages:read", "tasks:read", "tasks:write"];
