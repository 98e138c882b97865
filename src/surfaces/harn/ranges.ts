/** Conditional and partial downloads: RFC 9110, sections 13 and 14. Content is named by its hash, so its tag is strong. */

/** The bytes from `start` up to and not including `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/** What a `Range` header asks for, of content of this size. What is not understood, and more than one range, is the whole. */
export function rangeOf(header: string | undefined, size: number): ByteRange | "whole" | "unsatisfiable" {
  const [, first = "", last = ""] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? "") ?? [];
  if (first === "" && last === "") return "whole";
  if (first === "") {
    const length = Number(last);
    if (length === 0) return "unsatisfiable";
    // Of nothing, the last bytes are the whole.
    return size === 0 ? "whole" : { start: Math.max(0, size - length), end: size };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return "whole";
  if (start >= size) return "unsatisfiable";
  return { start, end: last === "" ? size : Math.min(Number(last) + 1, size) };
}

/** Whether an `If-None-Match` names the tag: whoever sent it has the content. */
export function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/** Whether a range may be answered: without `If-Range`, or when it names exactly this content. */
export function isSame(header: string | undefined, etag: string): boolean {
  return header === undefined || header.trim() === etag;
}
