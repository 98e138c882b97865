/**
 * Makes `docs/recording.svg`, the recording at the top of the README: `bridle tour --crash` really runs in a terminal, and what it printed is
 * played back with its own pauses, none longer than a second and a half. Run it after a change of the tour: `npm run docs:recording`.
 */

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { freshBundle } from "../build/fresh.ts";

const rows = 26;
const columns = 80;
const lineHeight = 18;
const charWidth = 8.4;
const margin = 16;
const pauseMsMax = 1500;
/** The end stays for a while before it begins again. */
const endMs = 6000;

interface Line {
  text: string;
  /** When it was printed. */
  atMs: number;
}

async function record(): Promise<Line[]> {
  const main = join(await freshBundle(), "main.js");
  const startedAt = performance.now();
  const child = spawn(process.execPath, [main, "tour", "--crash", "--yes"], {
    env: { ...process.env, FORCE_COLOR: "0", COLUMNS: String(columns) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: Line[] = [{ text: "$ npx bridle tour --crash", atMs: 0 }];
  let rest = "";
  for await (const chunk of child.stdout) {
    const parts = (rest + String(chunk)).split("\n");
    rest = parts.pop() ?? "";
    const atMs = performance.now() - startedAt;
    for (const part of parts) lines.push({ text: shown(part), atMs });
  }
  return lines;
}

/** Of a line that was written over, what stands there in the end; and no folders of this machine. */
function shown(text: string): string {
  const plain = stripVTControlCharacters(text).split("\r").at(-1) ?? "";
  return plain.replace(/\/tmp\/bridle-tour-\w+/g, "/tmp/bridle-tour").slice(0, columns);
}

/** Frames: the last lines of the screen, and how long they stay. Lines that came together are one frame. */
function framesOf(lines: readonly Line[]): { lines: string[]; ms: number }[] {
  const frames: { lines: string[]; ms: number }[] = [];
  for (let end = 1; end <= lines.length; end++) {
    const [now, next] = [lines[end - 1], lines[end]];
    const gap = next === undefined ? endMs : Math.min(next.atMs - (now?.atMs ?? 0), pauseMsMax);
    if (gap < 30 && next !== undefined && !next.text.startsWith("──")) continue;
    // A heading gives time to read what came before it.
    const ms = next?.text.startsWith("──") ? Math.max(gap, 900) : Math.max(gap, 60);
    frames.push({ lines: lines.slice(Math.max(0, end - rows), end).map(({ text }) => text), ms });
  }
  return frames;
}

function svg(frames: readonly { lines: string[]; ms: number }[]): string {
  const totalMs = frames.reduce((sum, { ms }) => sum + ms, 0);
  const width = Math.ceil(columns * charWidth) + 2 * margin;
  const height = rows * lineHeight + 2 * margin;
  let atMs = 0;
  const groups = frames.map(({ lines, ms }, n) => {
    const begin = ((atMs / totalMs) * 100).toFixed(3);
    atMs += ms;
    const end = ((atMs / totalMs) * 100).toFixed(3);
    const style = `@keyframes f${n}{0%{visibility:hidden}${begin}%{visibility:visible}${end}%,to{visibility:hidden}}`;
    const texts = lines.flatMap((line, row) =>
      line === ""
        ? []
        : `<text y="${margin + (row + 0.75) * lineHeight}"${colorOf(line)}>${escaped(line)}</text>`,
    );
    return { style, group: `<g style="animation-name:f${n}">${texts.join("")}</g>` };
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="bridle tour --crash: a server is killed in the middle of a task, and the task goes on">
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6deeb;white-space:pre}text.h{fill:#7fdbca;font-weight:bold}text.d{fill:#ff8b6a;font-weight:bold}text.k{fill:#9ece6a}g{visibility:hidden;animation:${(totalMs / 1000).toFixed(1)}s step-end infinite}${groups.map(({ style }) => style).join("")}@media(prefers-reduced-motion){g{animation:none}g:last-of-type{visibility:visible}}</style>
<rect width="100%" height="100%" rx="8" fill="#10141f"/>
<g transform="translate(${margin})" style="visibility:visible;animation:none">
${groups.map(({ group }) => group).join("\n")}
</g>
</svg>
`;
}

function colorOf(line: string): string {
  if (line.startsWith("$") || line.startsWith("──")) return ' class="h"';
  if (/kill -9|connection refused/.test(line)) return ' class="d"';
  return line.startsWith(" ✓") || /^\s+ok /.test(line) ? ' class="k"' : "";
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

writeFileSync(join(import.meta.dirname, "recording.svg"), svg(framesOf(await record())));
