/** An import of a file that a browser has sent, as `svc mem import` does it, with what a person has to know of it. */
import { checkName } from "../../checks/names.ts";
import { SvcError } from "../../errors.ts";
import { openRows } from "../../formats/formats.ts";
import type { RowSource } from "../../formats/input/row.ts";
import { parseArguments } from "../../memory/arguments.ts";
import type { Memory } from "../../memory/memory.ts";
import { FileImport, type ImportTotal } from "../../memory/transfer/import.ts";
import type { LocalParts, Site } from "./site.ts";
import { withUpload } from "./upload.ts";

/** What a person chose. */
export interface Choices {
  readonly collection: string;
  /** The format; undefined: as the file is recognised. */
  readonly from?: string | undefined;
  readonly times: boolean;
  /** Rows that are wrong are left out, in place of ending the import. */
  readonly lenient: boolean;
  readonly skipDuplicates: boolean;
  readonly textColumn?: string | undefined;
  readonly idColumn?: string | undefined;
}

export interface Imported {
  readonly collection: string;
  readonly file: string;
  readonly total: ImportTotal;
  /** What is wrong with rows that were left out: the first ones, and how many there are. */
  readonly bad: readonly string[];
  readonly badCount: number;
  /** What the format left out, and why. */
  readonly remarks: readonly string[];
  /** What ended the import early. Batches before it are stored. */
  readonly failure?: string | undefined;
}

/** The remedy of an error as it is for a terminal. */
const FLAG = /name it with --from .*$/s;
/** Bad rows that are named. */
const NAMED_MAX = 20;

/**
 * @param local of the same site
 * @throws ValueError for a name that no collection can have; OSError where the file cannot be kept or read
 */
export async function importUpload(
  site: Site,
  local: LocalParts,
  file: File,
  choices: Choices,
  signal: AbortSignal,
): Promise<Imported> {
  const { collection, from, lenient } = choices;
  // Refuses a name before anything is read.
  checkName(parseArguments("create_collection", { name: collection }).name);
  const memory: Pick<Memory, "terminal" | "compact"> = {
    terminal: local.terminal,
    compact: (a, c) => site.verbs.compact(a, c),
  };
  return withUpload(file, async ({ path, shown }) => {
    const bad: string[] = [];
    let badCount = 0;
    const onBad = (error: SvcError) => {
      badCount += 1;
      if (badCount <= NAMED_MAX) bad.push(shown(error.message));
    };
    const whenBad = lenient ? { onBad } : {};
    const flags = { textColumn: choices.textColumn, idColumn: choices.idColumn };
    let running: FileImport | undefined;
    let source: RowSource | undefined;
    let failure: string | undefined;
    try {
      source = await openRows(path, from, { signal, flags, ...whenBad });
      const { times, skipDuplicates } = choices;
      running = new FileImport(memory, source, { collection, schema: {}, times, skipDuplicates, signal, ...whenBad });
      await running.run();
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
      failure = shown(error.message);
      // Nothing was read yet: the form is shown again.
      if (running === undefined)
        throw Object.assign(error, { message: failure.replace(FLAG, "choose its format, if it has one of them") });
    }
    const remarks = (source?.remarks?.() ?? []).map(shown);
    return { collection, file: file.name, total: running.total, bad, badCount, remarks, failure };
  });
}
