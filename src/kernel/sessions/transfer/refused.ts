/** Why a log is not imported. */

import type { NewEvent } from "../../../store/port.ts";
import { HarnessError } from "../../core/errors.ts";

export function refused(problem: string): HarnessError {
  return new HarnessError("invalid_request", `This log cannot be imported. ${problem}`);
}

/** What is here already is left as it is, whoever's it is. */
export function inUse(kind: string, id: string): HarnessError {
  return new HarnessError("conflict", `${id} is in use already.`, { details: { [`${kind}_id`]: id } });
}

/** Events are checked by what they mean; one that does not even have the shape of its kind shows itself here. */
export function asWritten<T>({ event }: NewEvent, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof HarnessError) throw error;
    throw refused(`It has an event ${event} that is not of the form of its kind.`);
  }
}
