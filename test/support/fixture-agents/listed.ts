/** Agents in an array, one of them exported by name as well. */

import { defineAgent } from "bridle";

export const first = defineAgent({ name: "first", version: "1.0.0", run: async () => "from first" });
const second = defineAgent({ name: "second", version: "1.0.0", run: async () => "from second" });

export default [first, second];
