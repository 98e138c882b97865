/** The tour from its beginning to its end, whatever happens in between: nothing of it runs any more when it is over. */

import { ConnectionFailed, isFinal, type Task } from "../../sdk/client/index.ts";
import { addressIn } from "../../server/server-address.ts";
import { version } from "../../version.ts";
import type { TourSettings } from "../commands/tour.ts";
import { exitCodes } from "../exit-codes.ts";
import { programName } from "../program-name.ts";
import { Remote } from "../remote.ts";
import { show } from "../terminal/output.ts";
import { canAsk } from "../terminal/prompt.ts";
import { styleFor } from "../terminal/style.ts";
import { type Crash, cutStep, cutStepMs, killInStep, seconds, tellRestart, tellRuns } from "./crash.ts";
import { readExecutions } from "./execution-log.ts";
import { type Audience, followTask } from "./follow.ts";
import { type OwnServer, startOwnServer } from "./own-server.ts";
import { Page } from "./page.ts";
import { Left, personAt } from "./person.ts";
import { Story } from "./story.ts";
import { saveReceipt, verifyCommand, verifyReceipt } from "./verify-receipt.ts";
import { makeWorkspace, type TourWorkspace } from "./workspace.ts";

const endingSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** What a script is told. */
interface Facts {
  task_id: string;
  summary: string;
  receipt_id: string;
  is_valid: boolean;
  /** Null where they are not kept. */
  receipt_file: string | null;
  keys_file: string | null;
  server: { url: string; is_own: boolean; ready_ms: number | null };
  crash: Crash | null;
  /** How often the code of each step ran; null for a server that is not the tour's own. */
  runs: Record<string, number> | null;
  /** A promise that did not hold. */
  problem: string | null;
  total_ms: number;
}

/** Gives the exit code. */
export async function runTour(settings: TourSettings): Promise<number> {
  const leaving = new AbortController();
  const leave = () => leaving.abort(new Left());
  for (const name of endingSignals) process.on(name, leave);
  const tour = new Tour(settings, await makeWorkspace(settings.keep), leaving.signal);
  try {
    const facts = await tour.take();
    show(settings, facts, () => "");
    return facts.is_valid && facts.problem === null ? exitCodes.done.code : exitCodes.failed.code;
  } catch (error) {
    if (!leaving.signal.aborted && !(error instanceof Left)) throw error;
    tour.page.print("", "You left the tour: nothing of it runs any more.");
    return exitCodes.interrupted.code;
  } finally {
    await tour.end();
    for (const name of endingSignals) process.off(name, leave);
  }
}

class Tour {
  readonly page: Page;
  readonly #settings: TourSettings;
  readonly #place: TourWorkspace;
  readonly #signal: AbortSignal;
  readonly #audience: Audience;
  readonly #beganAt = performance.now();
  #own: OwnServer | null = null;
  #task: { remote: Remote; id: string } | null = null;

  constructor(settings: TourSettings, place: TourWorkspace, signal: AbortSignal) {
    const isForScript = settings.json === true;
    const isTerminal = process.stdout.isTTY === true && !isForScript;
    const write = isForScript ? () => {} : (text: string) => void process.stdout.write(text);
    this.page = new Page(write, styleFor({ isTerminal, env: process.env }));
    const isAsked = isTerminal && canAsk() && settings.yes !== true;
    this.#audience = {
      page: this.page,
      person: personAt(this.page, isAsked, signal),
      story: new Story(this.page),
    };
    this.#settings = settings;
    this.#place = place;
    this.#signal = signal;
  }

  async take(): Promise<Facts> {
    const { page } = this;
    page.print("", page.style.strong(`Bridle ${version}: the tour`));
    page.note("No account, no key, no network. The model is scripted; everything else is real.");
    page.heading("A server");
    const first = await this.#findServer();
    const readyMs = this.#own === null ? null : this.#sinceBegin();
    page.heading("An agent at work");
    const input = this.#settings.crash ? { proofread_ms: cutStepMs } : {};
    const { id } = await first.client.tasks.submit({ agent: "tour", input, signal: this.#signal });
    this.#task = { remote: first, id };
    const crash = this.#own !== null && this.#settings.crash ? await this.#crash(this.#own, id) : null;
    const { remote } = this.#task;
    await followTask(remote.client, id, this.#audience, this.#signal);
    const receiptId = receiptOf(await remote.client.tasks.get(id));
    const { summary } = this.#audience.story;
    page.text(summary, page.style.strong);
    const isValid = await this.#prove(remote, receiptId);
    const ran = this.#own === null ? null : readExecutions(this.#place.tally);
    const problem = crash === null || ran === null ? null : tellRuns(page, ran, crash);
    this.#suggest();
    const { isKept, receipt, keys } = this.#place;
    return {
      task_id: id,
      summary,
      receipt_id: receiptId,
      is_valid: isValid,
      receipt_file: isKept ? receipt : null,
      keys_file: isKept ? keys : null,
      server: { url: remote.url, is_own: this.#own !== null, ready_ms: readyMs },
      crash,
      runs: ran && Object.fromEntries(ran.map(({ name, pids }) => [name, pids.length])),
      problem,
      total_ms: this.#sinceBegin(),
    };
  }

  async end(): Promise<void> {
    if (this.#own === null) await this.#giveUpTask();
    await this.#own?.stop();
    await this.#place.leave();
  }

  #sinceBegin(): number {
    return Math.round(performance.now() - this.#beganAt);
  }

  /** The one that runs here, or one of its own. */
  async #findServer(): Promise<Remote> {
    const running = this.#settings.crash ? null : await this.#running();
    if (running !== null) {
      this.page.text(`The one that runs here: ${running.url}`);
      return running;
    }
    const { remote, pid, url } = await this.#start();
    this.page.text(`${url}  pid ${pid}, ready after ${seconds(this.#sinceBegin())}`);
    this.page.note("One for the tour alone. All that it knows is in a folder:");
    this.page.note(this.#place.data);
    return remote;
  }

  async #running(): Promise<Remote | null> {
    const settings = this.#settings;
    const isNamed = settings.url !== undefined;
    if (!isNamed && addressIn(settings.data) === null) return null;
    try {
      const remote = new Remote(settings);
      await remote.requireServer();
      return remote;
    } catch (error) {
      // A server that was killed leaves its address, and somebody else may have the number of its process.
      if (isNamed || !(error instanceof ConnectionFailed)) throw error;
      return null;
    }
  }

  async #start(): Promise<OwnServer> {
    this.#own = await startOwnServer(this.#place, this.#signal);
    return this.#own;
  }

  async #crash(server: OwnServer, taskId: string): Promise<Crash> {
    const cut = new AbortController();
    const signal = AbortSignal.any([this.#signal, cut.signal]);
    const following = followTask(server.remote.client, taskId, this.#audience, signal).catch((error) => {
      if (!cut.signal.aborted) throw error;
    });
    const killing = killInStep(server, { tally: this.#place.tally, page: this.page, signal: this.#signal });
    const [at] = await Promise.all([killing.finally(() => cut.abort()), following]);
    const restarted = await this.#start();
    this.#task = { remote: restarted.remote, id: taskId };
    const crash: Crash = {
      step: cutStep,
      killed_pid: server.pid,
      killed_at: at.toISOString(),
      down_ms: Date.now() - at.getTime(),
      restarted_pid: restarted.pid,
    };
    tellRestart(this.page, restarted, crash, this.#audience.story.recorded);
    return crash;
  }

  /** With its own server gone, so that nobody else can have said that it is valid. */
  async #prove(remote: Remote, receiptId: string): Promise<boolean> {
    const { page } = this;
    page.heading("A receipt");
    page.text(receiptId);
    page.note(
      "What was done, by which model, what it cost and who approved it: signed, and chained to the one before.",
    );
    await saveReceipt(remote, receiptId, this.#place);
    await this.#own?.stop();
    page.text("Saved, with the public keys of the server.");
    if (this.#own !== null) page.text(`The server is stopped: pid ${this.#own.pid} is gone.`);
    page.text("Verified from these two files alone, as by bridle receipt verify:");
    return await verifyReceipt(page, this.#place);
  }

  #suggest(): void {
    const { page } = this;
    page.heading("What to try next");
    page.rows([
      ...(this.#place.isKept ? [[verifyCommand(this.#place), "the same, by yourself"] as const] : []),
      ...(this.#settings.crash
        ? []
        : [[`${programName} tour --crash`, "the same, with the server killed in the middle"] as const]),
      ...(this.#place.isKept
        ? []
        : [[`${programName} tour --keep my-tour`, "keeps the receipt, for you to verify"] as const]),
      [`${programName} init my-agents`, "a project with an agent of your own, and its test"],
      [`${programName} dev`, "a server that loads agents again when they change"],
    ]);
    page.print("");
  }

  /** A task that nobody answers any more is not left on somebody's server. */
  async #giveUpTask(): Promise<void> {
    if (this.#task === null) return;
    const { remote, id } = this.#task;
    const { tasks } = remote.client;
    try {
      if (!isFinal(await tasks.get(id))) await tasks.cancel(id, { reason: "The tour was left." });
    } catch {
      // It ended by itself in the meantime, or the server did.
    }
  }
}

function receiptOf({ id, status, receipt_id, failure }: Task): string {
  if (status === "COMPLETED" && receipt_id != null) return receipt_id;
  throw new Error(
    `The task ${id} of the tour ended as ${status}${failure == null ? "." : `: ${failure.message}`}`,
  );
}
