/**
 * An MCP server for a folder of Markdown notes, over standard streams: Bridle starts it, see `bridle.config.ts`. Both tools say
 * that they only look, so nobody is asked before they are called.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const folder = join(import.meta.dirname, "notes");

async function notes(): Promise<{ note: string; text: string }[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".md")).sort();
  return await Promise.all(
    files.map(async (note) => ({ note, text: await readFile(join(folder, note), "utf8") })),
  );
}

function serveNotes(): McpServer {
  const server = new McpServer({ name: "notes", version: "1.0.0" });

  server.registerTool(
    "search",
    {
      description: "Finds the notes that have all of these words, in any order.",
      inputSchema: z.object({ words: z.string() }),
      annotations: { readOnlyHint: true },
    },
    async ({ words }) => {
      const wanted = words.toLowerCase().split(/\s+/);
      const found = (await notes()).filter(({ text }) =>
        wanted.every((word) => text.toLowerCase().includes(word)),
      );
      const text = found.map(({ note }) => note).join("\n") || "No note has all of these words.";
      return { content: [{ type: "text", text }] };
    },
  );

  server.registerTool(
    "read",
    {
      description: "Reads a note, by the name that search gives.",
      inputSchema: z.object({ note: z.string() }),
      annotations: { readOnlyHint: true },
    },
    async ({ note }) => {
      // Looked for among those that there are: a name is not a path.
      const found = (await notes()).find((one) => one.note === note);
      if (found === undefined)
        return { content: [{ type: "text", text: `There is no note ${note}.` }], isError: true };
      return { content: [{ type: "text", text: found.text }] };
    },
  );

  return server;
}

serveStdio(serveNotes);
