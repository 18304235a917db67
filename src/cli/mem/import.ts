/** `svc mem import`: rows of a file into a collection, in batches; a batch is written whole or not at all. */
import { existsSync } from "node:fs";
import { keepHeapSmall } from "../../../ffi/system/calls.ts";
import { shown } from "../../checks/kinds.ts";
import { CancelledError, SvcError } from "../../errors.ts";
import { FORMATS, findFormat, openRows } from "../../formats/formats.ts";
import { ContentIds } from "../../formats/input/content-ids.ts";
import type { ForeignRow, RowSource } from "../../formats/input/row.ts";
import type { Memory } from "../../memory/memory.ts";
import type { ImportRow } from "../../memory/transfer.ts";
import { shellWord } from "../../shell-word.ts";
import { asUsage, command, EXIT, SECRETS, string, UsageError } from "../terminal/command.ts";
import { failureLine, isTerminal, note, oneLine } from "../terminal/output.ts";
import { grouped, startProgress } from "../terminal/progress.ts";
import { withMissing } from "../terminal/shell-words.ts";
import { fit } from "../terminal/width.ts";
import { COLLECTION, SCHEMA_FLAGS, schemaArguments } from "./flags.ts";
import { counted } from "./render/text.ts";
import { FORMAT_FLAGS, formatFlags } from "./transfer/format-flags.ts";
import { answer, COMMON, prepare, withMemory } from "./verb.ts";

/** Rows of a batch, which is one save. A smaller one spends a part of the time on syncs. */
const BATCH_ROWS = 5000;
/** A batch of long texts, in UTF-16 units, is written earlier, to bound what is held: the next one is read meanwhile. */
const BATCH_UNITS = 16 * 1024 * 1024;
/** Units that a member of the metadata counts for, its name and a number or a short word. */
const UNITS_A_MEMBER = 32;
/** Units that a number of a vector counts for: it is held as it was read, compared with the stored one, and packed. */
const UNITS_A_NUMBER = 16;
/**
 * Every process that opens the collection codes the rows since the last compaction again, 7 us each. After so many, or
 * half as many as there were where that is more, the import compacts: one that is killed is not slow to open.
 */
const FOLD_ROWS = 250_000;
/** The same at the end: fewer are compacted by the command as it ends, in the two seconds that it has for it. */
const FOLD_ROWS_AT_END = 50_000;
/** From so many on the end of an import is seen to take time. */
const SHORT_ROWS = 5000;
/** What is imported at once, without a line of progress. */
const SHORT_BYTES = 1e6;
/** After an interruption. */
const GO_ON = "repeat the command to go on";
/** Bad rows that are named with `--on-error skip`. */
const NAMED_MAX = 20;

export default command({
  details:
    'A line of JSON is {"text": …, "id": …, "metadata": …, "created": …, "updated": …, "vector": …}. Only the text is\n' +
    "required. An id may be an integer. The format is recognised by itself, or named with --from; gzip is unpacked.\n" +
    "FILE may also be a folder: notes in Markdown, or the folder of Chroma or mem0.\n\n" +
    "A row whose id exists replaces that row; an equal row is left alone. A row without an id gets an id made from\n" +
    "its content. So you can repeat an interrupted import, and it goes on where it was. Rows are written in batches\n" +
    "of 5,000. At a bad line the import stops, names the line, and prints how many rows the earlier batches imported.\n\n" +
    "If this call makes the collection, its schema is that of the exported collection, which the file's first line\n" +
    "describes; flags that you give take precedence. Vectors of the file are used if they come from the collection's\n" +
    "embedder; otherwise the texts are embedded again.\n\n" +
    `Formats: ${FORMATS.map(({ name, title }) => `${name}, ${title}`).join("; ")}.`,
  examples: [
    "svc mem import notes notes.jsonl",
    "svc mem import ops ops.jsonl.gz --no-times",
    "svc mem import vault ~/Notes --split headings",
    "svc mem import table rows.csv --text-column question --id-column nr",
  ],
  args: {
    collection: COLLECTION,
    file: { type: "positional", required: false, description: "file or folder to read; - or nothing: stdin" },
    from: {
      ...string("FORMAT", `format of the file, if it is not recognised: ${FORMATS.map(({ name }) => name).join(", ")}`),
      completes: FORMATS.map(({ name }) => name),
    },
    times: {
      type: "boolean",
      default: true,
      description: "keep the times of the file",
      negativeDescription: "rows get the time of this import",
    },
    "on-error": string("stop|skip", "skip: leave bad rows out, name them, and exit with 1 (stop)"),
    "skip-duplicates": { type: "boolean", description: "skip texts that the collection already has" },
    secrets: SECRETS,
    ...FORMAT_FLAGS,
    ...SCHEMA_FLAGS,
    ...COMMON,
    json: { type: "boolean", description: "print {imported, inserted, replaced, unchanged, bad, collection}" },
  },
  async run(invocation) {
    const { args, signal, name } = invocation;
    const { collection, from } = args;
    const schema = schemaArguments(args);
    // Refuses names and columns before a login is asked for.
    prepare("create_collection", { name: collection, ...schema });
    const path = args.file ?? "-";
    if (from !== undefined) asUsage(() => findFormat(from));
    const onError = args["on-error"] ?? "stop";
    if (onError !== "stop" && onError !== "skip")
      throw new UsageError(`--on-error must be stop or skip, got '${onError}'`);
    if (args.file === undefined && isTerminal(0)) {
      const isFile = existsSync(collection);
      const command = isFile ? `${name} NAME ${shellWord(collection)}` : withMissing(name, collection, "NAME", "FILE");
      const taken = `${shown(collection)} was taken for the collection`;
      throw new UsageError(`nothing to import, and ${taken}: type ${command}, or pipe JSON lines in`);
    }
    const total = { imported: 0, inserted: 0, replaced: 0, unchanged: 0, bad: 0 };
    let embeddedAgain = 0;
    let [skipped, masked] = [0, 0];
    const onBad = (error: SvcError) => {
      total.bad += 1;
      progress.end();
      if (total.bad <= NAMED_MAX) note(`svc: left out: ${oneLine(error.message)}`);
    };
    const lenient = onError === "skip" ? { onBad } : {};
    const skipping = args["skip-duplicates"] ? { skipDuplicates: true } : {};
    const progress = startProgress(`importing ${collection}`);
    let isOpen = false;
    let folded = 0;
    try {
      keepHeapSmall();
      const work = async (verbs: Memory) => {
        isOpen = true;
        const terminal = await verbs.terminal();
        const source = await openRows(path, from, { signal, flags: formatFlags(args), ...lenient });
        let calls = 0;
        // The first batch of a long file takes seconds.
        if ((source.bytes ?? 0) > SHORT_BYTES) progress.update({ done: 0, total: source.bytes, unit: "bytes" });
        const write = async (rows: readonly ImportRow[]) => {
          if (signal.aborted) throw new CancelledError("interrupted");
          calls += 1;
          const given = { collection, rows, schema, source: source.schema, times: args.times, ...lenient, ...skipping };
          const done = await terminal.import_rows(given, { signal });
          total.inserted += done.inserted;
          total.replaced += done.replaced;
          total.unchanged += done.unchanged;
          skipped += done.skipped ?? 0;
          masked += done.masked ?? 0;
          total.imported += rows.length - done.bad - (done.skipped ?? 0);
          embeddedAgain += done.embedded_again;
          const also = `${grouped(total.imported)} rows`;
          progress.update({ done: source.position(), total: source.bytes, unit: "bytes", also });
          const written = total.inserted + total.replaced;
          if (written - folded >= Math.max(FOLD_ROWS, folded / 2)) await fold(written);
        };
        const fold = async (written: number) => {
          const compacting = (done: number, of: number) => progress.update({ label: "compacting", done, total: of });
          await prepare("compact", { collection })(verbs, { signal, progress: compacting });
          folded = written;
        };
        await eachAhead(readBatches(source, signal), write);
        for (const remark of source.remarks?.() ?? []) note(oneLine(remark));
        // What an export of no rows says of its collection is imported as well.
        if (calls === 0 && source.schema !== undefined) await write([]);
        const written = total.inserted + total.replaced;
        if (written - folded >= FOLD_ROWS_AT_END) await fold(written);
        // To close the memory compacts what is due, for two seconds at most.
        else if (written > SHORT_ROWS) progress.update({ label: `finishing ${collection}`, done: 0 });
      };
      const stopped = new CancelledError(`interrupted; ${GO_ON}`);
      await withMemory(invocation, work, { stopLine: failureLine(stopped, args.json === true) });
    } catch (error) {
      throw isOpen ? withCount(error, total.imported, collection) : error;
    } finally {
      progress.end();
    }
    if (embeddedAgain > 0)
      note(`the vectors of ${counted(embeddedAgain, "row")} are of another embedder: their texts were embedded again`);
    if (total.bad > NAMED_MAX) note(`svc: left out: ${counted(total.bad - NAMED_MAX, "more row")}`);
    const also = { ...(skipped > 0 ? { skipped } : {}), ...(masked > 0 ? { masked } : {}) };
    if (!args.json && skipped > 0) note(`${counted(skipped, "text")} of other rows skipped`);
    if (!args.json && masked > 0) note(`${counted(masked, "credential")} masked`);
    answer({ ...total, ...also, collection }, args.json === true, () => fit(summary(total, collection)));
    return total.bad > 0 ? EXIT.failed : EXIT.done;
  },
});

function summary(total: { imported: number; unchanged: number; bad: number }, collection: string): string {
  const there = total.unchanged > 0 ? `, ${grouped(total.unchanged)} were there already` : "";
  const bad = total.bad > 0 ? `, left ${counted(total.bad, "bad row")} out` : "";
  return `imported ${counted(total.imported - total.unchanged, "row")} into ${oneLine(collection)}${there}${bad}`;
}

/**
 * Calls `use` with each item, one call after the other, while the next item is made. Where both fail, the call's error
 * is thrown: its item came first.
 */
async function eachAhead<T>(items: AsyncIterable<T>, use: (item: T) => Promise<void>): Promise<void> {
  let pending = Promise.resolve();
  try {
    for await (const item of items) {
      await pending;
      pending = use(item);
      pending.catch(() => {}); // not unhandled: it is awaited below
    }
  } finally {
    await pending;
  }
}

/** The rows in batches, which are small enough to be held twice; each with an id. */
async function* readBatches(source: RowSource, signal: AbortSignal): AsyncGenerator<ImportRow[]> {
  const ids = new ContentIds();
  let batch: ImportRow[] = [];
  let units = 0;
  for await (const some of source.rows(signal)) {
    for (const row of Array.isArray(some) ? (some as readonly ForeignRow[]) : [some as ForeignRow]) {
      batch.push(row.id === undefined ? { ...row, id: ids.of(row) } : (row as ImportRow));
      units += (row.text?.length ?? 0) + UNITS_A_NUMBER * (row.vector?.length ?? 0);
      if (row.metadata) units += UNITS_A_MEMBER * Object.keys(row.metadata).length;
      if (batch.length < BATCH_ROWS && units < BATCH_UNITS) continue;
      yield batch;
      batch = [];
      units = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

function withCount(error: unknown, imported: number, collection: string): unknown {
  // Rows that are there are left alone.
  const next = error instanceof CancelledError ? `; ${GO_ON}` : "";
  if (error instanceof SvcError) error.message += ` (${counted(imported, "row")} imported into ${collection}${next})`;
  return error;
}
