/** `bridle shell`: a chat with an agent, at a terminal or through a pipe. */

import { setTimeout as delay } from "node:timers/promises";
import {
  type Attachment,
  type Question,
  Shell,
  ShellError,
  type ShellState,
  type Turn,
} from "../../sdk/shell/index.ts";
import { version } from "../../version.ts";
import type { Remote } from "../remote.ts";
import { agentOf } from "../task/find-task.ts";
import { hintFor } from "../terminal/fields.ts";
import type { Style } from "../terminal/style.ts";
import { table } from "../terminal/table.ts";
import { oneLine } from "../terminal/text.ts";
import { upload } from "./attach.ts";
import { type Command, commandIn, helpText } from "./commands.ts";
import type { Dialogue } from "./dialogue.ts";
import type { OpenRun, OpenRuns } from "./open-runs.ts";
import { askApproval, type Person, structuredAnswer } from "./person.ts";
import { Presenter, sizeText } from "./presenter.ts";

/** Between two looks at an approval that somebody gives elsewhere, with an engine that does not let us wait. */
const lookAgainMs = 2000;
const attachmentsMax = 20;

export interface ChatSettings {
  remote: Remote;
  dialogue: Dialogue;
  style: Style;
  runs: OpenRuns;
  agent: string | null;
  /** Who answers when no agent is named; null when the server does not say. */
  defaultAgent: string | null;
  sessionId: string | undefined;
  mayStream: boolean;
}

export class Chat {
  readonly #settings: ChatSettings;
  readonly #dialogue: Dialogue;
  readonly #presenter: Presenter;
  readonly #person: Person;
  #shell: Shell;
  #agent: string | null;
  #attachments: Attachment[] = [];
  /** What the next line answers, while a run waits for it. */
  #question: Question | null = null;
  #isAnswering = false;
  /** Gives up what is being waited for. */
  #given: AbortController | null = null;
  #interrupts = 0;
  #isOver = false;
  #hasFailed = false;
  #isForgetful = false;

  constructor(settings: ChatSettings) {
    this.#settings = settings;
    this.#dialogue = settings.dialogue;
    this.#presenter = new Presenter(settings.dialogue, settings.style);
    this.#person = {
      dialogue: settings.dialogue,
      style: settings.style,
      presenter: this.#presenter,
      interrupt: () => this.#interrupt(),
    };
    const known = settings.sessionId === undefined ? null : settings.runs.find(settings.sessionId);
    this.#agent = settings.agent ?? known?.agent ?? null;
    this.#shell = this.#newShell(known?.state, settings.sessionId);
    this.#dialogue.onInterrupt(() => this.#interrupt());
  }

  /** Gives the exit code. */
  async run(): Promise<number> {
    if (this.#dialogue.isTerminal) this.#greet();
    while (!this.#isOver) {
      const line = await this.#nextLine();
      if (line === null) break;
      if (line.trim() !== "" || this.#question?.schema !== undefined) await this.#obey(line);
    }
    this.#leave();
    this.#dialogue.close();
    return this.#hasFailed ? 1 : 0;
  }

  #greet(): void {
    const { remote, runs, style, defaultAgent } = this.#settings;
    const agent = this.#agent ?? defaultAgent;
    const named = agent === null ? "the default agent" : `agent ${oneLine(agent)}`;
    this.#dialogue.print(`${style.strong(`Bridle ${version}`)}  ${remote.url}, ${named}`);
    this.#presenter.note("/help lists what can be typed. Ctrl-C stops waiting, Ctrl-D quits.");
    const left = this.#shell.isOpen ? runs.find(this.#shell.state.session_id) : runs.find();
    if (left !== null) this.#presenter.note(`A run was left open ${agoText(left)}. /resume goes on with it.`);
  }

  /** A whole line, however many a backslash at its end makes of it; null to quit. */
  async #nextLine(): Promise<string | null> {
    const { style } = this.#settings;
    let text = "";
    while (true) {
      const prompt = text !== "" ? "... " : this.#isAnswering ? "answer> " : "> ";
      const reply = await this.#dialogue.ask(style.accent(prompt));
      if (reply.kind === "interrupt") {
        text = "";
        this.#interrupts += 1;
        if (this.#interrupts > 1) return null;
        this.#presenter.note("Ctrl-C again quits.");
        continue;
      }
      if (reply.kind !== "line") return text === "" ? null : text;
      this.#interrupts = 0;
      text += reply.text;
      if (!text.endsWith("\\")) return text;
      text = `${text.slice(0, -1)}\n`;
    }
  }

  async #obey(line: string): Promise<void> {
    const command = commandIn(line);
    if (command.name === "say") await this.#say(command.argument);
    else await this.#commands[command.name](command.argument);
  }

  readonly #commands: Record<Exclude<Command["name"], "say">, (argument: string) => unknown> = {
    help: () => this.#dialogue.print(helpText(this.#shell.state.session_id)),
    quit: () => {
      this.#isOver = true;
    },
    agents: () => this.#waiting("asking", (signal) => this.#listAgents(signal)),
    agent: (name) => this.#waiting("asking", (signal) => this.#switchTo(name, signal)),
    new: () => {
      this.#beginAnew();
      this.#presenter.hint("A new conversation.");
    },
    resume: () => this.#resume(),
    cancel: () => this.#turn((signal) => this.#shell.cancel("canceled by the user", { signal })),
    attach: (path) => this.#attach(path),
    unknown: (name) => this.#refuse(`There is no command ${name}. /help lists them; //text sends /text.`),
  };

  #beginAnew(): void {
    this.#leave();
    this.#attachments = [];
    this.#shell = this.#newShell();
    this.#forgetQuestion();
  }

  async #listAgents(signal: AbortSignal): Promise<void> {
    const current = this.#agent ?? this.#settings.defaultAgent;
    const rows: string[][] = [];
    for await (const { name, description } of this.#settings.remote.client.agents.all({ signal })) {
      rows.push([name === current ? "*" : "", name, description]);
    }
    this.#dialogue.print(table(["", "AGENT", "WHAT IT DOES"], rows).trimEnd());
  }

  async #switchTo(name: string, signal: AbortSignal): Promise<void> {
    if (name === "") {
      this.#refuse("Which agent? /agent NAME; /agents lists them.");
      return;
    }
    const agent = await agentOf(this.#settings.remote.client, name, signal);
    this.#agent = agent.name;
    this.#beginAnew();
    this.#presenter.hint(`A new conversation with ${oneLine(agent.name)}.`);
  }

  #refuse(problem: string): void {
    this.#presenter.error(problem);
    this.#hasFailed ||= !this.#dialogue.isTerminal;
  }

  async #say(text: string): Promise<void> {
    const question = this.#question;
    if (this.#isAnswering && question?.id !== undefined && question.schema !== undefined) {
      const { id } = question;
      const value = await structuredAnswer(this.#person, question, text);
      if (value !== null) await this.#turn((signal) => this.#shell.answer(id, value, { signal }));
      return;
    }
    const attachments = this.#attachments;
    const isTaken = await this.#turn((signal) => this.#shell.send(text, { attachments, signal }));
    if (isTaken) this.#attachments = [];
  }

  async #resume(): Promise<void> {
    if (!this.#shell.isOpen) {
      const left = this.#settings.runs.find();
      if (left === null) {
        this.#refuse("There is no open run.");
        return;
      }
      this.#agent = left.agent;
      this.#shell = this.#newShell(left.state);
    }
    await this.#turn((signal) => this.#shell.resume({ signal }));
  }

  async #attach(path: string): Promise<void> {
    if (path === "") {
      this.#refuse("Which file? /attach PATH");
      return;
    }
    if (this.#attachments.length >= attachmentsMax) {
      this.#refuse(`At most ${attachmentsMax} files can go with a message.`);
      return;
    }
    await this.#waiting("uploading", async (signal) => {
      const attachment = await upload(this.#settings.remote, path, signal);
      this.#attachments.push(attachment);
      const size = sizeText(attachment.size_bytes ?? 0);
      this.#presenter.hint(`${attachment.filename} (${size}) goes with your next message.`);
    });
  }

  /** Whether the engine took what was sent. */
  async #turn(begin: (signal: AbortSignal) => Promise<Turn>): Promise<boolean> {
    return await this.#waiting("working", async (signal) => {
      let turn = await begin(signal);
      while (turn.awaits === "approval" && this.#dialogue.isTerminal) {
        this.#dialogue.progress("waiting for an approval that is given elsewhere; Ctrl-C stops waiting");
        await delay(lookAgainMs, undefined, { signal });
        turn = await this.#shell.resume({ signal });
      }
      this.#show(turn);
    });
  }

  #show({ status, awaits, question, error, notTaken }: Turn): void {
    if (error !== undefined) this.#presenter.failure(error);
    if (notTaken.length > 0)
      this.#presenter.note("Something of what you sent came too late and was not taken.");
    this.#hasFailed ||= status === "failed" && !this.#dialogue.isTerminal;
    // What was refused leaves the question as it was.
    if (status === "failed" && this.#shell.isOpen) return;
    this.#question = question ?? null;
    this.#isAnswering = awaits === "answer";
    const hint = question?.schema === undefined ? null : hintFor(question.schema);
    if (hint !== null) this.#presenter.hint(hint);
    if (status !== "open" || awaits === "answer" || this.#dialogue.isTerminal) return;
    // Nobody is here who could do what the run waits for, and further lines would go to that run.
    this.#hasFailed = this.#isOver = true;
  }

  /** Shows that something is going on, and lets Ctrl-C end it. */
  async #waiting(what: string, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const given = new AbortController();
    this.#given = given;
    this.#dialogue.progress(what);
    try {
      await work(given.signal);
      return true;
    } catch (error) {
      this.#explain(error, given.signal);
      return false;
    } finally {
      this.#dialogue.progress(null);
      this.#given = null;
    }
  }

  #explain(error: unknown, { aborted }: AbortSignal): void {
    if (aborted) {
      this.#forgetQuestion();
      const isOpen = this.#shell.isOpen && !this.#isOver;
      if (isOpen) this.#presenter.note("Stopped waiting; the run goes on. /resume comes back to it.");
      return;
    }
    if (error instanceof ShellError) this.#presenter.failure(error);
    else this.#presenter.error(error instanceof Error ? error.message : String(error));
    if (error instanceof ShellError && error.retryable) this.#presenter.hint("/resume tries again.");
    if (!this.#dialogue.isTerminal) this.#hasFailed = this.#isOver = true;
  }

  /** The first Ctrl-C ends the wait, the second one the program. */
  #interrupt(): void {
    this.#interrupts += 1;
    if (this.#interrupts > 1 || this.#dialogue.isEnded) this.#isOver = true;
    this.#given?.abort();
  }

  #forgetQuestion(): void {
    this.#question = null;
    this.#isAnswering = false;
  }

  #leave(): void {
    if (!this.#shell.isOpen) return;
    const { session_id } = this.#shell.state;
    this.#presenter.note(
      `The run is still open. /resume goes on with it in\nbridle shell --session ${session_id}`,
    );
    this.#hasFailed ||= !this.#dialogue.isTerminal;
  }

  #newShell(state?: ShellState, sessionId?: string): Shell {
    const { remote, mayStream } = this.#settings;
    const { isTerminal } = this.#dialogue;
    const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions();
    return new Shell({
      url: `${remote.url}/openharness/v1`,
      headers: () => remote.credentials(),
      identity: { shell_kind: "command_shell", shell_version: version, locale, timezone: timeZone },
      stream: mayStream,
      capabilities: { "openharness.attachments.upload": true },
      handlers: { render_message: (directive) => this.#presenter.message(directive) },
      ...(isTerminal
        ? { approve: (directive, context) => askApproval(this.#person, directive, context) }
        : {}),
      ...(this.#agent === null ? {} : { taskHint: { sop_id: this.#agent } }),
      ...(state !== undefined ? { state } : sessionId === undefined ? {} : { sessionId }),
      onNotice: (text) => this.#presenter.notice(text),
      onProgress: (progress) => this.#presenter.progress(progress),
      onDiagnostic: ({ code, message, actionType }) =>
        this.#presenter.note(actionType === undefined ? message : `${actionType}: ${message} (${code})`),
      onStateChange: (changed) => this.#keep(changed),
    });
  }

  #keep(state: ShellState): void {
    try {
      this.#settings.runs.keep(state, this.#agent);
    } catch (error) {
      if (this.#isForgetful) return;
      this.#isForgetful = true;
      const reason = error instanceof Error ? error.message : String(error);
      this.#presenter.note(`Open runs cannot be remembered after quitting: ${reason}`);
    }
  }
}

function agoText({ at }: OpenRun): string {
  const minutes = Math.round((Date.now() - at.getTime()) / 60_000);
  if (!Number.isFinite(minutes)) return "earlier";
  if (minutes < 1) return "just now";
  if (minutes < 120) return `${minutes} minutes ago`;
  return minutes < 48 * 60
    ? `${Math.round(minutes / 60)} hours ago`
    : `${Math.round(minutes / 1440)} days ago`;
}
