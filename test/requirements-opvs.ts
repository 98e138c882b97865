/** The rules of OPVS (wire-compatible with A2A 1.0) that a server keeps, numbered as in the protocol's checklist. */

import { type Requirement, section } from "./requirements.ts";

export const opvsRequirements: readonly Requirement[] = [
  ...section("OPVS", "Send and stream", {
    "OPVS-1": "SendMessage answers with a task or with a message, never with both.",
    "OPVS-2":
      "Unless it is told to answer at once, the answer is a task that has ended or waits for somebody.",
    "OPVS-3": "That answer has the latest status and all artifacts.",
    "OPVS-4": "Told to answer at once, it answers while the task still runs.",
    "OPVS-5": "A message to a task that has ended is UnsupportedOperation, sent or streamed.",
    "OPVS-6": "A part of a media type that the agent does not take is ContentTypeNotSupported.",
    "OPVS-7": "An answer that is a message is the only event of its stream.",
    "OPVS-8": "The stream of a task begins with the task.",
    "OPVS-9": "After the task come only updates of status and of artifacts.",
    "OPVS-10": "The stream of a task is closed when the task has ended.",
    "OPVS-11": "Events are sent when they happen, not gathered until the end.",
    "OPVS-12": "Every event of a stream has exactly one member.",
    "OPVS-13": "There is never more history than the length that was asked for.",
  }),
  ...section("OPVS", "Get, list, cancel, subscribe", {
    "OPVS-14": "GetTask of an id that no task has is TaskNotFound.",
    "OPVS-15": "GetTask of a task that the caller may not see is the same error.",
    "OPVS-16": "ListTasks never shows a task that the caller may not see, with filters or without.",
    "OPVS-17": "Who follows the tokens of ListTasks gets each task once.",
    "OPVS-18": "ListTasks is in the order of the status timestamps, the newest first.",
    "OPVS-19": "A page always has nextPageToken.",
    "OPVS-20": "On the last page it is the empty string.",
    "OPVS-21": "Unless artifacts are asked for, no listed task has the member.",
    "OPVS-22": "A page always has tasks, pageSize and totalSize.",
    "OPVS-23": "Canceling a running task answers with the task as it then is.",
    "OPVS-24": "Canceling a task that completed, failed or was rejected is TaskNotCancelable.",
    "OPVS-25": "Canceling an id that no task has is TaskNotFound.",
    "OPVS-26": "Canceling twice does what canceling once does.",
    "OPVS-27": "A subscription begins with the task as it is.",
    "OPVS-28": "It ends when the task does.",
    "OPVS-29": "Subscribing to a task that has ended is UnsupportedOperation.",
    "OPVS-30": "Subscribing to an id that no task has is TaskNotFound.",
  }),
  ...section("OPVS", "Identifiers and turns", {
    "OPVS-31": "A context id that the server made is on the task or message that it answers with.",
    "OPVS-32": "A context id that cannot be taken is refused, never replaced.",
    "OPVS-33": "Each new task has an id of its own, made by the server.",
    "OPVS-34": "That id is in the task that is returned.",
    "OPVS-35": "A message for a task that is not there is TaskNotFound and makes nothing.",
    "OPVS-36": "A message that names only its task is in the task's context.",
    "OPVS-37": "A message that names a task and another context than the task's is refused.",
    "OPVS-38": "Messages from the server name their context.",
  }),
  ...section("OPVS", "Streaming capability", {
    "OPVS-42": "Of an agent that does not stream, streaming and subscribing are UnsupportedOperation.",
  }),
  ...section("OPVS", "Streams", {
    "OPVS-61": "Events arrive in the order in which they were made, over every binding.",
    "OPVS-62": "Of several streams of a task, each gets every event.",
    "OPVS-63": "All of them get the same order.",
    "OPVS-64": "Closing one leaves the others alone.",
    "OPVS-65": "A task goes on when nobody has a stream open.",
  }),
  ...section("OPVS", "Authorization in a task", {
    "OPVS-139": "Authorization in the middle of work is asked for by a task in AUTH_REQUIRED.",
    "OPVS-140": "That status has a message which says what it is about.",
    "OPVS-141": "The authorization comes another way than by messages to the task.",
    "OPVS-142": "The state alone authorizes nothing.",
    "OPVS-143": "What was authorized does not extend to what comes later.",
  }),
];
