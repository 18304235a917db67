/** `svc mem export --markdown`: what a person sees of it. */
import { resolve } from "node:path";
import { keepHeapSmall } from "../../../../ffi/system/calls.ts";
import type { Memory } from "../../../memory/memory.ts";
import type { CallContext } from "../../../memory/requests.ts";
import { link, note, oneLine, print, printJson } from "../../terminal/output.ts";
import { grouped, startProgress } from "../../terminal/progress.ts";
import { fit } from "../../terminal/width.ts";
import { counted } from "../render/text.ts";
import type { MemoryRun } from "./folder.ts";
import { exportFolder, type FolderExported } from "./folder-export.ts";

/** Names that a line shows. */
const NAMED_MAX = 3;

/** Writes a folder. @param run opens the memory */
export async function exportMarkdown(
  run: MemoryRun,
  {
    collection,
    folder,
    list,
    isWhole,
    json,
  }: {
    readonly collection: string;
    readonly folder: string;
    /** Lists the ids. */
    readonly list: (verbs: Memory, context: CallContext) => Promise<{ ids: readonly string[] }>;
    readonly isWhole: boolean;
    readonly json: boolean;
  },
): Promise<void> {
  const progress = startProgress(`exporting ${collection}`);
  let done: FolderExported;
  try {
    keepHeapSmall();
    done = await run(async (verbs, context) => {
      const { ids } = await list(verbs, context);
      const shown = (rows: number) => progress.update({ done: rows, total: ids.length, unit: "rows" });
      return exportFolder(verbs, { collection, folder, ids, isWhole, progress: shown }, context);
    });
  } finally {
    progress.end();
  }
  const { exported, written, unchanged, removed, without_text, edited, remarks } = done;
  for (const remark of remarks) note(oneLine(remark));
  if (without_text > 0) note(`${counted(without_text, "row")} without text left out`);
  if (json) return printJson({ exported, collection, folder, written, unchanged, removed, without_text, edited });
  if (edited.length > 0) {
    const named = edited
      .slice(0, NAMED_MAX)
      .map((path) => `'${path}'`)
      .join(", ");
    const more = edited.length > NAMED_MAX ? ", …" : "";
    note(
      oneLine(`${counted(edited.length, "edited file")} left as they are: ${named}${more}: import the folder first`),
    );
  }
  const parts = [`${grouped(written)} written`, `${grouped(unchanged)} unchanged`, `${grouped(removed)} removed`];
  const where = link(resolve(folder), oneLine(folder));
  print(fit(`exported ${counted(exported, "row")} of ${oneLine(collection)} to ${where}: ${parts.join(", ")}`));
}
