/** `bridle/testing`: what tests of agents are written with. What is not named here may change today. */

export { ModelError } from "../models/model.ts";
export { replayFixture } from "../runtime/run/history.ts";
export { RehearsalError } from "./failure.ts";
export type { JournalStep } from "./journal.ts";
export {
  type Answer,
  type ApprovalAsked,
  type Decision,
  type Hosts,
  nobody,
  type People,
  type Question,
  type Script,
} from "./people.ts";
export type { Waiting } from "./play.ts";
export type { Rehearsal, RehearsedArtifact } from "./rehearsal.ts";
export { type RehearsalOptions, rehearse } from "./rehearse.ts";
export {
  type ModelScript,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedModels,
  scripted,
} from "./scripted.ts";
export type { StandIn, StandInContext, StandIns } from "./stand-ins.ts";
