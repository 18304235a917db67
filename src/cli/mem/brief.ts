/** `svc mem brief`: what to know at the beginning of a session. No tool: clients run it when a session begins. */

import { shown } from "../../checks/kinds.ts";
import { attempt } from "../../errors.ts";
import type { BriefPayload } from "../../memory/brief/brief.ts";
import { BRIEF_TOKENS, BRIEF_TOKENS_MAX, BRIEF_TOKENS_MIN } from "../../memory/brief/limits.ts";
import { command, number, string, UsageError } from "../terminal/command.ts";
import { note, oneLine, visible } from "../terminal/output.ts";
import { answer, COMMON, withMemory } from "./verb.ts";

export default command({
  details:
    "Prints, for a model's context, what to know at the beginning of a session, from all collections but those with the\n" +
    "index of a repository: first the pinned rows ('svc mem pin'), then rows whose metadata have the kind \"decision\",\n" +
    '"preference" or "open", then what changed since the last brief that was marked, and the newest rows. Rows whose\n' +
    "metadata have superseded_by, the id of a newer row, are left out.\n\n" +
    "With --project it shows rows of this scope before those of the scope default, and no others. 'auto' is the project\n" +
    "of the working directory; outside of a project it shows rows of all scopes.\n\n" +
    "Nothing is guessed and no model is asked. Texts are cut to 300 bytes and quoted on one line each. Tokens are counted\n" +
    "without a tokenizer, rather too many than too few.",
  examples: ["svc mem brief", "svc mem brief --project auto --max-tokens 1500", "svc mem brief --json"],
  args: {
    project: string(
      "auto|NAME",
      "rows of this scope first, then those of the scope default; auto: the working directory's",
    ),
    "max-tokens": number("N", `tokens to print at most (${BRIEF_TOKENS}; ${BRIEF_TOKENS_MIN} to ${BRIEF_TOKENS_MAX})`),
    mark: { type: "boolean", description: "let the next brief of the project tell what changed after this one" },
    ...COMMON,
    json: {
      type: "boolean",
      description:
        "print {project, since, changes: {name: {added, replaced, deleted}}, rows, tokens, parts: {part: [{collection, id, updated, text, truncated, change}]}, left_out, unreadable: {name: text}}",
    },
  },
  async run(invocation) {
    const { project: named, mark, json = false } = invocation.args;
    const max_tokens = invocation.args["max-tokens"] ?? BRIEF_TOKENS;
    if (!Number.isInteger(max_tokens) || max_tokens < BRIEF_TOKENS_MIN || max_tokens > BRIEF_TOKENS_MAX) {
      const range = `from ${BRIEF_TOKENS_MIN} to ${BRIEF_TOKENS_MAX}`;
      throw new UsageError(`--max-tokens: '${max_tokens}' must be a whole number ${range}`);
    }
    if (named === "") throw new UsageError("--project is empty: give the name of a scope, or auto");
    const project = named === "auto" ? await projectHere() : named;
    const brief = await withMemory(invocation, async (verbs) =>
      (await verbs.terminal()).brief({ project, max_tokens, mark }),
    );
    const { text, unmarked, is_unknown_project, ...others } = brief;
    if (json) answer(others, true, () => "");
    else answer(brief, false, (one: BriefPayload) => visible(one.text));
    if (is_unknown_project)
      note(`no current row has scope ${shown(project!)}: the brief shows rows with scope 'default' only`);
    if (unmarked !== undefined) note(`this brief could not be marked: ${oneLine(unmarked)}`);
  },
});

async function projectHere(): Promise<string | undefined> {
  const { projectOfWorkTree } = await import("../../memory/project.ts");
  // The working directory may be gone.
  return projectOfWorkTree(attempt(() => process.cwd()));
}
