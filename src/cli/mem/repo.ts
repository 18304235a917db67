/**
 * `svc mem index|repo-search`. Here `--path` is the memory, as everywhere, so that the repository is an argument of its
 * own.
 */
import { resolve } from "node:path";
import type { IndexRepoPayload } from "../../memory/requests.ts";
import { FORMS } from "../../repo/show/forms.ts";
import { number, string } from "../terminal/command.ts";
import { note, oneLine } from "../terminal/output.ts";
import { AFTER, toolArguments, WITH_TIMES } from "./flags.ts";
import { renderDryRun } from "./render/dry-run.ts";
import { renderRepoHits } from "./render/repo.ts";
import { counted } from "./render/text.ts";
import { verbCommand } from "./verb.ts";

const ROOT =
  "a repository or a folder of it (SVC_MCP_WORKSPACE, CLAUDE_PROJECT_DIR, else the git work tree around the working directory)";

export const index = verbCommand("index_repo", {
  details:
    "Walks the folder (.gitignore is honoured), cuts each text file into pieces and stores them. Running it again only reads what\n" +
    "changed. Binaries, and files that hold credentials (known by name or content), are skipped and counted. Without a folder it is the workspace that\n" +
    "is configured, else the git work tree around the working directory. Of a folder in a git work tree only what lies below is looked at.\n" +
    "/, the home directory, git's own folders and svc's own state are never indexed. Mode, lines and the size of the largest file\n" +
    "stay for this repository until other ones are given.",
  examples: ["svc mem index", "svc mem index --dry-run", "svc mem index ~/projects/app --collection app --mode file"],
  args: {
    root: { type: "positional", required: false, completes: "folder", description: ROOT },
    collection: string("NAME", "collection to index into (repo_symbols)"),
    mode: {
      type: "enum",
      options: ["windowed", "file"],
      description: "windowed: overlapping windows of lines (at first); file: whole files",
    },
    "window-lines": number("N", "lines in a window (at first 48)"),
    "window-overlap-lines": number("N", "lines that neighbours share (at first 8)"),
    "max-file-bytes": number("N", "skip larger files; 0: only those above 64 MiB"),
    "max-files": number("N", "stop after so many new or changed files; 0: no limit"),
    "max-seconds": number("N", "stop after so long; 0: no limit"),
    force: { type: "boolean", description: "index every file again, changed or not" },
    "dry-run": {
      type: "boolean",
      description: "only say what would be indexed, and what not and why; nothing is written",
    },
  },
  toArguments: ({ args: { root, ...args } }) => ({
    ...toolArguments(args),
    path: root === undefined ? undefined : resolve(root),
  }),
  render: (payload) => (payload.status === "dry_run" ? renderDryRun(payload) : renderIndex(payload)),
});

export const repoSearch = verbCommand("repo_search", {
  details:
    "Brings the index of the workspace up to date, then searches it. Of each file, best first, it prints path, line, symbol and the best\n" +
    "lines; --form chooses what else. On a terminal the paths are links.",
  examples: [
    'svc mem repo-search "where is the licence checked"',
    'svc mem repo-search "retry" --path-hint src/net --top-k 10',
    "svc mem repo-search parseHeader --form files | xargs wc -l",
  ],
  unexpected: () => "put a query of several words in quotes",
  args: {
    query: { type: "positional", description: "what to look for, in plain words" },
    workspace: string("DIR", ROOT),
    collection: string("NAME", "collection that holds its index (repo_symbols)"),
    "top-k": number("N", "at most so many files (5)"),
    "path-hint": string("PATH", "only this file, or only below this folder of it"),
    form: {
      type: "enum",
      options: [...FORMS],
      description:
        "lines: the best lines; files: paths alone; grep: three lines a file as path:line:text; windows: whole windows",
    },
    "per-file": number("N", "above 1: up to so many windows of a file, each by itself (1)"),
    "with-text": { type: "boolean", description: "the same as --form windows" },
    "with-times": WITH_TIMES,
    "max-seconds": number("N", "stop indexing after so long and search what is indexed; 0: no limit"),
    after: AFTER,
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
