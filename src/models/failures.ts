/** What can go wrong with a call, as a `ModelError`: one table for statuses, one for everything else. */

import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  NoOutputGeneratedError,
  StreamProviderError,
  ToolChoiceViolationError,
  TypeValidationError,
} from "ai";
import { CutOff } from "./answer.ts";
import { excerpt } from "./excerpt.ts";
import { BodyFault } from "./guarded-fetch.ts";
import { ModelError, type ModelErrorCode, type ModelUsage } from "./model.ts";
import { retryAfterMs } from "./retry-after.ts";

export interface Failure {
  code: ModelErrorCode;
  isPassing: boolean;
  /** Completes the sentence that begins with the name of the model. */
  words: string;
  /** What the provider said, to be cleaned before it is shown. */
  said?: string;
  retryAfterMs?: number | null;
}

const unauthorized = {
  code: "model_unauthorized",
  isPassing: false,
  words: "does not take the key",
} as const;
const limited = { code: "model_rate_limited", isPassing: true, words: "is called too often" } as const;
const unavailable = { code: "model_unavailable", isPassing: true, words: "is not available" } as const;
const refused = { code: "model_refused", isPassing: false, words: "refused the call" } as const;
const malformed = {
  code: "model_malformed",
  isPassing: true,
  words: "sent what cannot be understood",
} as const;
const cut = {
  code: "model_unavailable",
  isPassing: true,
  words: "broke off before its answer was complete",
} as const;
const timeout = { code: "model_timeout", isPassing: true } as const;

export function tooSlow(timeoutMs: number): Failure {
  return { ...timeout, words: `took longer than ${timeoutMs} ms` };
}

function byStatus(status: number): Failure {
  if (status === 401 || status === 403) return unauthorized;
  if (status === 429) return limited;
  // 529 is Anthropic's way to say that it is overloaded.
  if (status === 408 || status === 409 || status >= 500) return unavailable;
  return refused;
}

/** How providers name in a stream what a status would say otherwise. */
const byType: readonly (readonly [RegExp, Failure])[] = [
  [/rate_?limit|quota|resource_exhausted/i, limited],
  [/authentication|permission|unauthenticated/i, unauthorized],
  [/invalid|not_found|too_large|unsupported|content_policy/i, refused],
];

export function failureOf(error: unknown): Failure {
  const causes = causesOf(error);
  const fault = causes.find((cause) => cause instanceof BodyFault);
  if (fault !== undefined) {
    return fault.kind === "silent"
      ? { ...timeout, words: fault.message }
      : { ...malformed, isPassing: false, words: fault.message };
  }
  if (APICallError.isInstance(error)) return failedCall(error, causes);
  if (StreamProviderError.isInstance(error)) return failedStream(error);
  if (error instanceof CutOff || NoOutputGeneratedError.isInstance(error)) return cut;
  // The SDK's words for a stream of chat completions that ends early are an invalid response without data.
  if (InvalidResponseDataError.isInstance(error)) return error.data === undefined ? cut : malformed;
  if (ToolChoiceViolationError.isInstance(error)) {
    return { ...malformed, words: "did not keep to whether tools are to be called" };
  }
  if (isMalformed(error)) return malformed;
  const code = networkCode(causes);
  if (code !== null) return unreachable(code);
  return {
    ...refused,
    words: "cannot be called like this",
    said: error instanceof Error ? error.message : "",
  };
}

function failedCall(error: APICallError, causes: readonly Error[]): Failure {
  const { statusCode: status } = error;
  if (status !== undefined && (status < 200 || status >= 300)) {
    const failure = byStatus(status);
    const words = status < 400 ? "sent us to another address, which is not followed" : failure.words;
    return {
      ...failure,
      words: `${words} (${status})`,
      said: error.message,
      retryAfterMs: retryAfterMs(error),
    };
  }
  if (causes.some(isMalformed)) return malformed;
  return unreachable(networkCode(causes), status !== undefined);
}

function failedStream({ statusCode, type, code, message }: StreamProviderError): Failure {
  const named = `${type ?? ""} ${code ?? ""}`;
  const failure =
    statusCode !== undefined
      ? byStatus(statusCode)
      : (byType.find(([pattern]) => pattern.test(named))?.[1] ?? unavailable);
  return { ...failure, said: message };
}

/** With a status, the answer had begun. */
function unreachable(code: string | null, hadBegun = false): Failure {
  if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT") {
    return { ...timeout, words: "was silent for too long" };
  }
  if (hadBegun) return cut;
  return { ...unavailable, words: code === null ? "cannot be reached" : `cannot be reached (${code})` };
}

function isMalformed(error: unknown): boolean {
  return (
    JSONParseError.isInstance(error) ||
    TypeValidationError.isInstance(error) ||
    EmptyResponseBodyError.isInstance(error)
  );
}

function causesOf(error: unknown): Error[] {
  const depthMax = 8;
  const causes: Error[] = [];
  for (let at = error; at instanceof Error && causes.length < depthMax; at = at.cause) causes.push(at);
  return causes;
}

function networkCode(causes: readonly Error[]): string | null {
  for (const cause of causes) {
    if (
      "code" in cause &&
      typeof cause.code === "string" &&
      /^(?:E[A-Z_]+|UND_ERR_\w+|CERT_\w+)$/.test(cause.code)
    ) {
      return cause.code;
    }
    // The words of the platform for a connection that ended before the answer did.
    if (cause.name === "TypeError" && cause.message === "terminated") return "UND_ERR_SOCKET";
  }
  return null;
}

/** The SDK's error is left behind: it has the request with it, prompt and headers included. */
export function modelError(
  name: string,
  failure: Failure,
  { usage, hidden }: { usage: ModelUsage | null; hidden: { secrets: readonly string[]; prompt: unknown } },
): ModelError {
  const said = failure.said === undefined ? "" : excerpt(failure.said, hidden);
  return new ModelError(failure.code, `${name} ${failure.words}${said === "" ? "." : `: ${said}`}`, {
    isPassing: failure.isPassing,
    retryAfterMs: failure.retryAfterMs ?? null,
    usage,
  });
}
