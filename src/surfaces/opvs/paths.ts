/** Finding the operation that a method and a path mean. */

import { NoSuchOperation } from "./errors.ts";

export interface Route {
  methods: readonly string[];
  /** Segments; one in braces takes any text, one with a suffix after a colon the text before that. */
  path: readonly string[];
}

export interface Found<R extends Route> {
  route: R;
  /** What the segments in braces took, by their names. */
  params: Record<string, string>;
}

export function findRoute<R extends Route>(
  routes: readonly R[],
  method: string,
  segments: readonly string[],
): Found<R> {
  for (const route of routes) {
    const params = route.methods.includes(method) ? paramsOf(route.path, segments) : null;
    if (params !== null) return { route, params };
  }
  throw nothingHere();
}

export function nothingHere(): NoSuchOperation {
  return new NoSuchOperation("There is no operation at this address.");
}

function paramsOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> | null {
  if (pattern.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? "";
    const [, name, suffix = ""] = /^\{(\w+)\}(:\w+)?$/.exec(part) ?? [];
    if (name === undefined) {
      if (part !== segment) return null;
      continue;
    }
    const value = segment.slice(0, segment.length - suffix.length);
    if (!segment.endsWith(suffix) || value === "") return null;
    params[name] = value;
  }
  return params;
}
