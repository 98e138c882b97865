/**
 * Which API key goes to a gateway: one that was given for it, or the one that was saved with it. A key that belongs
 * elsewhere is never sent, and an administrator's key never: it is no approver's.
 */

export interface KeyChoice {
  gateway: string;
  given: string | null;
  /** Of the profile, with the gateway that it is for. */
  saved: { key: string; gateway: string } | null;
}

export function chooseKey({ gateway, given, saved }: KeyChoice): string {
  if (given?.startsWith("bridle_admin_")) {
    throw new Error(
      "this is an administrator's key, which cannot approve anything. Use the approver's own key; `bridle pair --id NAME` makes one.",
    );
  }
  if (given !== null) return given;
  if (saved !== null && saved.gateway === gateway) return saved.key;
  throw new Error(
    `no API key for ${gateway}: give one with --key, or set BRIDLE_KEY. The operator makes it with \`bridle pair --id NAME\`.`,
  );
}
