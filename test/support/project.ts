/** A project folder, as somebody would make it who writes agents. */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { temporaryDirectory } from "./server.ts";

export interface TestProject extends AsyncDisposable {
  path: string;
  write(file: string, text: string): Promise<void>;
  remove(file: string): Promise<void>;
}

export async function makeProject(files: Record<string, string>): Promise<TestProject> {
  const directory = await temporaryDirectory();
  const project: TestProject = {
    path: directory.path,
    async write(file, text) {
      const target = join(directory.path, file);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, text);
    },
    remove: (file) => rm(join(directory.path, file)),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
  for (const [file, text] of Object.entries(files)) await project.write(file, text);
  return project;
}

/** `bridle` is found without being installed: the one that loads the agents is the one that they get. */
export function agentModule(name: string, version: string, body: string, imports = ""): string {
  return `import { defineAgent } from "bridle";
${imports}
export default defineAgent({
  name: ${JSON.stringify(name)},
  version: ${JSON.stringify(version)},
  async run(ctx) {
    ${body}
  },
});
`;
}
