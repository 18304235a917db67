/** `svc mem import` of a folder of Markdown that svc wrote: what a person sees of it. */
import { keepHeapSmall } from "../../../../ffi/system/calls.ts";
import type { SvcError } from "../../../errors.ts";
import { checkFlags, type FormatFlags } from "../../../formats/input/flags.ts";
import type { WantedSchema } from "../../../memory/transfer-schema.ts";
import { asUsage, EXIT, UsageError } from "../../terminal/command.ts";
import { note, oneLine, print, printJson } from "../../terminal/output.ts";
import { grouped, startProgress } from "../../terminal/progress.ts";
import { fit } from "../../terminal/width.ts";
import { counted, showId } from "../render/text.ts";
import type { MemoryRun } from "./folder.ts";
import { type FolderImported, importFolder } from "./folder-import.ts";

/** Files and rows that are named. */
const NAMED_MAX = 20;

/** What the command line says. */
export interface MarkdownImport {
  readonly collection: string;
  readonly folder: string;
  readonly schema: WantedSchema;
  readonly flags: FormatFlags;
  readonly args: {
    readonly times: boolean;
    readonly json?: boolean | undefined;
    readonly delete?: boolean | undefined;
    readonly restore?: boolean | undefined;
    readonly "dry-run"?: boolean | undefined;
    readonly "skip-duplicates"?: boolean | undefined;
  };
  /** Whether bad files are left out. */
  readonly isLenient: boolean;
}

/** Imports a folder. @param run opens the memory @returns the exit code */
export async function importMarkdown(
  run: MemoryRun,
  { collection, folder, schema, flags, args, isLenient }: MarkdownImport,
): Promise<number> {
  asUsage(() => checkFlags(flags, "an export", `'${folder}'`));
  if (args["skip-duplicates"])
    throw new UsageError("--skip-duplicates is not for a folder that svc wrote: leave it out");
  let bad = 0;
  const onBad = (error: SvcError) => {
    bad += 1;
    progress.end();
    if (bad <= NAMED_MAX) note(`svc: left out: ${oneLine(error.message)}`);
  };
  const progress = startProgress(`importing ${collection}`);
  let done: FolderImported;
  try {
    keepHeapSmall();
    const plan = {
      ...{ collection, folder, schema, times: args.times, dryRun: args["dry-run"] === true },
      ...{ isDelete: args.delete === true, isRestore: args.restore === true },
      ...(isLenient ? { onBad } : {}),
      progress: (files: number, total: number) => progress.update({ done: files, total, unit: "files" }),
    };
    done = await run((verbs, context) => importFolder(verbs, plan, context));
  } finally {
    progress.end();
  }
  for (const line of notesOf(done)) note(oneLine(line));
  if (args["dry-run"] && !args.json) for (const line of planned(done)) print(fit(oneLine(line)));
  const { added, updated, beside, deleted, unchanged, gone, missing, masked } = done;
  const inserted = added.length + beside.length;
  const payload = {
    ...{
      imported: inserted + updated.length + unchanged,
      inserted,
      replaced: updated.length,
      unchanged,
      bad,
      collection,
    },
    ...{ deleted: deleted.length, beside, gone, missing },
    ...(masked > 0 ? { masked } : {}),
    ...(args["dry-run"] ? { dry_run: true } : {}),
  };
  if (args.json) printJson(payload);
  else print(fit(summary(payload)));
  return bad > 0 ? EXIT.failed : EXIT.done;
}

function notesOf({ beside, gone, missing, masked, remarks, unwritten }: FolderImported): string[] {
  const lines = [...remarks];
  for (const { file, id, added } of beside.slice(0, NAMED_MAX)) {
    lines.push(
      `row ${showId(id)} was changed since the export: what '${file}' has is added beside it, as ${showId(added)}`,
    );
  }
  if (beside.length > NAMED_MAX)
    lines.push(`${counted(beside.length - NAMED_MAX, "more row")} added beside changed ones`);
  if (gone > 0) {
    lines.push(
      `${counted(gone, "unedited file")} of rows that were deleted since the export: --restore adds them again`,
    );
  }
  if (missing > 0) {
    const rows =
      missing === 1
        ? "1 row has no file any more and stays"
        : `${counted(missing, "row")} have no file any more and stay`;
    lines.push(`${rows}: --delete deletes those that are as they were exported`);
  }
  if (masked > 0) lines.push(`${counted(masked, "credential")} masked`);
  if (unwritten > 0) {
    lines.push(
      `${counted(unwritten, "file")} could not be brought up to date: another edit of them is added beside their rows, ` +
        "unless you export into the folder before",
    );
  }
  return lines;
}

/** What a call without --dry-run would do, a line for each row. */
function planned({ added, updated, deleted, beside }: FolderImported): string[] {
  const lines = (what: string, ids: readonly string[]) => ids.map((id) => `${what} ${showId(id)}`);
  const others = beside.map((one) => `add ${showId(one.added)} beside ${showId(one.id)}`);
  return [...lines("update", updated), ...lines("add", added), ...others, ...lines("delete", deleted)];
}

function summary(payload: {
  inserted: number;
  replaced: number;
  unchanged: number;
  deleted: number;
  bad: number;
  collection: string;
  dry_run?: boolean;
}): string {
  const { inserted, replaced, unchanged, deleted, bad, collection, dry_run } = payload;
  const parts = [
    `${dry_run ? "would import" : "imported"} ${counted(inserted + replaced, "row")} into ${oneLine(collection)}`,
    ...(unchanged > 0 ? [`${grouped(unchanged)} were there already`] : []),
    ...(deleted > 0 ? [`${dry_run ? "would delete" : "deleted"} ${grouped(deleted)}`] : []),
    ...(bad > 0 ? [`left ${counted(bad, "bad file")} out`] : []),
  ];
  return parts.join(", ");
}
