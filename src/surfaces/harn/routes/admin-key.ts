/** The administrator's key: replace it, switch it off and on. */

import {
  type AdminKeyState,
  disableAdminKey,
  enableAdminKey,
  rotateAdminKey,
} from "../../../kernel/access/admin-key.ts";
import { route } from "../route.ts";
import { AdminKey } from "../schemas-keys.ts";

const tag = "API keys";

export const adminKeyRoutes = [
  route({
    method: "POST",
    path: "/v1/admin-key/rotate",
    operationId: "rotateAdminKey",
    scope: "admin",
    summary: "Replace the administrator's key. The new one is shown this once; the old one ends at once.",
    tag,
    response: AdminKey,
    async handle(call) {
      const { key, ...state } = await call.dispatch(rotateAdminKey, {});
      return { ...present(state), key };
    },
  }),
  route({
    method: "POST",
    path: "/v1/admin-key/disable",
    operationId: "disableAdminKey",
    scope: "admin",
    summary: "Switch the administrator's key off, also for later starts.",
    tag,
    response: AdminKey,
    async handle(call) {
      return present(await call.dispatch(disableAdminKey, {}));
    },
  }),
  route({
    method: "POST",
    path: "/v1/admin-key/enable",
    operationId: "enableAdminKey",
    scope: "admin",
    summary: "Switch the administrator's key on again.",
    tag,
    response: AdminKey,
    async handle(call) {
      return present(await call.dispatch(enableAdminKey, {}));
    },
  }),
];

function present({ disabledAt }: AdminKeyState) {
  return { object: "admin_key", disabled_at: disabledAt };
}
