/** The names of what Bridle offers beyond OPVS, for the surface that serves it and the runtime that uses it elsewhere. */

/**
 * Every streamed event carries the id of the log's event in its metadata, and a subscription goes on after the event
 * that `since` names.
 */
export const durableCursorUri = "urn:bridle:durable-cursor:1";
/** Work that is handed on says under which receipt, and a task that has ended says under which receipt it was done. */
export const delegationUri = "urn:bridle:delegation:1";
