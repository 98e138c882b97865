/** Personas: roles with their policy. */

import type { Static, TSchema } from "typebox";
import { getRecord, listRecords } from "../../../kernel/core/read.ts";
import type { PersonaChanges, PersonaFields } from "../../../kernel/kinds/persona.ts";
import { createPersona } from "../../../kernel/personas/create-persona.ts";
import { updatePersona, withdrawPersonaChange } from "../../../kernel/personas/update-persona.ts";
import { presentPage } from "../lists.ts";
import { presentPersona } from "../present.ts";
import { jsonObject } from "../read-input.ts";
import { route } from "../route.ts";
import { ListOf, PageQuery } from "../schemas.ts";
import { CreatePersonaRequest, Persona, UpdatePersonaRequest } from "../schemas-policy.ts";

const tag = "Personas";

/** What of a body the schema names; the rest is ignored. What it calls JSON came over the wire and is JSON. */
function named<S extends TSchema & { properties: object }>(schema: S, body: Static<S>): object {
  const names = Object.keys(schema.properties);
  return Object.fromEntries(Object.entries(Object(body)).filter(([name]) => names.includes(name)));
}

export const personaRoutes = [
  route({
    method: "GET",
    path: "/v1/personas",
    operationId: "listPersonas",
    scope: "personas:read",
    summary: "List personas, newest first.",
    tag,
    query: PageQuery,
    response: ListOf(Persona),
    async handle(call) {
      return presentPage(await listRecords(call, call.caller, "persona", call.query), presentPersona);
    },
  }),
  route({
    method: "POST",
    path: "/v1/personas",
    operationId: "createPersona",
    scope: "personas:write",
    summary: "Create a persona.",
    tag,
    status: 201,
    body: CreatePersonaRequest,
    response: Persona,
    async handle(call) {
      const { metadata, ...fields } = call.body;
      const persona = named(CreatePersonaRequest, fields) as PersonaFields;
      return presentPersona(
        await call.dispatch(createPersona, { ...persona, metadata: jsonObject(metadata) }),
      );
    },
  }),
  route({
    method: "GET",
    path: "/v1/personas/{persona_id}",
    operationId: "getPersona",
    scope: "personas:read",
    summary: "Read a persona.",
    tag,
    response: Persona,
    async handle(call) {
      return presentPersona(await getRecord(call, call.caller, "persona", call.param("persona_id")));
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/personas/{persona_id}",
    operationId: "updatePersona",
    scope: "personas:write",
    summary:
      "Change a persona: a new version, for tasks that are submitted from now on. What approvers must agree to is in pending_change.",
    tag,
    body: UpdatePersonaRequest,
    response: Persona,
    async handle(call) {
      const changes = named(UpdatePersonaRequest, call.body) as PersonaChanges;
      return presentPersona(
        await call.dispatch(updatePersona, { personaId: call.param("persona_id"), changes }),
      );
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/personas/{persona_id}/pending-change",
    operationId: "withdrawPersonaChange",
    scope: "personas:write",
    summary: "Withdraw a change that waits for approvers.",
    tag,
    response: Persona,
    async handle(call) {
      return presentPersona(
        await call.dispatch(withdrawPersonaChange, { personaId: call.param("persona_id") }),
      );
    },
  }),
];
