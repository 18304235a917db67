/** The editor of the person, chosen and started as git does it: VISUAL, EDITOR, else vi. */
import { CancelledError, OSError, ValueError } from "../../../errors.ts";
import { type Env, programFolders } from "../../../paths.ts";
import { interruption, leaveInterrupts } from "../../terminal/interrupt.ts";
import { isTerminal, oneLine } from "../../terminal/output.ts";

/** Exit codes of a shell that did not find the command, or could not run it. */
const NOT_STARTED = [126, 127];
/** The exit code of a shell whose command Ctrl-C has ended. */
const INTERRUPTED = 130;
const REMEDY = "name one with EDITOR, as in 'export EDITOR=nano'";

/** The line of the shell that starts the editor. @throws ValueError where none is named and there is no vi */
export function editorOf(env: Env): string {
  // VISUAL needs a whole screen.
  const isDumb = (env.TERM ?? "dumb") === "dumb";
  const named = (isDumb ? "" : env.VISUAL?.trim()) || env.EDITOR?.trim() || (isDumb ? env.VISUAL?.trim() : "");
  if (named) return named;
  if (isDumb) throw new ValueError(`no editor is named, and this terminal cannot show vi: ${REMEDY}`);
  if (Bun.which("vi", { PATH: programFolders(env).join(":") })) return "vi";
  throw new ValueError(`no editor is named: ${REMEDY}`);
}

/**
 * Runs it on a file, and waits for its end.
 * @throws OSError where it cannot be started or fails; CancelledError where Ctrl-C or SIGTERM has ended it
 */
export async function runEditor(editor: string, file: string): Promise<void> {
  const { signal } = interruption;
  // Ctrl-C is the editor's.
  using _ = leaveInterrupts();
  // The shell splits the words of the line, which may have arguments; the file is never part of it.
  const child = Bun.spawn(["/bin/sh", "-c", `${editor} "$@"`, editor, file], {
    env: { ...process.env },
    stdin: "inherit",
    // stdout has the answer and nothing else.
    stdout: isTerminal(1) ? "inherit" : 2,
    stderr: "inherit",
  });
  const end = () => child.kill();
  signal.addEventListener("abort", end);
  const code = await child.exited;
  signal.removeEventListener("abort", end);
  if (signal.aborted || child.signalCode === "SIGINT" || code === INTERRUPTED) throw new CancelledError("interrupted");
  if (code === 0) return;
  const name = oneLine(editor);
  if (NOT_STARTED.includes(code)) throw new OSError(`the editor '${name}' cannot be started: ${REMEDY}`);
  throw new OSError(`the editor '${name}' ended with exit code ${code}: nothing was saved`);
}
