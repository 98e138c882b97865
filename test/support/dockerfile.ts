/** A Dockerfile, done as far as it can be without a container: its copies, its environment, its command and its health check. */

import assert from "node:assert/strict";
import { cp, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Image {
  /** The folder that stands for the root of the last stage. */
  root: string;
  workdir: string;
  user: string;
  env: Record<string, string>;
  command: string[];
  health: string[];
  /** What stages run, in order. */
  ran: string[];
}

/**
 * Copies from the project as the last stage does; what another stage made, `made` says by its name. What is in `.dockerignore` is left out.
 */
export async function buildImage(
  project: string,
  root: string,
  made: Record<string, (path: string) => string>,
): Promise<Image> {
  const text = (await readFile(join(project, "Dockerfile"), "utf8")).replace(/^#.*\n/gm, "");
  const ignored = (await readFile(join(project, ".dockerignore"), "utf8")).trim().split("\n");
  const stages = text.split(/^(?=FROM )/m).filter((stage) => stage.startsWith("FROM "));
  const image: Image = { root, workdir: "/", user: "root", env: {}, command: [], health: [], ran: [] };
  for (const line of stages.slice(0, -1).join("").split("\n"))
    if (line.startsWith("RUN ")) image.ran.push(line.slice("RUN ".length));
  for (const line of stages.at(-1)?.split("\n") ?? []) {
    const [word = "", ...rest] = line.split(" ");
    const argument = rest.join(" ");
    const inside = (path: string) => join(root, path.startsWith("/") ? path : join(image.workdir, path));
    if (word === "WORKDIR") image.workdir = argument;
    else if (word === "USER") image.user = argument;
    else if (word === "RUN") image.ran.push(argument);
    else if (word === "CMD") image.command = JSON.parse(argument);
    else if (word === "HEALTHCHECK") image.health = JSON.parse(argument.slice(argument.indexOf("[")));
    else if (word === "ENV")
      for (const pair of rest) image.env[pair.split("=")[0] ?? ""] = pair.split("=")[1] ?? "";
    else if (word === "COPY") {
      const [, stage, from = "", to = ""] = /^(?:--from=(\w+) )?(\S+) (\S+)$/.exec(argument) ?? [];
      const source = stage === undefined ? join(project, from) : made[stage]?.(from);
      assert.ok(source !== undefined, line);
      await mkdir(inside(to), { recursive: true });
      const filter = (path: string) =>
        stage !== undefined || !ignored.some((name) => path === join(project, name));
      await cp(source, inside(to), { recursive: true, filter, verbatimSymlinks: true });
    } else assert.match(word, /^(?:FROM|EXPOSE|VOLUME|STOPSIGNAL|)$/, line);
  }
  return image;
}
