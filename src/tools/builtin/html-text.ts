/**
 * The readable text of an HTML page, for a model to read: without tags, scripts, styles and comments. It goes over the page
 * once and understands nothing more than that; the result is text, and no HTML that would be safe to show.
 */

/** Elements whose content is not for reading. */
const unread: ReadonlySet<string> = new Set(["script", "style", "template", "svg"]);
/** Elements that do not end a line: all others do. */
const inline: ReadonlySet<string> = new Set(
  "a abbr b bdi bdo cite code data dfn em font i kbd mark q s samp small span strong sub sup time tt u var wbr".split(
    " ",
  ),
);
const entities: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", " "],
  ["ndash", "–"],
  ["mdash", "—"],
  ["hellip", "…"],
]);

export function htmlText(html: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < html.length) {
    const tag = html.indexOf("<", at);
    if (tag === -1) break;
    parts.push(html.slice(at, tag));
    if (html.startsWith("<!--", tag)) {
      at = after(html, "-->", tag + 4);
      continue;
    }
    const name = /^<\/?([a-zA-Z][a-zA-Z0-9-]{0,30})/.exec(html.slice(tag, tag + 40))?.[1]?.toLowerCase();
    // A sign in the text, unless it is a declaration.
    if (name === undefined && !/[!?/]/.test(html[tag + 1] ?? "")) {
      parts.push("&lt;");
      at = tag + 1;
      continue;
    }
    at = endOfTag(html, tag + 1);
    if (name === undefined) continue;
    if (!inline.has(name)) parts.push("\n");
    if (unread.has(name) && html[tag + 1] !== "/" && html[at - 2] !== "/") at = endOfElement(html, name, at);
  }
  parts.push(html.slice(at));
  return tidy(decode(parts.join("")));
}

/** Right after the next occurrence, or the end. */
function after(html: string, what: string, from: number): number {
  const found = html.indexOf(what, from);
  return found === -1 ? html.length : found + what.length;
}

/** A `>` in a quoted attribute does not end the tag. */
function endOfTag(html: string, from: number): number {
  let quote = "";
  for (let at = from; at < html.length; at += 1) {
    const char = html[at] ?? "";
    if (quote !== "") {
      if (char === quote) quote = "";
    } else if (char === ">") return at + 1;
    else if ((char === '"' || char === "'") && html[at - 1] === "=") quote = char;
  }
  return html.length;
}

/** Where the element's end tag begins. */
function endOfElement(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}\\b`, "gi");
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}

function decode(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return entities.get(name) ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    const isScalar = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isScalar ? String.fromCodePoint(code) : "\uFFFD";
  });
}

/** One blank between words, at most one empty line between lines. */
function tidy(text: string): string {
  const lines = text.split("\n").map((line) => line.replace(/\s+/g, " ").trim());
  return lines
    .filter((line, index) => line !== "" || (lines[index - 1] ?? "") !== "")
    .join("\n")
    .trim();
}
