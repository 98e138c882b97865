/**
 * The modules of a project, loaded by Node itself. A module is known to Node by its URL, for good; so when files change, the
 * project's modules get URLs of a new revision (`?bridle=2`), and with them fresh code all the way down. Packages and Bridle's own
 * modules keep theirs. What was loaded before stays in memory: Node has no way of letting go of it.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { type RegisterHooksOptions, registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isBundled, packageRoot } from "../package-files.ts";

type Resolve = NonNullable<RegisterHooksOptions["resolve"]>;

const revisionName = "bridle";
/** The modules of this package: its sources, or their bundle. */
const ownFolders = ["src/", "lib/", "client/"].map((folder) => new URL(folder, packageRoot).href);
/** In a bundle, `bridle` is the bundle: see `exports` in package.json. */
const ownConditions = isBundled ? ["bundled"] : [];

export class ProjectModules {
  #revision = 0;
  /** Every file that ever was part of the project. */
  readonly #files = new Set<string>();
  /** What the files of this revision held when they were asked for; null for those that were not there. */
  #contents = new Map<string, string | null>();
  /** The same of the revisions before, as long as it is not certain that this one can be loaded. */
  #before = new Map<string, string | null>();
  #imports = new Map<string, Set<string>>();
  /** From the first import on: every import of the process goes through them, and most servers have no project. */
  #hooks: { deregister(): void } | null = null;

  /** What is imported from here on is read from the disk again. */
  begin(): void {
    this.#revision += 1;
    this.#before = new Map(this.files.map((file) => [file, contentOf(file)]));
    this.#contents = new Map();
    this.#imports = new Map();
  }

  /** All is loaded: what was part of the project before, and is not asked for any more, is forgotten. */
  settle(): void {
    this.#before.clear();
  }

  /** What the module exports, in the present revision. */
  async import(file: string): Promise<Record<string, unknown>> {
    this.#hooks ??= registerHooks({ resolve: this.#resolve });
    this.#note(file);
    // Node knows a file by where it really is.
    const real = realPath(file);
    if (real !== file) this.#note(real, file);
    return await import(inRevision(pathToFileURL(real).href, this.#revision));
  }

  has(file: string): boolean {
    return this.#files.has(file);
  }

  /** The files of the project, and those that were looked for. */
  get files(): string[] {
    return [...new Set([...this.#before.keys(), ...this.#contents.keys()])];
  }

  /** The files whose content is no longer what it was when they were asked for. */
  changed(): string[] {
    const known = new Map([...this.#before, ...this.#contents]);
    return [...known].filter(([file, content]) => contentOf(file) !== content).map(([file]) => file);
  }

  /** The file and all that it imports, directly or not. */
  reach(file: string): Set<string> {
    const reached = new Set([file]);
    for (const one of reached) for (const imported of this.#imports.get(one) ?? []) reached.add(imported);
    return reached;
  }

  close(): void {
    this.#hooks?.deregister();
    this.#hooks = null;
  }

  readonly #resolve: Resolve = (specifier, context, nextResolve) => {
    const parent = this.#projectFile(context.parentURL);
    if (parent === null || context.parentURL === undefined) return nextResolve(specifier, context);
    // Whatever the project has installed: what this process is made of is the one that knows its agents.
    if (/^bridle(\/|$)/.test(specifier)) {
      const conditions = [...context.conditions, ...ownConditions];
      return nextResolve(specifier, { ...context, conditions, parentURL: import.meta.url });
    }
    const revision = Number(URL.parse(context.parentURL)?.searchParams.get(revisionName) ?? 0);
    const note = (url: string) => {
      if (revision === this.#revision) this.#note(fileURLToPath(url), parent);
    };
    let resolved: ReturnType<Resolve>;
    try {
      resolved = nextResolve(specifier, context);
    } catch (error) {
      // It may be there later, and is to be seen then.
      if (/^\.\.?\//.test(specifier)) note(new URL(specifier, context.parentURL).href);
      throw error;
    }
    if (!isOfProject(resolved.url)) return resolved;
    note(resolved.url);
    // CommonJS modules are known by their paths and are not loaded twice.
    if (!context.conditions.includes("import")) return resolved;
    return { ...resolved, url: inRevision(resolved.url, revision) };
  };

  #projectFile(url: string | undefined): string | null {
    if (url === undefined || !isOfProject(url)) return null;
    const file = fileURLToPath(url);
    return this.#files.has(file) ? file : null;
  }

  #note(file: string, parent?: string): void {
    this.#files.add(file);
    // Before it is read: what is written in between is a change.
    if (!this.#contents.has(file)) this.#contents.set(file, contentOf(file));
    if (parent === undefined) return;
    const imports = this.#imports.get(parent) ?? new Set();
    this.#imports.set(parent, imports.add(file));
  }
}

function isOfProject(url: string): boolean {
  return (
    url.startsWith("file:") &&
    !url.includes("/node_modules/") &&
    !ownFolders.some((folder) => url.startsWith(folder))
  );
}

function inRevision(url: string, revision: number): string {
  if (revision === 0) return url;
  const of = new URL(url);
  of.searchParams.set(revisionName, String(revision));
  return of.href;
}

function realPath(file: string): string {
  return existsSync(file) ? realpathSync(file) : file;
}

function contentOf(file: string): string | null {
  try {
    return createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch {
    return null;
  }
}
