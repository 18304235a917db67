/** `svc mem import`: JSON lines into a collection, in batches; a batch is written whole or not at all. */
import { keepHeapSmall } from "../../../ffi/system/calls.ts";
import { optional } from "../../checks/create-options.ts";
import { readId } from "../../checks/ids.ts";
import { isObject } from "../../checks/kinds.ts";
import { readObject } from "../../checks/metadata.ts";
import { readString } from "../../checks/strings.ts";
import { CancelledError, SvcError, ValueError } from "../../errors.ts";
import { STDIO_LINE_BYTES_MAX } from "../../limits.ts";
import { isBlank, type Line, LineSplitter, OversizeLine } from "../../mcp/lines.ts";
import { isTooDeep } from "../../wire/depth.ts";
import { command, UsageError } from "../command.ts";
import { readChunks, sourceName } from "../input.ts";
import { isTerminal } from "../output.ts";
import { startProgress } from "../progress.ts";
import { COLLECTION, SCHEMA_FLAGS, schemaArguments } from "./flags.ts";
import { counted } from "./render.ts";
import { answer, COMMON, prepare, withMemory } from "./verb.ts";

const BATCH_ROWS = 500;
/** A batch of long texts is written earlier, to bound what is held in memory: the next one is read meanwhile. */
const BATCH_BYTES = 16 * 1024 * 1024;
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
    file: { type: "positional", required: false, description: "file to read; - or nothing: stdin" },
    ...SCHEMA_FLAGS,
    ...COMMON,
  },
  async run(invocation) {
    const { args, signal } = invocation;
    const { collection } = args;
    const schema = schemaArguments(args);
    const create = prepare("create_collection", { name: collection, ...schema });
    const source = args.file ?? "-";
    if (args.file === undefined && isTerminal(0))
      throw new UsageError("nothing to import: name a file, or pipe JSON lines in");
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
            throw locate(error, `${sourceName(source)}, lines ${first} to ${last}`);
          }
          imported += texts.length;
          progress.update(imported);
          if (imported - folded < Math.max(FOLD_ROWS, folded / 2)) return;
          await prepare("compact", { collection })(verbs, { signal });
          folded = imported;
        };
        await eachAhead(readBatches(source, signal), write);
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

/** What a line may have. The times of an export are not kept: a row's are those of its own store. */
const FIELDS: ReadonlySet<string> = new Set(["id", "text", "metadata", "created", "updated"]);

const decoder = new TextDecoder("utf-8", { fatal: true });

interface Batch {
  texts: string[];
  ids: string[];
  metadata: (Record<string, unknown> | null)[];
  /** Numbers of its first and last line, from 1. */
  first: number;
  last: number;
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

/** Lines are read in loops without waiting: a promise a line would take as long as its parsing. */
async function* readBatches(source: string, signal: AbortSignal): AsyncGenerator<Batch> {
  const splitter = new LineSplitter(STDIO_LINE_BYTES_MAX);
  let number = 0;
  let batch: Batch | undefined;
  let bytes = 0;
  function* full(lines: Iterable<Line>): Generator<Batch> {
    for (const line of lines) {
      number += 1;
      const where = `${sourceName(source)}, line ${number}`;
      if (line instanceof OversizeLine) throw new ValueError(`${where} has more than ${STDIO_LINE_BYTES_MAX} bytes`);
      if (isBlank(line)) continue;
      const row = parseRow(line, where);
      batch ??= { texts: [], ids: [], metadata: [], first: number, last: number };
      batch.texts.push(row.text);
      batch.ids.push(row.id);
      batch.metadata.push(row.metadata);
      batch.last = number;
      bytes += line.length;
      if (batch.texts.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
      yield batch;
      batch = undefined;
      bytes = 0;
    }
  }
  for await (const chunk of readChunks(source, signal)) yield* full(splitter.push(chunk));
  yield* full(splitter.finish());
  if (batch) yield batch;
}

/** @throws ValueError, TypeError naming the line and what is wrong with it */
function parseRow(line: Uint8Array, where: string) {
  if (isTooDeep(line)) throw new ValueError(`${where}: nested too deeply`);
  let row: unknown;
  try {
    // A byte order mark at the beginning of a file is dropped by the decoder.
    row = JSON.parse(decoder.decode(line));
  } catch {
    throw new ValueError(`${where}: not JSON in UTF-8`);
  }
  if (!isObject(row)) throw new ValueError(`${where}: not an object`);
  const { id, text, metadata } = row;
  const unknown = Object.keys(row).find((key) => !FIELDS.has(key));
  // A field that is not kept would be silently lost.
  if (unknown !== undefined)
    throw new ValueError(`${where}: unknown field '${unknown}', only id, text and metadata are kept`);
  try {
    const given = optional(id, "id", readId);
    return {
      id: given ?? Bun.randomUUIDv7(),
      text: readString(text, "text"),
      metadata: readObject(metadata, "metadata"),
    };
  } catch (error) {
    throw locate(error, where);
  }
}

/** The same failure with where it happened in front; its type stays. */
function locate(error: unknown, where: string): unknown {
  if (error instanceof SvcError && !(error instanceof CancelledError)) error.message = `${where}: ${error.message}`;
  return error;
}

function withCount(error: unknown, imported: number, collection: string): unknown {
  if (error instanceof SvcError) error.message += ` (${counted(imported, "row")} imported into ${collection})`;
  return error;
}
