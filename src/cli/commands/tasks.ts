/** `bridle task`: give agents tasks, look at them, answer them. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { taskTransitions } from "../../kernel/tasks/lifecycle.ts";
import type { Artifact, ListTasks, TaskStatus } from "../../sdk/client/index.ts";
import { Remote } from "../remote.ts";
import { wholeNumber } from "../settings/option-parsers.ts";
import { parseMoment } from "../settings/parse-moment.ts";
import { type Limits, remoteCommand, type Settings, taskCommand, withLimit } from "../task/command.ts";
import type { SubmitSettings } from "../task/submit.ts";
import type { WatchSettings } from "../task/watch.ts";
import { show } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";

export function addTaskCommands(program: Command): void {
  const task = program
    .command("task")
    .alias("tasks")
    .description("Give agents tasks, look at them, answer them.");
  addSubmit(task);
  addList(task);
  addLooking(task);
  addFollowing(task);
  addActing(task);
}

function addSubmit(task: Command): void {
  remoteCommand(task, "submit <agent> [text...]", "Give an agent a task. Prints its id.", [
    'bridle task submit assistant "What changed since Monday?" --watch',
    'bridle task submit releaser --input \'{"since":"v1.2.0"}\' --wait',
    "git diff | bridle task submit reviewer - --wait",
  ])
    .option("--input <json>", "the fields of the input: a JSON object, @FILE, or - for standard input")
    .option("--session <id>", "where it belongs, or last; a new session otherwise")
    .option("--workspace <id>", "the session's workspace, or that of the new one")
    .option("--persona <id>", "as this persona of the agent, and not as its own")
    .option("--idempotency-key <key>", "the same key again gives the same task, and no second one")
    .addOption(
      new Option(
        "--wait",
        "print what the agent says when it is done; exit code 1 when it failed, 5 when it waits for a person",
      ).conflicts("watch"),
    )
    .addOption(
      new Option("--timeout <seconds>", "wait no longer than this; the task goes on").argParser(
        wholeNumber(1, 2_000_000),
      ),
    )
    .option("--watch", "watch it until it has ended, as `bridle task watch` does")
    .option("--no-ask", "with --watch: leave its questions to others")
    .action(async (agent: string, words: string[], settings: SubmitSettings, command: Command) => {
      if ((words.length === 0) === (settings.input === undefined)) {
        command.error("error: say what it is to do, either in words or with --input.");
      }
      await (await import("../task/submit.ts")).submit(agent, words, settings);
    });
}

interface ListSettings extends Settings, Limits {
  status?: TaskStatus;
  agent?: string;
  session?: string;
  since?: Date;
}

function addList(task: Command): void {
  const command = remoteCommand(
    task,
    "list",
    "Tasks, newest first; with a filter, those that changed last come first.",
    [
      "bridle task list --status INPUT_REQUIRED",
      "bridle task list --agent assistant --since 2h --all --json",
    ],
  );
  withLimit(command)
    .addOption(
      new Option("--status <status>", "only tasks in this state").choices(Object.keys(taskTransitions)),
    )
    .option("--agent <name>", "only tasks of this agent")
    .option("--session <id>", "only tasks of this session, or last")
    .option("--since <time>", "only tasks that changed since: a time, or 30m, 2h, 5d", parseMoment)
    .action(async ({ status, agent, session, since, ...settings }: ListSettings) => {
      const { client } = new Remote(settings);
      const { moreHint, taken, taskTable } = await import("../task/list.ts");
      const { sessionIdOf } = await import("../task/find-task.ts");
      const filters: ListTasks = {
        ...(status === undefined ? {} : { status }),
        ...(agent === undefined ? {} : { agent }),
        ...(session === undefined ? {} : { sessionId: await sessionIdOf(client, session) }),
        ...(since === undefined ? {} : { since }),
      };
      const { items, isMore } = await taken(client.tasks.all({ ...filters, limit: 100 }), settings);
      show(settings, items, () => (items.length === 0 ? "No tasks.\n" : taskTable(items, Date.now())));
      if (isMore && settings.json !== true) process.stderr.write(moreHint);
    });
}

function addLooking(task: Command): void {
  taskCommand(
    task,
    "show",
    "One task: its input, its state, its steps with what they gave, and what helps.",
    [],
  ).action(async (named: string, settings: Settings) => {
    const { remote, client, id } = await found(named, settings);
    const { storyText, taskText } = await import("../task/show.ts");
    const shown = await client.tasks.get(id);
    const story = settings.json === true ? "" : await storyText(remote, id);
    show(settings, shown, () => `${taskText(shown, Date.now())}${story}`);
  });
  taskCommand(task, "why", "In one sentence: what the task waits for or why it ended, then what helps.", [
    "bridle task why last",
  ]).action(async (named: string, settings: Settings) => {
    const { client, id } = await found(named, settings);
    const [why, shown] = await Promise.all([client.tasks.why(id), client.tasks.get(id)]);
    const { helpOf } = await import("../task/show.ts");
    show(settings, why, () => {
      const helps = why.what_helps.map((text) => `  ${oneLine(text)}\n`).join("");
      const docs = why.docs === null ? "" : `  See ${oneLine(why.docs)}\n`;
      return `${oneLine(why.sentence)}\n${helps}${docs}${helpOf(shown)}`;
    });
  });
  taskCommand(task, "artifacts", "The files that a task has made.", []).action(
    async (named: string, settings: Settings) => {
      const { remote, id } = await found(named, settings);
      const [{ artifactTable }, { taken }] = await Promise.all([
        import("../task/artifacts.ts"),
        import("../task/list.ts"),
      ]);
      const path = `/v1/artifacts?task_id=${encodeURIComponent(id)}`;
      const { items: made } = await taken(remote.items<Artifact>(path), { all: true });
      show(settings, made, () => (made.length === 0 ? "No files.\n" : artifactTable(made)));
    },
  );
  taskCommand(task, "receipt", "The signed receipt of a task that has ended, as JSON.", [
    "bridle task receipt last > receipt.json",
  ]).action(async (named: string, settings: Settings) => {
    const { client, id } = await found(named, settings);
    const { receipt_id, status } = await client.tasks.get(id);
    if (receipt_id === null) throw new Error(`task ${id} has no receipt: it is ${status}.`);
    show({ json: true }, await client.receipts.get(receipt_id), () => "");
  });
}

function addFollowing(task: Command): void {
  taskCommand(
    task,
    "watch",
    "Watch a task until it has ended, and answer what it asks. Exit code 0 when it completed, 1 otherwise.",
    ["bridle task watch last", "bridle task watch last --json | jq .event"],
  )
    .option("--no-ask", "leave its questions to others")
    .addHelpText(
      "after",
      "\nOn a terminal it is a view; elsewhere a line for every event. It goes on when\nthe server restarts.",
    )
    .action(async (named: string, settings: Settings & WatchSettings) => {
      const { remote, id } = await found(named, settings);
      await (await import("../task/watch.ts")).watchTask(remote, id, settings);
    });
  taskCommand(task, "logs", "What happened in a task, a line for every event; with --json, JSON lines.", [
    "bridle task logs last",
    "bridle task logs last --verbose",
    "bridle task logs last --follow --json",
  ])
    .option("--follow", "go on until the task has ended")
    .option(
      "--verbose",
      "with prompts, answers, inputs and outputs of steps, and where they failed, cut at 400 characters each",
    )
    .option("--full", "the same, uncut")
    .action(async (named: string, settings: Settings & WatchSettings & { follow?: true }) => {
      const { remote, id } = await found(named, settings);
      const { tellLog } = await import("../task/watch.ts");
      await tellLog(remote, id, settings);
    });
}

function addActing(task: Command): void {
  taskCommand(task, "answer", "Answer what a task has asked.", [
    'bridle task answer last "eu-west"',
    'bridle task answer last --json-answer \'{"name":"v1.3.0"}\'',
  ])
    .argument("[text...]", "the answer; where the question has one field, that field")
    .option("--json-answer <json>", "the answer as JSON", parsedJson)
    .action(
      async (
        named: string,
        words: string[],
        settings: Settings & { jsonAnswer?: unknown },
        self: Command,
      ) => {
        if ((words.length === 0) === (settings.jsonAnswer === undefined)) {
          self.error("error: give the answer, either in words or with --json-answer.");
        }
        const { client, id } = await found(named, settings);
        const { answerOf, askingTask } = await import("../task/answer.ts");
        const asking = await askingTask(client, id);
        const answer = settings.jsonAnswer ?? answerOf(asking, words.join(" "));
        const message = await client.tasks.answer(id, answer);
        show(settings, message, () => `${oneLine(id)} has its answer.\n`);
      },
    );
  taskCommand(task, "signal", "Send a signal that the agent's code waits for.", [
    "bridle task signal last paid",
    'bridle task signal last shipped --payload \'{"parcel":"A-1"}\'',
  ])
    .argument("<name>", "the name that the code waits for")
    .option("--payload <json>", "what is sent along, as JSON; null by default", parsedJson)
    .action(async (named: string, name: string, settings: Settings & { payload?: unknown }) => {
      const { client, id } = await found(named, settings);
      const signaled = await client.tasks.signal(id, name, settings.payload ?? null);
      show(settings, signaled, () => `${oneLine(`${id} has the signal ${name}`)}.\n`);
    });
  taskCommand(
    task,
    "retry",
    "Retry a failed or canceled task: a new task keeps its recorded results up to the step that failed.",
    ["bridle task retry last", "bridle task retry last --from step:fetch:2"],
  )
    .option("--from <step>", "do this step again, and everything after it; the step that failed by default")
    .action(async (named: string, settings: Settings & { from?: string }) => {
      const { client, id } = await found(named, settings);
      const { from } = settings;
      const retried = await client.tasks.retry(id, from === undefined ? {} : { fromStep: from });
      const step = retried.retry_of?.from_step ?? null;
      const where = step === null ? "after everything that was recorded" : `from ${step}`;
      show(settings, retried, () => `${oneLine(retried.id)}\n`);
      if (settings.json !== true) process.stderr.write(`It goes on ${oneLine(where)}.\n`);
    });
  taskCommand(task, "cancel", "Cancel a task, for good.", ['bridle task cancel last --reason "wrong branch"'])
    .option("--reason <text>", "why, for the log")
    .action(async (named: string, settings: Settings & { reason?: string }) => {
      const { client, id } = await found(named, settings);
      const { reason } = settings;
      const canceled = await client.tasks.cancel(id, reason === undefined ? {} : { reason });
      show(settings, canceled, () => `${oneLine(`${id} is ${canceled.status}`)}.\n`);
    });
}

async function found(named: string, settings: Settings) {
  const remote = new Remote(settings);
  const { taskIdOf } = await import("../task/find-task.ts");
  return { remote, client: remote.client, id: await taskIdOf(remote.client, named) };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError("It is not JSON; text needs double quotes inside the shell's own.");
  }
}
