/** A look at what a run would do, which writes nothing. */
import { dirname } from "node:path";
import { Budget } from "./budget.ts";
import { chunkKey, loadFingerprints, stampOf } from "./fingerprints.ts";
import { type Preview, previewOf } from "./preview.ts";
import { type ShownSettings, settingsOf, shownSettings } from "./settings.ts";
import type { FilesSource, IndexOptions } from "./sink.ts";
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
export async function dryRun(options: Omit<IndexOptions, "sink">): Promise<DryRunResult> {
  const { workspace, collection, fingerprintPath, force, signal, deadline } = options;
  const { root, repoId, below } = workspace;
  const { fingerprints } = loadFingerprints(fingerprintPath, repoId);
  const settings = settingsOf(options, fingerprints);
  const exclude = [dirname(fingerprintPath), ...(options.exclude ?? [])];
  const budget = new Budget(0, deadline);
  const walk = await Walk.begin(root, { below, maxFileBytes: settings.maxFileBytes, exclude, signal, budget });
  const files = new Map<string, { size: number; stamp: string }>();
  await walk.advance(
    (file) => {
      files.set(file.path, { size: file.size, stamp: stampOf(file) });
      return false;
    },
    () => budget.isSpent(files.size),
  );
  const known = new Map([...(fingerprints?.files ?? [])].filter(([path]) => isIn(below ?? "", path)));
  const isOther = force === true || fingerprints?.params !== chunkKey(settings.chunking);
  const preview = previewOf(
    { files, left: walk.left, ignored: walk.ignored },
    {
      files: known,
      isSame: (path) => !isOther && known.get(path)?.stamp === files.get(path)?.stamp,
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
