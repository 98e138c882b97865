/** `bridle completion`: a script for the shell, made from the commands that there are. */

import { Argument, type Command } from "commander";
import { bashScript } from "../completion/bash.ts";
import { completionsOf } from "../completion/completions.ts";
import { fishScript } from "../completion/fish.ts";
import { zshScript } from "../completion/zsh.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
type Shell = keyof typeof scripts;

export function addCompletionCommand(program: Command): void {
  program
    .command("completion")
    .description("Print a script that completes commands, options and file names in your shell.")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(scripts)))
    .addHelpText(
      "after",
      `
Put the line for your shell where it starts:
  ~/.bashrc                   source <(bridle completion bash)
  ~/.zshrc, after compinit    source <(bridle completion zsh)
  ~/.config/fish/config.fish  bridle completion fish | source`,
    )
    .action((shell: Shell) => {
      process.stdout.write(scripts[shell](program.name(), completionsOf(program)));
    });
}
