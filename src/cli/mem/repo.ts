/** `svc mem index|repo-search`. Here `--path` is the memory, as everywhere, so that the repository is an argument of its own. */
import { resolve } from "node:path";
import type { IndexRepoPayload } from "../../memory/requests.ts";
import { command } from "../command.ts";
import { numberFlag } from "../flags.ts";
import { note } from "../output.ts";
import { counted, renderHits } from "./render.ts";
import { answer, COMMON, callVerb, siteOf, verbCommand } from "./verb.ts";

export const index = verbCommand("index_repo", {
  summary: "index the text files of a repository",
  details:
    "Walks the folder (.gitignore is honoured), cuts each text file into pieces and stores them. Running it again only reads what\n" +
    "changed. Binaries, and files that hold credentials by their name, are skipped and counted. Without a folder it is the git work tree\n" +
    "around the working directory. / and the home directory are never indexed.",
  examples: ["svc mem index", "svc mem index ~/projects/app --collection app --mode file"],
  args: {
    root: {
      type: "positional",
      required: false,
      description: "root of the repository (SVC_MCP_WORKSPACE, else the git work tree around the working directory)",
    },
    collection: { type: "string", valueHint: "NAME", description: "collection to index into (repo_symbols)" },
    mode: {
      type: "string",
      valueHint: "MODE",
      description: "windowed: overlapping windows of lines; file: whole files",
    },
    "window-lines": { type: "string", valueHint: "N", description: "lines in a window (48)" },
    "window-overlap-lines": { type: "string", valueHint: "N", description: "lines that neighbours share (8)" },
    "max-file-bytes": { type: "string", valueHint: "N", description: "skip larger files; 0: only those above 64 MiB" },
    "max-files": {
      type: "string",
      valueHint: "N",
      description: "stop after so many new or changed files; 0: no limit",
    },
    "max-seconds": { type: "string", valueHint: "N", description: "stop after so long; 0: no limit" },
    force: { type: "boolean", description: "index every file again, changed or not" },
  },
  toArguments: ({ args }) => ({
    path: args.root === undefined ? undefined : resolve(args.root),
    collection: args.collection,
    mode: args.mode,
    window_lines: numberFlag("window-lines", args["window-lines"]),
    window_overlap_lines: numberFlag("window-overlap-lines", args["window-overlap-lines"]),
    max_file_bytes: numberFlag("max-file-bytes", args["max-file-bytes"]),
    max_files: numberFlag("max-files", args["max-files"]),
    max_seconds: numberFlag("max-seconds", args["max-seconds"]),
    force: args.force,
  }),
  render: renderIndex,
});

export const repoSearch = command({
  summary: "search a repository, indexing it afresh",
  details: "Brings the index of the workspace up to date, then searches it.",
  examples: [
    'svc mem repo-search "where is the licence checked"',
    'svc mem repo-search "retry" --path-hint src/net --top-k 10',
  ],
  args: {
    query: { type: "positional", description: "what to look for, in plain words" },
    workspace: {
      type: "string",
      valueHint: "DIR",
      description: "root of the repository (SVC_MCP_WORKSPACE, else the git work tree around the working directory)",
    },
    "top-k": { type: "string", valueHint: "N", description: "at most so many hits (5)" },
    "path-hint": { type: "string", valueHint: "PATH", description: "only this file, or only below this folder of it" },
    "with-text": { type: "boolean", description: "with --json: the texts too" },
    "max-seconds": {
      type: "string",
      valueHint: "N",
      description: "stop indexing after so long and search what is indexed; 0: no limit",
    },
    ...COMMON,
  },
  async run(invocation) {
    const { args } = invocation;
    const json = args.json === true;
    const raw = {
      query: args.query,
      top_k: numberFlag("top-k", args["top-k"]),
      path_hint: args["path-hint"],
      with_text: json ? args["with-text"] : true,
      max_seconds: numberFlag("max-seconds", args["max-seconds"]),
    };
    const workspace = args.workspace === undefined ? undefined : resolve(args.workspace);
    const payload = await callVerb("repo_search", raw, { ...siteOf(invocation), workspace });
    if (!json && payload.truncated) note("not every file was looked at in time: the next call goes on");
    if (!json && payload.hits.length === 0) return note("no hits");
    answer(payload, json, ({ hits }) => renderHits(hits));
  },
});

// ---------------------------------------------------------------------------------------------------------------------

function renderIndex(payload: IndexRepoPayload): string {
  const { status, collection, files_tracked, files_changed, files_removed, chunks_added, chunks_deleted } = payload;
  const skipped = Object.entries(payload.files_skipped).filter(([, number]) => number > 0);
  const lines = [
    `${status === "hit" ? "nothing had changed in" : status} ${collection}: ${counted(files_tracked, "file")} tracked, ` +
      `${files_changed} changed, ${files_removed} removed; ${counted(chunks_added, "piece")} added, ${chunks_deleted} deleted`,
  ];
  if (skipped.length > 0) {
    lines.push(`skipped: ${skipped.map(([reason, number]) => `${number} ${reason.replaceAll("_", " ")}`).join(", ")}`);
  }
  if (payload.truncated) lines.push("stopped at a limit before the end: the next call goes on");
  return lines.join("\n");
}
