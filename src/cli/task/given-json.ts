/** JSON and text that a command is given: on the command line, in a file, or on standard input. */

import { createReadStream } from "node:fs";
import { about } from "../terminal/output.ts";

/** What a server takes is less; what never ends must not fill the memory. */
const bytesMax = 16 * 1024 * 1024;

/** JSON itself, a file with it after an `@`, or `-` for standard input. */
export async function givenJson(given: string, option: string): Promise<Record<string, unknown>> {
  const name = given.startsWith("@") ? given.slice(1) : given === "-" ? "standard input" : option;
  return await about(name, async () => {
    const text = given.startsWith("@")
      ? await textOf(createReadStream(given.slice(1)))
      : given === "-"
        ? await textOf(process.stdin)
        : given;
    const value = parsed(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
    throw new Error("it must be a JSON object.");
  });
}

export async function standardInput(): Promise<string> {
  return await about("standard input", () => textOf(process.stdin));
}

/** The place of the fault is named, its surroundings are not: they may be secret. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const [place] = /line \d+ column \d+/.exec(String(error)) ?? [];
    throw new Error(place === undefined ? "it is not JSON." : `it is not JSON (${place}).`);
  }
}

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > bytesMax)
      throw new Error(`it is larger than ${bytesMax / 1024 / 1024} MB; put it into an artifact.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
