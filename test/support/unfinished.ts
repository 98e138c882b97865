/** Requests whose bodies never come: whoever is answered was answered before the body was read. */

import { request } from "node:http";
import { connect } from "node:http2";

export interface Unfinished {
  method?: string;
  headers?: Record<string, string>;
  /** How long the body is said to be. */
  bytes?: number;
}

/** The status, when only the first byte of a large body has been sent. */
export async function answerBeforeBody(url: string, unfinished: Unfinished): Promise<number> {
  return (await wholeAnswerBeforeBody(url, unfinished)).status;
}

export function wholeAnswerBeforeBody(
  url: string,
  { method = "POST", headers = {}, bytes = 4_000_000 }: Unfinished,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = { "content-type": "application/json", ...headers, "content-length": String(bytes) };
    const asked = request(url, { method, headers: sent, timeout: 20_000 }, (response) => {
      response.setEncoding("utf8");
      response.toArray().then((chunks) => {
        resolve({ status: response.statusCode ?? 0, text: chunks.join("") });
        asked.destroy();
      }, reject);
    });
    asked.on("timeout", () => asked.destroy(new Error(`${method} ${url} waits for the body`)));
    asked.on("error", reject);
    asked.write("{");
  });
}

/** The status of a gRPC call whose message never comes. */
export async function grpcStatusBeforeMessage(
  url: string,
  path: string,
  headers: Record<string, string>,
): Promise<number> {
  const session = connect(url);
  try {
    return await new Promise((resolve, reject) => {
      const call = session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc",
        te: "trailers",
        ...headers,
      });
      call.setTimeout(20_000, () => reject(new Error(`${path} waits for the message`)));
      const settle = (found: Record<string, unknown>) => {
        if (found["grpc-status"] !== undefined) resolve(Number(found["grpc-status"]));
      };
      call.on("response", settle).on("trailers", settle).on("error", reject).resume();
      // A message of 1 MB is announced, and a byte of it sent.
      call.write(Buffer.from([0, 0, 16, 0, 0, 10]));
    });
  } finally {
    session.destroy();
  }
}
