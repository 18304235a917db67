/** A look at what a run would do, which writes nothing. */
import { REPO_FILE_BYTES_MAX } from "../../limits.ts";
import { holdsSecret } from "../../secrets/content.ts";
import { Deadline } from "../files/deadline.ts";
import { isIn } from "../files/relative.ts";
import type { FilesSource, RepoTree } from "../files/tree.ts";
import { chunkKey, type Fingerprint } from "../fingerprints/fingerprints.ts";
import { loadLog } from "../fingerprints/known-logs.ts";
import type { RowSink } from "../fingerprints/row-sink.ts";
import { type ShownSettings, settingsOf, shownSettings } from "../fingerprints/settings.ts";
import { type IndexOptions, type RepoMembers, repoMembers } from "./options.ts";
import { type Preview, previewOf } from "./preview.ts";

/** The result of `svc_index_repo` with `dry_run`. */
export interface DryRunResult extends RepoMembers, Preview {
  status: "dry_run";
  /** Text files in the index now. */
  files_tracked: number;
  files_source?: FilesSource;
  /** Present if the time limit ended the look before every file was visited. */
  truncated?: true;
  settings?: ShownSettings;
}

/** Looks at the files of a workspace. @throws ValueError for settings that do not go together; CancelledError */
export async function dryRun(
  options: Omit<IndexOptions, "sink"> & { notes: Pick<RowSink, "noteOf"> },
): Promise<DryRunResult> {
  const { workspace, folder, exclude = [], trees } = options;
  return trees.useFresh(workspace.root, [folder, ...exclude], (tree) => dryRunOver(tree, options));
}

async function dryRunOver(
  tree: RepoTree,
  options: Omit<IndexOptions, "sink"> & { notes: Pick<RowSink, "noteOf"> },
): Promise<DryRunResult> {
  const { workspace, folder, notes, force, signal, deadline = new Deadline() } = options;
  const { repoId, below } = workspace;
  const fingerprints = loadLog(folder, repoId, notes);
  const settings = settingsOf(options, fingerprints.found);
  const isComplete = await tree.look({ below, msMax: deadline.msLeft, signal });
  const inside = [...tree.files].filter(([path]) => isIn(below ?? "", path));
  const files = new Map(inside.sort(([a], [b]) => (a < b ? -1 : 1)));
  const left = new Map<string, string>([...tree.left].filter(([path]) => isIn(below ?? "", path)).sort());
  const most = Math.min(settings.maxFileBytes || REPO_FILE_BYTES_MAX, REPO_FILE_BYTES_MAX);
  for (const [path, { size }] of files) {
    if (size <= most) continue;
    files.delete(path);
    left.set(path, "too_large");
  }
  const known = new Map([...fingerprints.files].filter(([path]) => isIn(below ?? "", path)));
  const isOther = force === true || fingerprints.note?.params !== chunkKey(settings.chunking);
  const preview = previewOf(
    { files, left, ignored: ignoredIn(tree, below) },
    {
      files: known,
      isSame(path) {
        const record = known.get(path);
        if (isOther || !record) return false;
        // Read shortly after it was changed: what it is now only another look can tell.
        if (record.mark === 0) return holdsTheSame(tree, path, record, settings.maxFileBytes);
        return record.mark === files.get(path)?.mark;
      },
      isGone: (path) => tree.isGone(path, isComplete),
    },
  );
  return {
    status: "dry_run",
    ...repoMembers(options),
    files_tracked: [...known.values()].filter(({ kind }) => kind === "text").length,
    files_source: tree.source,
    ...preview,
    ...(isComplete ? {} : { truncated: true as const }),
    ...shownSettings(settings),
  };
}

/** What is ignored in a folder; folders end in a slash. */
function ignoredIn({ ignored }: RepoTree, below = ""): string[] {
  const inside = [...ignored].filter(([path]) => isIn(below, path));
  return inside.map(([path, kind]) => (kind === "folder" ? `${path}/` : path)).sort();
}

/** Whether a run that reads a file would find what its record says. */
function holdsTheSame(tree: RepoTree, path: string, { kind, hash }: Fingerprint, maxFileBytes: number): boolean {
  const read = tree.read(path, maxFileBytes);
  if ("failure" in read) return read.failure === kind;
  return kind === "text" ? read.hash === hash : kind === "secret" && holdsSecret(read.bytes);
}
