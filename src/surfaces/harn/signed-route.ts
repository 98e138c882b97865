/**
 * A route that is authenticated by what is sent to it: a signature over the very bytes of the body, which is therefore
 * read as text and parsed only once it is known whose it is.
 */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import type { Kernel } from "../../kernel/kernel.ts";
import { textOf } from "../json-body.ts";
import type { Route } from "./route.ts";

/** Nobody is known yet when the body is read, so it is kept small. */
const bodyBytesMax = 1024 * 1024;

export function signedRoute(
  options: Pick<Route, "path" | "operationId" | "summary" | "tag" | "status"> & {
    body: TSchema;
    response: TSchema;
    handle(kernel: Kernel, request: FastifyRequest, reply: FastifyReply, text: string): Promise<unknown>;
  },
): Route {
  const { handle, ...described } = options;
  return {
    ...described,
    method: "POST",
    query: null,
    bodyOptional: false,
    consumes: "application/json",
    produces: null,
    isPublic: false,
    isSigned: true,
    scope: null,
    webSocket: "none",
    register(app, kernel) {
      app.register(async (scope) => {
        const bodyLimit = Math.min(bodyBytesMax, app.initialConfig.bodyLimit ?? bodyBytesMax);
        scope.removeAllContentTypeParsers();
        // Some providers send forms.
        scope.addContentTypeParser(
          ["application/json", "application/x-www-form-urlencoded"],
          { parseAs: "buffer", bodyLimit },
          async (_request: FastifyRequest, body: Buffer) => textOf(body),
        );
        scope.post(described.path.replaceAll(/\{(\w+)\}/g, ":$1"), (request, reply) =>
          handle(kernel, request, reply, typeof request.body === "string" ? request.body : ""),
        );
      });
    },
  };
}
