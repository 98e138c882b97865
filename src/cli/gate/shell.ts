/**
 * `bridle gate shell-init` and `guard`: before an interactive shell runs a line for which the policy has a rule, the gate
 * decides. Lines that no rule is about are none of its business: a person typed them.
 */

import { homedir } from "node:os";
import { decideGate } from "../../gate/decide.ts";
import { loadPolicy } from "../../gate/policy-files.ts";
import { toolRequest } from "../../gate/request.ts";
import { oneLine } from "../terminal/text.ts";
import { type AskSettings, inputFor, sayAsked, stopSignal } from "./asking.ts";
import { decide } from "./decision.ts";
import { denialOf, gateExit } from "./denial.ts";
import { gateRemote } from "./gate-remote.ts";
import { withStanding } from "./standing.ts";

export async function guard(line: string, settings: AskSettings): Promise<void> {
  using stop = stopSignal();
  const { signal } = stop;
  try {
    const cwd = process.cwd();
    const { policy } = loadPolicy(cwd, settings.policy);
    const subject = { tool: "shell", kind: "shell", line };
    const verdict = decideGate(policy, subject, { cwd, home: homedir() });
    // Lines that cannot be read matter only where there is a rule that they could be about.
    const hasRules = policy.rules.some(
      ({ action, isKnownOnly }) => action !== "allow" && isKnownOnly !== true,
    );
    const isAbout = verdict.findings.some(
      ({ rule, what }) => rule !== null || (hasRules && what === "the line"),
    );
    if (!isAbout) return;
    const remote = gateRemote(settings);
    const action = oneLine(`shell: ${line}`).slice(0, 300);
    const request = toolRequest({ tool: "shell", from: "shell", details: { line }, cwd });
    const asked = inputFor(action, verdict, request, { runs: false, wait: settings.wait });
    const input = await withStanding(remote, asked, { subject, cwd });
    await decide({ remote, input, signal, onAsked: sayAsked(action) });
  } catch (error) {
    const { message, exitCode } = denialOf(error);
    process.stderr.write(`bridle gate: not run. ${message}\n`);
    process.exitCode = signal.aborted ? gateExit.denied : exitCode;
  }
}

/** What `eval "$(bridle gate shell-init bash)"` runs. Without a verdict the line is not run. */
export function shellInit(shell: "bash" | "zsh", program: string): string {
  const guardCommand = `command ${program} gate guard --line`;
  return shell === "zsh" ? zshInit(guardCommand) : bashInit(guardCommand);
}

function zshInit(guardCommand: string): string {
  return `# bridle gate: asks before a line runs that the policy is about.
bridle-gate-accept-line() {
  if [[ -n "\${BUFFER//[[:space:]]/}" ]] && ! ${guardCommand} "$PREBUFFER$BUFFER" </dev/tty; then
    zle reset-prompt
    return 1
  fi
  zle .accept-line
}
zle -N accept-line bridle-gate-accept-line
`;
}

/**
 * Bash says what it is about to run command by command, with functrace also in subshells. What makes the prompt is left alone:
 * PS0 is expanded between the prompt and the line, and without it (bash before 4.4, or a PS0 that is not ours) all is asked about.
 */
function bashInit(guardCommand: string): string {
  return `# bridle gate: asks before a command runs that the policy is about.
shopt -s extdebug
set -o functrace
if (( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404 )); then
  PROMPT_COMMAND="__bridle_gate_prompt=1\${PROMPT_COMMAND:+; $PROMPT_COMMAND}"
  PS0="\${PS0-}"'\${PS0:(__bridle_gate_prompt=0):0}'
fi
__bridle_gate() {
  [[ "$BASH_COMMAND" == __bridle_gate_prompt=1 || -n "\${COMP_LINE-}" || \${#FUNCNAME[@]} -gt 1 ]] && return 0
  [[ "\${__bridle_gate_prompt-0}" == 1 && "\${PS0-}" == *__bridle_gate_prompt=0* ]] && return 0
  ${guardCommand} "$BASH_COMMAND"
}
trap '__bridle_gate' DEBUG
`;
}
