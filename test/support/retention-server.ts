/** A server that keeps what ended for RETAIN_MS milliseconds only: days are too long for a test. */

import { serve } from "./serve.ts";

await serve({ retainMs: Number(process.env.RETAIN_MS) });
