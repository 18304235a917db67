/**
 * `svc mem index|repo-search`. Here `--path` is the memory, as everywhere, so that the repository is an argument of its
 * own.
 */
import { resolve } from "node:path";
import type { IndexRepoPayload } from "../../memory/requests.ts";
import { string } from "../terminal/command.ts";
import { note, oneLine } from "../terminal/output.ts";
import { QUERY, toolArguments } from "./flags.ts";
import { renderDryRun } from "./render/dry-run.ts";
import { renderRepoHits } from "./render/repo.ts";
import { counted } from "./render/text.ts";
import { verbCommand } from "./verb.ts";

const ROOT =
  "a repository or a folder of it (SVC_MCP_WORKSPACE, CLAUDE_PROJECT_DIR, else the git work tree around the working directory)";

export const index = verbCommand("index_repo", {
  details:
    "Walks the folder, cuts each text file into pieces and stores them. Run again, it reads only what changed.\n" +
    "Without ROOT it takes the configured workspace, or else the git work tree around the working directory. If you\n" +
    "name a folder of a git work tree, it reads only what is below that folder.\n\n" +
    "It follows .gitignore. It skips and counts binaries and files that hold credentials, which it knows by name or\n" +
    "content. It never indexes /, the home directory, git's own folders or svc's own state. Mode, window lines and\n" +
    "maximum file size stay for this repository until you give other ones.",
  examples: ["svc mem index", "svc mem index --dry-run", "svc mem index ~/projects/app --collection app --mode file"],
  args: {
    root: { type: "positional", required: false, completes: "folder", description: ROOT },
  },
  toArguments: ({ args: { root, ...args } }) => ({
    ...toolArguments(args),
    path: root === undefined ? undefined : resolve(root),
  }),
  render: (payload) => (payload.status === "dry_run" ? renderDryRun(payload) : renderIndex(payload)),
});

export const repoSearch = verbCommand("repo_search", {
  details:
    "Brings the index of the workspace up to date, then searches it. It prints the best files first, each with path,\n" +
    "line, symbol and best lines; --form chooses another form. On a terminal the paths are links.",
  examples: [
    'svc mem repo-search "where is the licence checked"',
    'svc mem repo-search "retry" --path-hint src/net --top-k 10',
    "svc mem repo-search parseHeader --form files | xargs wc -l",
  ],
  unexpected: () => "put a query of several words in quotes",
  args: {
    query: QUERY,
    workspace: string("DIR", ROOT),
    "with-text": { type: "boolean", description: "the same as --form windows" },
  },
  render(payload, { form, "with-text": isWindows }) {
    if (payload.partial) note(`not every file was looked at in time${ofFiles(payload)}: the next call goes on`);
    return renderRepoHits(payload, isWindows ? "windows" : (form ?? "lines"));
  },
  nothing: "no hits",
});

/** How much of a partial index is done. */
function ofFiles({ files_done, files_found }: Pick<IndexRepoPayload, "files_done" | "files_found">): string {
  return files_found === undefined ? "" : ` (${files_done} of ${counted(files_found, "file")} are done)`;
}

function renderIndex(payload: IndexRepoPayload): string {
  const { status, collection, files_tracked, files_changed, files_removed, chunks_added, chunks_deleted } = payload;
  const skipped = Object.entries(payload.files_skipped).filter(([, number]) => number > 0);
  const lines = [
    `${status === "hit" ? "nothing had changed in" : status} ${oneLine(collection)}: ${counted(files_tracked, "file")} tracked, ` +
      `${files_changed} changed, ${files_removed} removed; ${counted(chunks_added, "piece")} added, ${chunks_deleted} deleted`,
  ];
  if (skipped.length > 0) {
    lines.push(`skipped: ${skipped.map(([reason, number]) => `${number} ${reason.replaceAll("_", " ")}`).join(", ")}`);
  }
  if (payload.truncated) lines.push(`stopped at a limit before the end${ofFiles(payload)}: the next call goes on`);
  return lines.join("\n");
}
