/** Requests that were answered wrongly once, and are not any more. */

import type { Shot } from "./surfaces.ts";

export const found: readonly Shot[] = [];
