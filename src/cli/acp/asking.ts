/** What a person is being asked at the editor, beside the stream of the task: it may be answered elsewhere meanwhile. */

import { RequestError } from "@agentclientprotocol/sdk";

/** For requests to the editor: it is told when the answer is no longer wanted, and not waited for then. */
export interface AskOptions {
  cancellationSignal: AbortSignal;
  stopWaitingOnCancel: true;
}

interface Asked {
  /** Puts the question. */
  ask(options: AskOptions): Promise<void>;
  /** The editor does not ask such things. */
  cannot(): Promise<void>;
  failed(error: unknown): void;
}

export class Asking {
  /** By the step of the run that waits. */
  readonly #open = new Map<string, { over: AbortController; done: Promise<void> }>();

  put(step: string, asked: Asked): void {
    const over = new AbortController();
    const done = run(asked, over.signal).finally(() => this.#open.delete(step));
    this.#open.set(step, { over, done });
  }

  /** It was answered, here or elsewhere. */
  close(step: string): void {
    this.#open.get(step)?.over.abort();
  }

  closeAll(): void {
    for (const step of this.#open.keys()) this.close(step);
  }

  /** Nothing is said after a turn is over. */
  async settled(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ done }) => done));
  }
}

async function run({ ask, cannot, failed }: Asked, signal: AbortSignal): Promise<void> {
  try {
    await ask({ cancellationSignal: signal, stopWaitingOnCancel: true });
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof RequestError)) return failed(error);
    await cannot().catch(failed);
  }
}
