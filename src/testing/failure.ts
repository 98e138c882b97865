/** The rehearsal itself went wrong, not the agent's run: the script does not fit, or there is no end to it. */

export class RehearsalError extends Error {
  override name = "RehearsalError";
}
