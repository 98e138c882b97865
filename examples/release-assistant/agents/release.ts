/** Drafts release notes with a model, keeps them as an artifact, and publishes them once somebody has approved. */

import { defineAgent, Type } from "bridle";
import { publish, unreleased } from "../tools.ts";

const Notes = Type.Object({
  headline: Type.String({ description: "One sentence: why people will want this release." }),
  breaking: Type.Array(Type.String(), { description: "What people must change, and how." }),
  highlights: Type.Array(Type.String(), { description: "What people will notice, most important first." }),
});

export const release = defineAgent({
  name: "release",
  version: "1.0.0",
  description: "Drafts the notes of a release and publishes them.",
  skills: [{ id: "release", description: "Publish a release: name its version" }],
  tools: [unreleased, publish],
  async run(ctx) {
    const named = /v\d+\.\d+\.\d+/.exec(ctx.text)?.[0];
    const version = named ?? (await ctx.ask("Which version is it, as in v1.2.3?")).trim();

    const changes = await ctx.tool(unreleased, {});
    const { object: draft } = await ctx.model.generate({
      label: "notes",
      system: ctx.persona.instructions,
      prompt: `Release ${version} has these changes:\n${changes.join("\n")}`,
      output: Notes,
    });
    const notes = [
      `# ${version}`,
      draft.headline,
      ...section("You must change", draft.breaking),
      ...section("New", draft.highlights),
    ].join("\n\n");
    await ctx.artifact({ name: `${version}.md`, mimeType: "text/markdown", text: notes });

    // The persona asks for everything of high risk: the task waits here, out of memory, until somebody has decided.
    const { path } = await ctx.tool(publish, { version, notes });
    return `Published ${version}: ${path}`;
  },
});

function section(title: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, lines.map((line) => `- ${line}`).join("\n")];
}
