/** What the API offers in the same way for every kind of resource: list, read, create, change. */

import { createListed, type Listed } from "./lists.ts";
import { segment, type Transport } from "./transport.ts";
import type { CallOptions, PageOptions, WriteOptions } from "./types.ts";

export interface Readable<Item, Options extends PageOptions = PageOptions> extends Listed<Item, Options> {
  get(id: string, options?: CallOptions): Promise<Item>;
}

export interface Creatable<Item, Request> {
  create(request: Request, options?: WriteOptions): Promise<Item>;
}

export interface Changeable<Item, Changes> {
  update(id: string, changes: Changes, options?: WriteOptions): Promise<Item>;
}

/** For resources that belong to a workspace. */
export interface InWorkspace extends PageOptions {
  workspaceId?: string;
}

export interface Kind {
  /** What `object` says in each of them. */
  object: string;
  path: string;
}

export const pathOf = ({ path }: Kind, id: string) => `${path}/${segment(id)}`;

export function createReadable<Item, Options extends InWorkspace = PageOptions>(
  transport: Transport,
  kind: Kind,
): Readable<Item, Options> {
  return {
    ...createListed<Item, Options>(transport, kind.path, ({ workspaceId }) => ({
      workspace_id: workspaceId,
    })),
    get: (id, { signal } = {}) => transport.resource<Item>(kind.object, pathOf(kind, id), { signal }),
  };
}

export function createCreatable<Item, Request>(transport: Transport, kind: Kind): Creatable<Item, Request> {
  return {
    create: (body, options = {}) =>
      transport.resource<Item>(kind.object, kind.path, { method: "POST", body, ...options }),
  };
}

export function createChangeable<Item, Changes>(transport: Transport, kind: Kind): Changeable<Item, Changes> {
  return {
    update: (id, body, options = {}) =>
      transport.resource<Item>(kind.object, pathOf(kind, id), { method: "PATCH", body, ...options }),
  };
}
