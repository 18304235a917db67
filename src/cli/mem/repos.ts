/** `svc mem repos`: which repositories are indexed. No tool: an agent has no use for those it does not work in. */
import { resolve } from "node:path";
import { minuteOf } from "../../answers/local-times.ts";
import type { Overview } from "../../memory/repos/overview.ts";
import type { ForgetRepoPayload, RepoEntry, ReposPayload } from "../../memory/requests.ts";
import { command, string, UsageError } from "../terminal/command.ts";
import { link, note, oneLine, style } from "../terminal/output.ts";
import { counted, megabytes } from "./render/text.ts";
import { answer, COMMON, withMemory } from "./verb.ts";

const ID = /^[0-9a-f]{16}$/;

export default command({
  details:
    "Lists every repository with its files, its rows, about how much disk they take, and when it was last used. First\n" +
    "it removes linked work trees that git no longer has; a folder that is only missing stays.\n\n" +
    "--forget removes the rows of one repository and does not touch its folder. Their bytes are freed by the next\n" +
    "compact. The next search in that repository indexes it again.",
  examples: ["svc mem repos", "svc mem repos --forget ~/projects/app", "svc mem repos --collection app --json"],
  args: {
    collection: string("NAME", "only the repositories of this collection"),
    forget: string("ROOT|ID", "remove the rows of this repository, named by its folder or its id"),
    ...COMMON,
    json: { type: "boolean", description: "print the answer as one JSON object" },
  },
  async run(invocation) {
    const { collection, forget, json } = invocation.args;
    if (forget === "") throw new UsageError("--forget is empty: name the root of a repository, or its id");
    const overview = <T>(work: (repositories: Overview) => Promise<T>) =>
      withMemory(invocation, async (memory) => work((await memory.repositories()).overview), { needs: "machine" });
    if (forget === undefined) {
      const payload = await overview((repositories) => repositories.list(collection));
      if (!answer(payload, json === true, renderRepos)) note("no repository is indexed");
      return;
    }
    // An id could be the name of a folder too, which is then written with a slash.
    const repository = ID.test(forget) ? forget : resolve(forget);
    const payload = await overview((repositories) => repositories.forget(repository, collection));
    answer(payload, json === true, renderForgotten);
  },
});

function renderRepos({ repositories, removed = [] }: ReposPayload): string {
  return [
    ...repositories.map(renderRepo),
    ...removed.map((root) => `removed ${oneLine(root)}: git no longer has this work tree`),
  ].join("\n");
}

function renderRepo(entry: RepoEntry): string {
  const { root, repo_id, collection, files, rows, bytes, last_used, linked_to, exists } = entry;
  const { partial, files_done, files_found } = entry;
  const counts = [files === undefined ? "" : counted(files, "file"), counted(rows, "row"), `about ${megabytes(bytes)}`];
  const states = [
    last_used === undefined ? "" : `used ${minuteOf(last_used)}`,
    linked_to === undefined ? "" : `linked work tree of ${oneLine(linked_to)}`,
    partial ? `partial: ${files_done} of ${files_found} files are done` : "",
    root === null ? "its fingerprints are missing" : exists ? "" : "the folder is missing",
  ];
  const name = style("bold", root === null ? repo_id : link(root, oneLine(root)));
  const id = root === null ? "" : `  ${style("dim", repo_id)}`;
  return `${name}${id}  ${oneLine(collection)}\n  ${[...counts, ...states].filter((part) => part !== "").join(", ")}`;
}

function renderForgotten({ forgotten, deleted, collections }: ForgetRepoPayload): string {
  return `forgot ${oneLine(forgotten)}: ${counted(deleted, "row")} deleted from ${collections.map(oneLine).join(", ")}`;
}
