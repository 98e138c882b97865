/** `bridle/react`: tasks, sessions and approvals as hooks. It needs React and nothing else; see docs/guides/react.md. */

export { type ApprovalsState, type UseApprovals, useApprovals } from "./use-approvals.ts";
export { type SessionState, type UseSession, useSession } from "./use-session.ts";
export { type TaskState, useTask } from "./use-task.ts";
