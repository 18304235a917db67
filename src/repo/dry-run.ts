/** A look at what a run would do, which writes nothing. */
import { Budget } from "./budget.ts";
import { chunkKey, contentHash, type Fingerprint } from "./fingerprints.ts";
import { loadLog } from "./ledger.ts";
import { type Preview, previewOf } from "./preview.ts";
import { readRepoFile } from "./read.ts";
import { holdsSecret } from "./secret-content.ts";
import { type ShownSettings, settingsOf, shownSettings } from "./settings.ts";
import type { FilesSource, IndexOptions, RowSink } from "./sink.ts";
import { isIn, Walk } from "./walk.ts";

/** The result of `svc_index_repo` with `dry_run`. */
export interface DryRunResult extends Preview {
  status: "dry_run";
  collection: string;
  repo_id: string;
  workspace: string;
  folder?: string;
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
  const { workspace, collection, folder, notes, force, signal, deadline } = options;
  const { root, repoId, below } = workspace;
  const fingerprints = loadLog(folder, repoId, notes);
  const settings = settingsOf(options, fingerprints.found);
  const exclude = [folder, ...(options.exclude ?? [])];
  const budget = new Budget(0, deadline);
  const walk = await Walk.begin(root, { below, maxFileBytes: settings.maxFileBytes, exclude, signal, budget });
  const files = new Map<string, { size: number; mark: number }>();
  await walk.advance(
    (file) => {
      files.set(file.path, { size: file.size, mark: file.mark });
      return false;
    },
    () => budget.isSpent(files.size),
  );
  const known = new Map([...fingerprints.files].filter(([path]) => isIn(below ?? "", path)));
  const isOther = force === true || fingerprints.note?.params !== chunkKey(settings.chunking);
  const preview = previewOf(
    { files, left: walk.left, ignored: walk.ignored },
    {
      files: known,
      isSame(path) {
        const record = known.get(path);
        if (isOther || !record) return false;
        // Read shortly after it was changed: what it is now only another look can tell.
        if (record.mark === 0) return holdsTheSame(root, path, record, settings.maxFileBytes);
        return record.mark === files.get(path)?.mark;
      },
      isGone: (path) => walk.isGone(path),
    },
  );
  const shown = shownSettings(settings);
  return {
    status: "dry_run",
    collection,
    repo_id: repoId,
    workspace: root,
    ...(below === undefined ? {} : { folder: below }),
    files_tracked: [...known.values()].filter(({ kind }) => kind === "text").length,
    files_source: walk.source === "git" ? "git" : "folder",
    ...preview,
    ...(walk.isComplete ? {} : { truncated: true as const }),
    ...(shown === undefined ? {} : { settings: shown }),
  };
}

/** Whether a run that reads a file would find what its record says. */
function holdsTheSame(root: string, path: string, { kind, hash }: Fingerprint, maxFileBytes: number): boolean {
  const read = readRepoFile(root, path, maxFileBytes);
  if ("failure" in read) return read.failure === kind;
  return kind === "text" ? contentHash(read.bytes) === hash : kind === "secret" && holdsSecret(read.bytes);
}
