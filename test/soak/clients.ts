/** Random clients of a soak, and what they were promised: each acknowledgement is remembered under its key. */

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { Client, isFinal, type Json } from "../support/client.ts";
import { openStream } from "../support/sse.ts";
import { type Place, submitters } from "./submitters.ts";

const words = ["step", "parallel", "effect", "tool", "ask", "sleep", "say"];
const answerMsMax = 8000;

export interface Promised {
  protocol: string;
  key: string;
  taskId: string;
}

export class Clients {
  readonly promised: Promised[] = [];
  /** Event ids that a follower was sent, over all its connections. */
  readonly followed: string[] = [];
  /** Refusals that nothing explains. */
  readonly refusals: string[] = [];
  readonly #place: Place;
  readonly #random: () => number;
  #isOver = false;
  #isClosed = false;

  constructor(place: Place, random: () => number) {
    this.#place = place;
    this.#random = random;
  }

  get client(): Client {
    return new Client(this.#place);
  }

  /** Nothing new is begun from here on. What has no answer yet is asked again until it has one. */
  end(): void {
    this.#isOver = true;
  }

  close(): void {
    this.#isClosed = true;
  }

  async submit(protocol: string): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      const count = 1 + Math.floor(this.#random() * 4);
      const text = Array.from({ length: count }, () => words[Math.floor(this.#random() * words.length)]).join(
        " ",
      );
      await this.#insist(protocol, `${protocol}-${n}-${Math.floor(this.#random() * 1e9)}`, text);
    }
  }

  async #insist(protocol: string, key: string, text: string): Promise<void> {
    const submitter = submitters[protocol];
    assert.ok(submitter !== undefined);
    while (true) {
      try {
        const taskId = await within(answerMsMax, submitter.submit(this.#place, key, text));
        this.#note({ protocol, key, taskId });
        // An answer may have been lost on its way to somebody else who then asks again.
        if (submitter.isRepeatable && this.#random() < 0.1) {
          this.#note({
            protocol,
            key,
            taskId: await within(answerMsMax, submitter.submit(this.#place, key, text)),
          });
        }
        return;
      } catch (error) {
        if (error instanceof Error && error.message.startsWith("refused")) {
          this.refusals.push(`${protocol}: ${error.message}`);
          return;
        }
        if (!submitter.isRepeatable) return;
        await pause(20 + this.#random() * 200);
      }
    }
  }

  #note(promised: Promised): void {
    const before = this.promised.find(({ key }) => key === promised.key);
    if (before === undefined) this.promised.push(promised);
    else if (before.taskId !== promised.taskId) {
      this.refusals.push(`${promised.key} was answered with ${before.taskId} and ${promised.taskId}`);
    }
  }

  /** Answers whatever is asked. */
  async attend(): Promise<void> {
    while (!this.#isClosed) {
      try {
        for (const status of ["INPUT_REQUIRED", "AUTH_REQUIRED"]) {
          const { body } = await within(answerMsMax, this.client.get(`/v1/tasks?status=${status}&limit=50`));
          for (const task of body.data ?? []) await within(answerMsMax, this.#answer(task));
        }
      } catch {
        // The server is away.
      }
      await pause(100);
    }
  }

  async #answer({ id, status, waiting_for: waiting }: Json): Promise<void> {
    if (status === "INPUT_REQUIRED") await this.client.answer(id, "yes");
    else {
      const path = `/v1/permission-requests/${waiting?.permission_request_id}/respond`;
      await this.client.post(path, { approved: true });
    }
  }

  async follow(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#connection();
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
      }
      await pause(50);
    }
  }

  async #connection(): Promise<void> {
    const last = this.followed.at(-1);
    const headers: Record<string, string> = last === undefined ? {} : { "last-event-id": last };
    await using stream = await openStream(this.client, "/v1/events/stream", headers);
    if (stream.status !== 200) return;
    for await (const { id } of stream.frames) {
      if (id !== null) this.followed.push(id);
      if (this.#isClosed) return;
    }
  }

  /** All tasks once they have ended. */
  async tasks(msMax: number): Promise<Json[]> {
    const deadline = Date.now() + msMax;
    while (true) {
      const tasks = await this.client.listAll("/v1/tasks").catch(() => null);
      if (tasks?.every(isFinal)) return tasks;
      const open = tasks?.filter((task) => !isFinal(task)) ?? [];
      assert.ok(Date.now() < deadline, `stuck: ${JSON.stringify(open.slice(0, 3))}`);
      await pause(100);
    }
  }
}

async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  const late = new AbortController();
  try {
    const timeout = pause(ms, undefined, { signal: late.signal }).then(() =>
      Promise.reject(new Error("late")),
    );
    return await Promise.race([answer, timeout]);
  } finally {
    late.abort();
  }
}
