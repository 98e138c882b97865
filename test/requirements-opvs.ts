/** The rules of OPVS (wire-compatible with A2A 1.0) that a server keeps, numbered as in the protocol's checklist. */

import { type Requirement, section } from "./requirements.ts";

export const opvsRequirements: readonly Requirement[] = [
  ...section("OPVS", "Send and stream", {
    "OPVS-1": "SendMessage answers with a task or with a message, never with both.",
    "OPVS-2":
      "Unless it is told to answer at once, the answer is a task that has ended or waits for somebody.",
    "OPVS-3": "That answer has the latest status and all artifacts.",
  }),
  ...section("OPVS", "What is not taken", {
    "OPVS-5": "A message to a task that has ended is an unsupported operation, sent or streamed.",
    "OPVS-6": "A part of a media type that the agent does not take is refused as such.",
    "OPVS-45": "A message to an agent that requires an extension is refused unless the client names it.",
    "OPVS-46": "What the agent does not offer is refused, never left out in silence.",
  }),
  ...section("OPVS", "Versions and service parameters", {
    "OPVS-67": "A version is two numbers, major and minor.",
    "OPVS-69": "A version that is not spoken is refused, and those that are get named.",
    "OPVS-71": "The third number of a version makes no difference.",
    "OPVS-73": "Over HTTP, service parameters are headers whose names have no case.",
    "OPVS-75": "Another version of a required extension does not stand in for it.",
  }),
  ...section("OPVS", "Errors", {
    "OPVS-77": "Every error has a code and a message in the form of its binding.",
    "OPVS-78": "Every error of the protocol has the code and status that the protocol gives it.",
    "OPVS-79": "Over JSON-RPC it has an ErrorInfo with reason and domain in its data.",
    "OPVS-81": "Over HTTP+JSON it has an ErrorInfo in its details.",
    "OPVS-82": "Every detail of an error says of which type it is.",
    "OPVS-83": "The reason is the error's name in capitals; the domain is that of A2A.",
    "OPVS-84": "All parameters are checked before anything is done.",
    "OPVS-85": "Missing and invalid credentials are refused.",
    "OPVS-86": "Missing permission is an error of authorization.",
    "OPVS-87": "No error tells that something hidden exists.",
    "OPVS-88": "What is absent and what is not the caller's are both not found.",
  }),
  ...section("OPVS", "Data and JSON", {
    "OPVS-89": "Names in JSON are in camel case.",
    "OPVS-90": "Enums go out by their full names.",
    "OPVS-91": "Times are ISO 8601 in UTC and end in Z.",
    "OPVS-92": "Times come in with fractions or without.",
    "OPVS-93": "Everything that goes out has its required fields.",
    "OPVS-94": "Required lists that come in empty are refused.",
    "OPVS-95": "A part has exactly one content.",
    "OPVS-98": "All bindings have the same data model.",
    "OPVS-99": "Types are generated from the definition; JSON is UTF-8.",
  }),
  ...section("OPVS", "Bindings", {
    "OPVS-100": "All bindings have the same operations.",
    "OPVS-101": "The same request has the same result over every binding.",
    "OPVS-102": "The same mistake has the same error over every binding.",
    "OPVS-103": "The same credentials are good over every binding.",
    "OPVS-105": "Requests and answers of JSON-RPC are those of JSON-RPC 2.0.",
    "OPVS-106": "JSON-RPC is application/json, with the operations' own names as methods.",
    "OPVS-107": "Streams over HTTP are server-sent events.",
    "OPVS-110": "GET and DELETE take parameters from path and query only.",
    "OPVS-111": "Names in a query are in camel case.",
    "OPVS-112": "Values in a query are encoded as addresses need it.",
    "OPVS-113": "Nested objects come in bodies of POST only.",
  }),
  ...section("OPVS", "Security", {
    "OPVS-133": "A server that is reached by https tells clients never to come without.",
    "OPVS-134": "Every request is authenticated.",
    "OPVS-135": "Every operation is authorized.",
    "OPVS-136": "Results are limited to what is the caller's.",
    "OPVS-137": "Operations on a task check that it is the caller's.",
    "OPVS-138": "Authorization comes before any lookup that would tell what exists.",
    "OPVS-144": "Credentials are secrets and never said again.",
    "OPVS-145": "Logs have neither credentials nor what people wrote.",
    "OPVS-147": "What users send is checked against the definition and kept as it is.",
    "OPVS-148": "History and artifacts are only for those who may read messages and artifacts.",
  }),
];
