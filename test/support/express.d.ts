/** As much of express as the official library's server is put on in tests. */
declare module "express" {
  import type { IncomingMessage, Server, ServerResponse } from "node:http";

  export interface Request extends IncomingMessage {
    // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came
    body: any;
    path: string;
  }

  export interface Response extends ServerResponse {
    status(code: number): this;
  }

  export type RequestHandler = (request: Request, response: Response, next: () => void) => void;

  export interface Express extends RequestHandler {
    use(path: string, handler: RequestHandler): Express;
    use(handler: RequestHandler): Express;
    listen(port: number, host: string): Server;
  }

  function express(): Express;
  namespace express {
    function json(options: { type: string[] }): RequestHandler;
  }
  export default express;
}
