/** A little of what a provider said about a failure, without what must not be in logs. */

const charactersMax = 300;
/** No more of it is looked at: an error can be a whole page. */
const charactersReadMax = 2048;
/** Shorter pieces of a prompt are words that anybody uses. */
const promptPieceCharacters = 24;
/** A secret shorter than this would take ordinary words out. */
const secretCharactersMin = 6;
const left = "[…]";

/** `prompt` is whatever was sent. */
export function excerpt(
  text: string,
  { secrets, prompt }: { secrets: readonly string[]; prompt: unknown },
): string {
  let cleaned = text
    .slice(0, charactersReadMax)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  for (const secret of secrets) {
    if (secret.length >= secretCharactersMin) cleaned = cleaned.replaceAll(secret, left);
  }
  cleaned = cleaned
    // Also keys that are not ours, and those that a provider shows in part.
    .replaceAll(/\b(?:sk|pk|key|AIza|gsk|xai)[-_]?[\w*-]{8,}/g, left)
    .replaceAll(/\b(?:Bearer|Basic)\s+\S+/gi, left)
    .replaceAll(/\bhttps?:\/\/\S+/g, withoutQuery);
  // Before it is cut: the beginning of a piece of the prompt could not be told any more.
  cleaned = withoutPrompt(cleaned, textIn(prompt));
  return cleaned.length > charactersMax ? `${cleaned.slice(0, charactersMax)}…` : cleaned;
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/, "").replace(/\/\/[^/]*@/, "//");
}

/** All that it says, also as the JSON that it is sent in. */
function textIn(prompt: unknown): string {
  const texts: string[] = [];
  const json = JSON.stringify(prompt, (_, value: unknown) => {
    if (typeof value === "string") texts.push(value);
    return value;
  });
  return [...texts, json].join(" ").replaceAll(/\s+/g, " ");
}

/** Some providers repeat what they were sent. */
function withoutPrompt(text: string, prompt: string): string {
  let kept = "";
  for (let at = 0; at < text.length; ) {
    const length = sharedLength(text, at, prompt);
    kept += length === 0 ? text[at] : left;
    at += Math.max(1, length);
  }
  return kept;
}

function sharedLength(text: string, at: number, prompt: string): number {
  let length = promptPieceCharacters;
  if (at + length > text.length || !prompt.includes(text.slice(at, at + length))) return 0;
  while (at + length < text.length && prompt.includes(text.slice(at, at + length + 1))) length += 1;
  return length;
}
