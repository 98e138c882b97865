/** The view of a task on a terminal: drawn again as it goes on and, when the task asks something, the place to answer. */

import { BridleError, type Task } from "../../sdk/client/index.ts";
import { complaintOf } from "../exit-codes.ts";
import type { Remote } from "../remote.ts";
import { type Style, styleFor } from "../terminal/style.ts";
import { oneLine } from "../terminal/text.ts";
import { Asking, askAnswer, askForVerdict } from "./ask-person.ts";
import { factIn } from "./facts.ts";
import { LiveScreen } from "./live-screen.ts";
import { hiddenLines, pendingLines } from "./pending-lines.ts";
import { viewLines } from "./view-lines.ts";
import { type Pending, unseen, type ViewState, withFact } from "./view-state.ts";

const frameMs = 120;
/** So long nothing may follow a question before it is put to the person: what is long answered comes with its answer. */
const settleMs = 200;
/** Left free for the question that is put below the view. */
const askingRows = 3;
const leaveHint = "Ctrl-C leaves; the task goes on.";

export class LiveView {
  readonly #remote: Remote;
  readonly #stopping: AbortController;
  readonly #canAsk: boolean;
  readonly #screen: LiveScreen;
  readonly #style: Style;
  #state: ViewState;
  #isConnected = true;
  #isAsking = false;
  #hint = leaveHint;
  /** Questions that were put to the person, by their step: each once. */
  readonly #asked = new Set<string>();
  /** Withdraws the question that is open. */
  #withdraw = new AbortController();
  #settle: NodeJS.Timeout | undefined;
  #answering: Promise<void> = Promise.resolve();

  constructor(remote: Remote, taskId: string, stopping: AbortController, canAnswer: boolean) {
    const isTyped = process.stdin.isTTY === true;
    this.#remote = remote;
    this.#stopping = stopping;
    this.#canAsk = canAnswer && isTyped && process.stderr.isTTY === true;
    this.#style = styleFor({ isTerminal: true, env: process.env });
    this.#state = unseen(taskId);
    this.#screen = new LiveScreen(process.stdout, isTyped ? process.stdin : null, () => stopping.abort());
  }

  /** Until the task has ended. What was seen last stays on the screen. */
  async run(): Promise<ViewState> {
    const redraw = () => this.#draw();
    const timer = setInterval(redraw, frameMs);
    process.stdout.on("resize", redraw);
    try {
      await this.#follow();
      this.#withdraw.abort();
      await this.#answering;
      return this.#state;
    } finally {
      clearInterval(timer);
      clearTimeout(this.#settle);
      process.stdout.off("resize", redraw);
      this.#withdraw.abort();
      await this.#answering;
      this.#screen.finish(this.#lines(true));
    }
  }

  async #follow(): Promise<void> {
    const onConnection = (isConnected: boolean) => {
      this.#isConnected = isConnected;
    };
    const { signal } = this.#stopping;
    const { taskId } = this.#state;
    for await (const event of this.#remote.client.tasks.events(taskId, { signal, onConnection })) {
      const fact = factIn(event);
      if (fact === null) continue;
      const { pending } = this.#state;
      this.#state = withFact(this.#state, fact);
      // Whoever answered it elsewhere was faster.
      if (pending !== null && this.#state.pending?.step !== pending.step) this.#withdraw.abort();
      clearTimeout(this.#settle);
      this.#settle = setTimeout(() => this.#askSoon(), settleMs);
    }
  }

  #askSoon(): void {
    const { pending } = this.#state;
    if (!this.#canAsk || pending === null || this.#isAsking || this.#asked.has(pending.step)) return;
    this.#asked.add(pending.step);
    this.#isAsking = true;
    this.#withdraw = new AbortController();
    this.#answering = this.#answer(pending).finally(() => {
      this.#isAsking = false;
      this.#askSoon();
    });
  }

  async #answer(pending: Pending): Promise<void> {
    try {
      const task = await this.#remote.client.tasks.get(this.#state.taskId);
      if (!isSame(task, pending)) return;
      if (task.waiting_for?.signature_required === true) {
        this.#hint = "Only a signature of a paired approver counts here: bridle approver watch";
        return;
      }
      this.#screen.draw(this.#lines(false, askingRows));
      const { signal } = this.#withdraw;
      const answer = await this.#screen.lend(async () => {
        const asking = new Asking(signal, this.#screen.columns);
        const value = await this.#ask(asking, pending);
        // It is over, and must not hear of what ends later.
        this.#withdraw = new AbortController();
        if (asking.isLeft) this.#stopping.abort();
        return { value, rows: asking.rows };
      });
      await answer?.();
      this.#hint = leaveHint;
    } catch (error) {
      // The question stays, and what went wrong is said beside it; the task goes on either way.
      if (!(error instanceof BridleError)) throw error;
      this.#hint = oneLine(complaintOf(error).text);
    }
  }

  /** What is then to be sent; null for nothing. */
  async #ask(asking: Asking, pending: Pending): Promise<(() => Promise<unknown>) | null> {
    const { tasks, approvals } = this.#remote.client;
    const { taskId } = this.#state;
    const { requestId, request } = pending;
    if (pending.kind === "input") {
      const answer = await askAnswer(asking, pending.schema);
      return answer === undefined ? null : () => tasks.answer(taskId, answer);
    }
    if (requestId === null) return null;
    const room = this.#room(askingRows);
    let verdict = await askForVerdict(asking, request, hiddenLines(pending, room) > 0);
    if (verdict === "details") {
      // All of it, above the view from then on.
      process.stdout.write(`${pendingLines(pending, taskId, { ...room, isLast: true }).join("\n")}\n`);
      this.#screen.leave();
      asking.rows = 0;
      verdict = await askForVerdict(asking, request, false);
    }
    if (verdict !== "approve" && verdict !== "deny") return null;
    const response = { approved: verdict === "approve", ...hashIn(request) };
    return () => approvals.respond(requestId, response);
  }

  #draw(): void {
    if (!this.#isAsking && !this.#stopping.signal.aborted) this.#screen.draw(this.#lines(false));
  }

  #lines(isLast: boolean, rowsBelow = 0): string[] {
    const room = this.#room(rowsBelow);
    // Where somebody is asked, that is what can be done here.
    const hint = rowsBelow > 0 ? null : this.#hint;
    const sight = { ...room, now: Date.now(), isLast, isConnected: this.#isConnected, hint };
    return viewLines(this.#state, sight);
  }

  #room(rowsBelow: number) {
    // The last column stays empty: not every terminal agrees on how wide everything is.
    const { columns, rows } = this.#screen;
    const size = { columns: Math.max(columns - 1, 20), rows: Math.max(1, rows - rowsBelow) };
    return { ...size, style: this.#style, isLast: false };
  }
}

function isSame({ waiting_for }: Task, { kind, requestId, prompt }: Pending): boolean {
  if (waiting_for?.kind !== kind) return false;
  return kind === "approval"
    ? waiting_for.permission_request_id === requestId
    : waiting_for.description === prompt;
}

/** What was on the screen is what is answered, and nothing else. */
export function hashIn(request: unknown): { artifact_hash?: string } {
  const hash = typeof request === "object" && request !== null && "artifact_hash" in request;
  return hash && typeof request.artifact_hash === "string" ? { artifact_hash: request.artifact_hash } : {};
}
