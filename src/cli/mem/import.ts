/** `svc mem import`: JSON lines into a collection, in batches; a batch is written whole or not at all. */
import { keepHeapSmall } from "../../../ffi/system/calls.ts";
import { CancelledError, SvcError } from "../../errors.ts";
import { FORMATS, findFormat, openRows } from "../../formats/formats.ts";
import { locate } from "../../formats/jsonl.ts";
import type { ForeignRow, RowSource } from "../../formats/row.ts";
import { asUsage, command, string, UsageError } from "../command.ts";
import { isTerminal } from "../output.ts";
import { startProgress } from "../progress.ts";
import { COLLECTION, SCHEMA_FLAGS, schemaArguments } from "./flags.ts";
import { counted } from "./render.ts";
import { answer, COMMON, prepare, withMemory } from "./verb.ts";

const BATCH_ROWS = 500;
/** A batch of long texts, in UTF-16 units, is written earlier, to bound what is held in memory: the next one is read meanwhile. */
const BATCH_UNITS = 16 * 1024 * 1024;
/**
 * Every process that opens the collection codes the rows since the last compaction again. After this many, or half as
 * many as there were where that is more, the import compacts.
 */
const FOLD_ROWS = 50_000;

export default command({
  details:
    'Each line is {"text": …, "id": …, "metadata": …}; id and metadata may be absent, and an id may be an integer. A row whose id\n' +
    "exists is replaced. Rows are written in batches of 500: at a bad line it stops, names the line, and says how many rows were imported\n" +
    "before its batch. The times of an export, created and updated, are passed over: the rows are new here. The flags say what a collection that is made by this call is like; an export holds rows, not the schema.",
  examples: ["svc mem import notes notes.jsonl", "zcat ops.jsonl.gz | svc mem import notes"],
  args: {
    collection: COLLECTION,
    file: { type: "positional", required: false, description: "file or folder to read; - or nothing: stdin" },
    from: string(
      "FORMAT",
      `what it is in, where that is not recognised: ${FORMATS.map(({ name }) => name).join(", ")}`,
    ),
    ...SCHEMA_FLAGS,
    ...COMMON,
  },
  async run(invocation) {
    const { args, signal } = invocation;
    const { collection } = args;
    const schema = schemaArguments(args);
    const create = prepare("create_collection", { name: collection, ...schema });
    const source = args.file ?? "-";
    if (args.from !== undefined) asUsage(() => findFormat(args.from!));
    if (args.file === undefined && isTerminal(0))
      throw new UsageError("nothing to import: name a file or a folder, or pipe JSON lines in");
    const progress = startProgress(`importing into ${collection}`);
    let isOpen = false;
    let imported = 0;
    let folded = 0;
    try {
      keepHeapSmall();
      await withMemory(invocation, async (verbs, context) => {
        isOpen = true;
        // In memory until the first batch is saved; one that is there already must agree.
        if (Object.values(schema).some((value) => value !== undefined)) await create(verbs, context);
        const write = async ({ texts, ids, metadata, first, last }: Batch) => {
          if (signal.aborted) throw new CancelledError("interrupted");
          try {
            await prepare("upsert", { collection, texts, ids, metadata })(verbs, { signal });
          } catch (error) {
            throw locate(error, first === last ? first : `${first} to ${last}`);
          }
          imported += texts.length;
          progress.update(imported);
          if (imported - folded < Math.max(FOLD_ROWS, folded / 2)) return;
          await prepare("compact", { collection })(verbs, { signal });
          folded = imported;
        };
        await eachAhead(readBatches(await openRows(source, args.from, signal), signal), write);
      });
    } catch (error) {
      throw isOpen ? withCount(error, imported, collection) : error;
    } finally {
      progress.end();
    }
    answer(
      { imported, collection },
      args.json === true,
      () => `imported ${counted(imported, "row")} into ${collection}`,
    );
  },
});

interface Batch {
  texts: string[];
  ids: string[];
  metadata: (Record<string, unknown> | null)[];
  /** Where its first and last row stand. */
  first: string;
  last: string;
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

/** The rows in batches, which are small enough to be held twice. */
async function* readBatches(source: RowSource, signal: AbortSignal): AsyncGenerator<Batch> {
  let batch: Batch | undefined;
  let units = 0;
  for await (const some of source.rows(signal)) {
    for (const row of Array.isArray(some) ? (some as readonly ForeignRow[]) : [some as ForeignRow]) {
      batch ??= { texts: [], ids: [], metadata: [], first: row.where, last: row.where };
      batch.texts.push(row.text ?? "");
      batch.ids.push(row.id ?? Bun.randomUUIDv7());
      batch.metadata.push(row.metadata ?? null);
      batch.last = row.where;
      units += row.text?.length ?? 0;
      if (batch.texts.length < BATCH_ROWS && units < BATCH_UNITS) continue;
      yield batch;
      batch = undefined;
      units = 0;
    }
  }
  if (batch) yield batch;
}

function withCount(error: unknown, imported: number, collection: string): unknown {
  if (error instanceof SvcError) error.message += ` (${counted(imported, "row")} imported into ${collection})`;
  return error;
}
