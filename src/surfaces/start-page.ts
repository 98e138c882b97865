/**
 * What is at `/`: a page for whoever opens the address in a browser, and the same as JSON for programs. It knows no secret, runs
 * no script and asks for nothing from elsewhere.
 */

import { createHash } from "node:crypto";
import type { FastifyPluginAsync } from "fastify";

const links: readonly (readonly [path: string, what: string])[] = [
  ["/openapi.json", "the whole API"],
  ["/.well-known/agent-card.json", "the card that other agents read"],
  ["/ready", "whether it takes work"],
];

const commands: readonly (readonly [command: string, what: string])[] = [
  ["bridle tour", "see what it does, in a minute"],
  ["bridle shell", "talk to an agent"],
  ["bridle init my-agents", "make a project of your own"],
];

const style = `
:root { color-scheme: light dark; --ink: #1d2430; --faint: #5b6675; --paper: #fbfaf7; --card: #fff; --line: #dcdfe4; --accent: #0b62a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7eaef; --faint: #9aa5b4; --paper: #12161c; --card: #1a2029; --line: #2e3743; --accent: #7fbdf2; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 42rem; margin: 0 auto; padding: clamp(1.5rem, 6vw, 4rem) 1.25rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
p { margin: 0; color: var(--faint); }
dl { margin: 0; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); overflow: hidden; }
dl div { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .6rem 1rem; }
dl div + div { border-top: 1px solid var(--line); }
dt { flex: 1 0 15rem; overflow-wrap: anywhere; }
dd { flex: 1 1 15rem; margin: 0; color: var(--faint); }
code, dt a { font: .9375rem/1.6 ui-monospace, SFMono-Regular, Menlo, monospace; }
a { color: var(--accent); }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 2px; }
`;

const page = (version: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Bridle ${version}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Bridle is running</h1>
<p>Version ${version}. A durable agent harness: tasks survive crashes, and leave receipts.</p>
<h2>In a terminal, in the folder of the server</h2>
<dl>
${commands.map(([command, what]) => `<div><dt><code>${command}</code></dt><dd>${what}</dd></div>`).join("\n")}
</dl>
<h2>At this address</h2>
<dl>
${links.map(([path, what]) => `<div><dt><a href="${path}">${path}</a></dt><dd>${what}</dd></div>`).join("\n")}
</dl>
</main>
</body>
</html>
`;

/** The one style may be used, by its hash, and nothing else at all. */
const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export function startPage({ version }: { version: string }): FastifyPluginAsync {
  return async (app) => {
    app.get("/", async (request, reply) => {
      reply.header("Vary", "Accept");
      if (!wantsPage(request.headers.accept)) {
        return {
          name: "Bridle",
          version,
          links: Object.fromEntries(links.map(([path, what]) => [path, what])),
        };
      }
      return reply
        .header("Content-Security-Policy", policy)
        .type("text/html; charset=utf-8")
        .send(page(version));
    });
  };
}

/** Browsers name it; who takes anything gets JSON. */
function wantsPage(accept = ""): boolean {
  return /\btext\/html\b/i.test(accept);
}
